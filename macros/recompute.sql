{#- In an action: the rows of a derived table for the keys of the batch, by the table's own query; one MERGE when it is executed. #}
{% macro recompute(relation, key=none) %}{{ return(adapter.mark_recompute(relation, key, graph)) }}{% endmacro %}
