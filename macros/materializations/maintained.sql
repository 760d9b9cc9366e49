{#- A maintained model: the answer as it is now. #}
{% materialization maintained, adapter='tapestry', supported_languages=['sql'] %}
  {{ return(tapestry__run_model()) }}
{% endmaterialization %}
