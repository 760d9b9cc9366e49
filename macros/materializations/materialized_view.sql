{#- Databricks' materialized view: what it means is what a maintained model keeps. #}
{% materialization materialized_view, adapter='tapestry', supported_languages=['sql'] %}
  {{ return(tapestry__run_model()) }}
{% endmaterialization %}
