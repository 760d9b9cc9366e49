{#- dbt-spark's; what says how a table is laid out counts for a Python model, too. #}
{% macro py_write_table(compiled_code, target_relation) %}
{{ tapestry__python_frame(compiled_code) }}

# A column's name stands for the column; what is none, or has its backticks, stays as it is.
_columns = {name.lower(): "`" + name.replace("`", "``") + "`" for name in df.columns}
_table = {{ adapter.python_table(model, target_relation.identifier) | tojson }}
_named = {key: [_columns.get(name.lower(), name) for name in names] for key, names in _table["columns"].items()}
_format = {{ config.get('file_format', 'delta') | tojson }}
# Only Delta's tables are replaced in place; another one was dropped.
_writer = df.write.mode("overwrite" if _format == "delta" else "errorifexists").format(_format).option("overwriteSchema", "true")
# All of the table, also where a hook or dbt has set partitionOverwriteMode to DYNAMIC.
_writer = _writer.option("partitionOverwriteMode", "static").options(**_table["options"])
if _named["partition_by"]:
  _writer = _writer.partitionBy(*_named["partition_by"])
if _named["clustered_by"] and _table["buckets"]:
  # Where a writer wants a name, it takes it as it is.
  _plain = {name.lower(): name for name in df.columns}
  _writer = _writer.bucketBy(_table["buckets"], *[_plain.get(name.lower(), name) for name in _table["columns"]["clustered_by"]])
_writer.saveAsTable({{ target_relation | string | tojson }})
# Delta refuses clusterBy of a writer; it lays rows out by these columns when it optimizes a table.
if _named["liquid_clustered_by"]:
  spark.sql({{ ('alter table ' ~ target_relation ~ ' cluster by (') | tojson }} + ", ".join(_named["liquid_clustered_by"]) + ")")
{%- endmacro -%}
