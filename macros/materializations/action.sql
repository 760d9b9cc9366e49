{#- An action: what is done about the firings of rules, in batches; its relation is a view of them. #}
{% materialization action, adapter='tapestry', supported_languages=['sql', 'python'] %}
  {{ return(tapestry__run_on_commits()) }}
{% endmaterialization %}
