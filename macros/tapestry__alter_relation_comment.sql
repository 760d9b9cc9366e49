{#- A description is text, whatever it holds. #}
{% macro tapestry__alter_relation_comment(relation, relation_comment) -%}
  comment on table {{ relation }} is {{ adapter.literal(relation_comment) }}
{%- endmacro %}
