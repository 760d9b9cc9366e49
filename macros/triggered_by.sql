{#- Say what triggers a rule (a table) or an action (rules), for dbt's lineage and for the run; it renders a comment. #}
{% macro triggered_by() %}{{ return(adapter.mark_triggers(varargs)) }}{% endmacro %}

{#- What an action's batch says of itself: key.<column>, idempotency_key, release or attempt; a string literal when it is executed. #}
{% macro batch(name) %}{{ return(adapter.mark_batch(name)) }}{% endmacro %}
