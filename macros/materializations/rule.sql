{#- A rule: what the commits of a table trigger, with the rows that go to its actions. #}
{% materialization rule, adapter='tapestry', supported_languages=['sql'] %}
  {{ return(tapestry__run_on_commits()) }}
{% endmaterialization %}
