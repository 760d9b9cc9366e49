{#- Databricks' streaming table: refused, with the kind that does the same. #}
{% materialization streaming_table, adapter='tapestry', supported_languages=['sql', 'python'] %}
  {%- do exceptions.raise_compiler_error(
    "streaming_table is a kind of Databricks' own: materialized='continuous' adds each row that becomes an answer, once."
    ~ "\n  hint: read the table without STREAM(...) and say its arrival column (loaded_at_field);"
    ~ " files are loaded into a Delta table first. A table that follows updates and deletes is materialized='maintained'") -%}
{% endmaterialization %}
