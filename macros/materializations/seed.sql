{#- dbt's seed; under `--empty` its result says that it wrote no rows. #}
{% materialization seed, adapter='tapestry' %}
  {%- set built = dbt.materialization_seed_default() -%}
  {%- if flags.EMPTY -%}
    {%- set code = 'CREATE' if should_full_refresh() else 'INSERT' -%}
    {%- do store_raw_result('main', message=code ~ ' 0', code=code, rows_affected=0) -%}
  {%- endif -%}
  {{ return(built) }}
{% endmaterialization %}
