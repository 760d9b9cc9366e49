{#- A continuous model: all that was ever an answer, each once. #}
{% materialization continuous, adapter='tapestry', supported_languages=['sql'] %}
  {{ return(tapestry__run_model()) }}
{% endmaterialization %}
