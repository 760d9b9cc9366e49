{#- There are no transactions here: each hook runs once, in its place in the list, whatever it says of one
    (`transaction`, before_begin, after_commit). Some of dbt's materializations ask twice, for those outside of
    a transaction and for those inside, others for the latter only; dbt would send a COMMIT between. #}
{% macro run_hooks(hooks, inside_transaction=True) %}
  {%- for hook in hooks if inside_transaction -%}
    {%- set rendered = render(hook.get('sql')) | trim -%}
    {%- if rendered -%}
      {%- call statement(auto_begin=false) -%}
        {{ rendered }}
      {%- endcall -%}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}
