{#- dbt-spark's incremental; the model's expectations are counted in its result. #}
{% materialization incremental, adapter='tapestry', supported_languages=['sql', 'python'] %}
  {%- set built = dbt.materialization_incremental_spark() -%}
  {%- do tapestry__finish_expectations() -%}
  {{ return(built) }}
{% endmaterialization %}
