{#- A derived table: built from its query once, and from then on kept by actions. #}
{% materialization derived, adapter='tapestry', supported_languages=['sql'] %}
  {{ return(tapestry__run_model()) }}
{% endmaterialization %}
