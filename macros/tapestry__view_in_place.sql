{#- A view of what a limited command gives a model that has no table yet; of a batch or a Python model, its columns. -#}
{% macro tapestry__view_in_place(relation, compiled_code) -%}
  {%- if model.language == 'python' -%}
    {{ tapestry__python_frame(compiled_code) }}
_columns = ["cast(null as " + f.dataType.simpleString() + ") as `" + f.name.replace("`", "``") + "`" for f in df.schema]
spark.sql("create or replace view " + {{ relation | string | tojson }} + " as select " + ", ".join(_columns) + " where false")
  {%- elif model.batch -%}
    create or replace view {{ relation }} as select * from (
    {{ compiled_code }}
    ) where false
  {%- else -%}
    create or replace view {{ relation }} as
    {{ compiled_code }}
  {%- endif -%}
{%- endmacro %}
