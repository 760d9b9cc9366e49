{#- dbt-spark's incremental; the model's expectations are counted in its result. #}
{% materialization incremental, adapter='tapestry', supported_languages=['sql', 'python'] %}
  {%- set limited = adapter.limited_by() -%}
  {%- if limited is not none -%}
    {%- set standing = tapestry__limited_incremental() -%}
    {%- if standing is none -%}
      {%- call statement('main', language=model.language) -%}
        {{ tapestry__view_in_place(this, compiled_code) }}
      {%- endcall -%}
    {%- endif -%}
    {%- do store_result('main', response=adapter.limited_response(limited, '' if standing else 'a view')) -%}
    {{ return({'relations': [standing or this.incorporate(type='view')]}) }}
  {%- endif -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set made = existing is none or existing.is_view or should_full_refresh() -%}
  {%- if not made -%}
    {%- do adapter.refuse_kept(this, model) -%}
  {%- endif -%}
  {%- if model.language == 'sql' and made -%}
    {%- do adapter.check_merge_keys(model, compiled_code) -%}
  {%- endif -%}
  {#- Not called as a macro: dbt lets a Python model be submitted one call below a materialization only. #}
  {%- set built = dbt.materialization_incremental_spark.call_macro() -%}
  {%- do tapestry__finish_expectations() -%}
  {#- Delta forgets the clustering of a table all of whose rows are overwritten. -#}
  {%- set liquid = config.get('liquid_clustered_by', validator=validation.any[list, basestring]) -%}
  {%- if liquid is not none and not made and config.get('incremental_strategy') == 'insert_overwrite' and model.language == 'sql' -%}
    {%- do run_query('alter table ' ~ this ~ ' cluster by ('
          ~ tapestry__layout_columns(liquid, exactly=true) | join(', ') ~ ')') -%}
  {%- endif -%}
  {#- What is made here is in dbt's cache from now on, where later batches of the model ask for its format. -#}
  {%- if made -%}
    {%- set format = config.get('file_format') -%}
    {%- set built = {'relations': [this.incorporate(type='table', is_delta=format == 'delta', is_iceberg=format == 'iceberg')]} -%}
  {%- endif -%}
  {{ return(built) }}
{% endmaterialization %}
