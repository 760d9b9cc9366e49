{#- After a model is built: what was found, as dbt's warnings and in the node's result. #}
{% macro tapestry__finish_expectations() -%}
  {%- if adapter.has_expectations(model) -%}
    {%- set checked = adapter.finish_expectations(model, load_result('main').response | string) -%}
    {%- for warning in checked['warnings'] -%}
      {%- do exceptions.warn(model.name ~ ': ' ~ warning) -%}
    {%- endfor -%}
    {%- do store_result('main', response=checked['response']) -%}
  {%- endif -%}
{%- endmacro %}
