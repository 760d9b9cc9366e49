{#- The records that a snapshot opens and closes, as a query (docs/reference/adapter.md, "Snapshots").

    A key's records follow one another: where a new one would begin before the last one of its key ends
    (a row that comes back as it was, a change without a new `updated_at`), it begins with this run. So does one whose
    `updated_at` is NULL: the first record of a key alone begins at NULL, for another's end at NULL would leave it open.
    A record ends when another of its key begins, or with a run that misses its row: one that ends later than both
    was left open by another `dbt_valid_to_current`. Keys are compared with <=>, so that a NULL in one is a value like others. A key of several rows is an
    error as soon as one of its records would change: each run would end the records of the last one. -#}
{% macro tapestry__snapshot_staging_table(strategy, source_sql, target_relation) -%}
  {%- set names = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
  {%- set existing = adapter.get_columns_in_relation(target_relation) -%}
  {%- set types = {} -%}
  {%- for column in existing -%}{%- do types.update({column.name | lower: column.data_type}) -%}{%- endfor -%}
  {%- set begins_as = types[names.dbt_valid_from | lower] -%}
  {%- set flagged = names.dbt_is_deleted | lower in types -%}
  {%- set keys = strategy.unique_key if strategy.unique_key is sequence and strategy.unique_key is not string
                 else [strategy.unique_key] -%}
  {%- set columns = get_columns_in_query(source_sql) -%}
  {%- set now = snapshot_get_time() -%}
  {%- set deleted = "coalesce(snapshotted_data." ~ names.dbt_is_deleted ~ " = 'True', false)" if flagged else 'false' -%}
  {%- set current = tapestry__snapshot_is_current(names.dbt_valid_to) -%}
  with snapshot_query as (
    {{ source_sql }}
  ),
  source_data as (
    select *, {{ tapestry__snapshot_keys(keys) }},
      {{ strategy.updated_at }} as dbt_internal_updated_at,
      {{ strategy.scd_id }} as dbt_internal_scd_id,
      count(*) over (partition by {{ keys | join(', ') }}) as dbt_internal_rows,
      true as dbt_internal_found
      {{- tapestry__snapshot_checked(strategy) }}
    from snapshot_query
  ),
  snapshotted_data as (
    select *, {{ tapestry__snapshot_keys(keys) }}, true as dbt_internal_found
      {{- tapestry__snapshot_checked(strategy) }}
    from (
      select *
      {%- for column in columns if strategy.expressions and column | lower not in types -%}
        , null as {{ adapter.quote(column) }}
      {%- endfor %}
      from {{ target_relation }} where {{ current }}
    )
  ),
  ended_records as (
    select {{ tapestry__snapshot_key_names(keys) }}, max(dbt_internal_end) as dbt_internal_end,
      cast(max(dbt_internal_end) as timestamp)
        > greatest({{ now }}, max(cast(dbt_internal_begin as timestamp))) as dbt_internal_lost
    from (
      select {{ tapestry__snapshot_keys(keys) }}, {{ names.dbt_valid_to }} as dbt_internal_end,
        {{ names.dbt_valid_from }} as dbt_internal_begin
      from {{ target_relation }} where not ({{ current }})
    )
    group by {{ tapestry__snapshot_key_names(keys) }}
  ),
  changed_rows as (
    select
      {%- for column in columns %}
      source_data.{{ adapter.quote(column) }},
      {%- endfor %}
      source_data.dbt_internal_updated_at, source_data.dbt_internal_scd_id, source_data.dbt_internal_rows,
      to_json(struct(
      {%- for key in keys %}source_data.dbt_internal_key_{{ loop.index }}{{ ', ' if not loop.last }}{% endfor -%}
      )) as dbt_internal_key,
      snapshotted_data.{{ names.dbt_scd_id }} as dbt_internal_closed,
      snapshotted_data.dbt_internal_found is null and ended_records.dbt_internal_lost as dbt_internal_lost,
      coalesce(
        cast(snapshotted_data.{{ names.dbt_valid_from }} as timestamp),
        cast(ended_records.dbt_internal_end as timestamp)) as dbt_internal_bound
    from source_data
    left join snapshotted_data on {{ tapestry__snapshot_same_key(keys, 'snapshotted_data') }}
    left join ended_records on {{ tapestry__snapshot_same_key(keys, 'ended_records') }}
    where snapshotted_data.dbt_internal_found is null or {{ deleted }} or ({{ strategy.row_changed }})
  ),
  new_records as (
    select *,
      coalesce(
        cast(dbt_internal_updated_at as timestamp) > dbt_internal_bound,
        dbt_internal_bound is null and (dbt_internal_closed is null or dbt_internal_updated_at is not null)
      ) as dbt_internal_in_order
    from changed_rows
  ),
  begun_records as (
    select *,
      case
        when dbt_internal_rows > 1 then raise_error({{ adapter.text(
          'several rows of the query of snapshot ' ~ target_relation ~ ' have one unique_key, so that nobody can tell which'
          ~ ' record follows which; let unique_key name more columns, or the query leave out all of them but one: ') }}
          || dbt_internal_key)
        when dbt_internal_lost then raise_error({{ adapter.text(
          'present records of snapshot ' ~ target_relation ~ ' were written with another dbt_valid_to_current than '
          ~ (config.get('dbt_valid_to_current') or 'none') ~ ': set that again, or UPDATE their ' ~ names.dbt_valid_to ~ ' once from ') }}
          || dbt_internal_bound || {{ adapter.text(': ') }} || dbt_internal_key)
        when dbt_internal_in_order then dbt_internal_updated_at
        else cast(greatest({{ now }}, dbt_internal_bound) as {{ begins_as }})
      end as dbt_internal_begin
    from new_records
  ),
  missing_rows as (
    select snapshotted_data.*,
      cast(greatest({{ now }}, cast(snapshotted_data.{{ names.dbt_valid_from }} as timestamp)) as {{ begins_as }})
        as dbt_internal_end
    from snapshotted_data
    left anti join source_data on {{ tapestry__snapshot_same_key(keys, 'snapshotted_data') }}
    where not {{ deleted }}
  )
  select 'insert' as dbt_change_type,
    {%- for column in columns %}
    {{ adapter.quote(column) }},
    {%- endfor %}
    dbt_internal_updated_at as {{ names.dbt_updated_at }},
    dbt_internal_begin as {{ names.dbt_valid_from }},
    {{ tapestry__snapshot_open_end(begins_as) }} as {{ names.dbt_valid_to }},
    if(dbt_internal_in_order, dbt_internal_scd_id,
       {{ snapshot_hash_arguments(['dbt_internal_scd_id', 'dbt_internal_begin', now]) }}) as {{ names.dbt_scd_id }}
    {%- if flagged %}, 'False' as {{ names.dbt_is_deleted }}{% endif %}
  from begun_records
  union all
  select 'update',
    {%- for column in columns %}
    {{ adapter.quote(column) }},
    {%- endfor %}
    dbt_internal_updated_at, dbt_internal_begin, dbt_internal_begin, dbt_internal_closed
    {%- if flagged %}, 'False'{% endif %}
  from begun_records where dbt_internal_closed is not null
  {%- if strategy.hard_deletes in ('invalidate', 'new_record') %}
  union all
  select 'delete',
    {%- for column in columns %}
    {{ tapestry__snapshot_kept_value(column, types) }},
    {%- endfor %}
    {{ names.dbt_updated_at }}, dbt_internal_end, dbt_internal_end, {{ names.dbt_scd_id }}
    {%- if flagged %}, 'False'{% endif %}
  from missing_rows
  {%- endif %}
  {%- if strategy.hard_deletes == 'new_record' %}
  union all
  select 'insert',
    {%- for column in columns %}
    {{ tapestry__snapshot_kept_value(column, types) }},
    {%- endfor %}
    dbt_internal_end, dbt_internal_end, {{ tapestry__snapshot_open_end(begins_as) }},
    {{ snapshot_hash_arguments([names.dbt_scd_id, 'dbt_internal_end']) }}, 'True'
  from missing_rows
  {%- endif %}
{%- endmacro %}

{#- Is this record the present one of its key? -#}
{% macro tapestry__snapshot_is_current(valid_to) -%}
  {%- set open_end = config.get('dbt_valid_to_current') -%}
  ({{ valid_to }} is null{% if open_end %} or {{ valid_to }} = {{ open_end }}{% endif %})
{%- endmacro %}

{#- The end of a present record. -#}
{% macro tapestry__snapshot_open_end(type) -%}
  {%- set open_end = config.get('dbt_valid_to_current') -%}
  {{ open_end if open_end else 'cast(null as ' ~ type ~ ')' }}
{%- endmacro %}

{#- The parts of the key as columns. -#}
{% macro tapestry__snapshot_keys(keys) -%}
  {%- for key in keys -%}
    {{ key }} as dbt_internal_key_{{ loop.index }}{{ ', ' if not loop.last }}
  {%- endfor -%}
{%- endmacro %}

{% macro tapestry__snapshot_key_names(keys) -%}
  {%- for key in keys -%}
    dbt_internal_key_{{ loop.index }}{{ ', ' if not loop.last }}
  {%- endfor -%}
{%- endmacro %}

{% macro tapestry__snapshot_same_key(keys, other) -%}
  {%- for key in keys -%}
    source_data.dbt_internal_key_{{ loop.index }} <=> {{ other }}.dbt_internal_key_{{ loop.index }}
    {{- ' and ' if not loop.last }}
  {%- endfor -%}
{%- endmacro %}

{#- What of a row is compared that is no column. -#}
{% macro tapestry__snapshot_checked(strategy) -%}
  {%- for expression in strategy.expressions or [] -%}
    , {{ expression }} as dbt_internal_check_{{ loop.index }}
  {%- endfor -%}
{%- endmacro %}

{#- What the present record says; nothing of a column that is new. -#}
{% macro tapestry__snapshot_kept_value(column, types) -%}
  {{ adapter.quote(column) if column | lower in types else 'null' }}
{%- endmacro %}
