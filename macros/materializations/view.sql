{#- dbt-spark's view; the model's expectations are counted in its result. #}
{% materialization view, adapter='tapestry' %}
  {%- set built = dbt.materialization_view_spark() -%}
  {%- do tapestry__finish_expectations() -%}
  {{ return(built) }}
{% endmaterialization %}
