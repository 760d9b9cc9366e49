{#- dbt-spark's snapshot, unless the command limits what it reads. #}
{% materialization snapshot, adapter='tapestry' %}
  {%- set limited = adapter.limited_by() -%}
  {%- if limited is not none -%}
    {{ return(tapestry__limited_snapshot(limited)) }}
  {%- endif -%}
  {%- do adapter.refuse_kept(this, model) -%}
  {{ return(dbt.materialization_snapshot_spark()) }}
{% endmaterialization %}
