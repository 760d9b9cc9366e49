"""The macros that ejected models and their tests call, written for one dialect."""

from __future__ import annotations

from collections.abc import Sequence

from tapestry.names import MATCHED_AT

MICROS = {
    "spark": "unix_micros({0})",
    "databricks": "unix_micros({0})",
    "duckdb": "epoch_us({0})",
    "postgres": "cast(extract(epoch from {0}) * 1000000 as bigint)",
    "redshift": "cast(extract(epoch from {0}) * 1000000 as bigint)",
    "bigquery": "unix_micros({0})",
    "snowflake": "date_part(epoch_microsecond, {0})",
}
"""Microseconds since 1970 of a timestamp, exact, as a whole number."""
NO_EXCEPT_ALL = ("snowflake", "bigquery", "redshift", "tsql", "oracle", "trino", "presto")
ZONES = {
    "spark": "SET TIME ZONE '{zone}'",
    "databricks": "SET TIME ZONE '{zone}'",
    "duckdb": "SET TimeZone = '{zone}'",
    "postgres": "SET TIME ZONE '{zone}'",
}
"""The session's time zone is a part of a query: set before each model."""

WINDOW = """\
{#- The window (tau, t] of a run. Both ends are texts of instants in UTC, to the microsecond. -#}

{#- t: `tapestry_as_of` (a var, or the environment variable TAPESTRY_AS_OF), else when this dbt
    began: one instant for all models, less the model's lag. -#}
{% macro tapestry_t(lag_micros=0) %}
  {%- set given = var('tapestry_as_of', env_var('TAPESTRY_AS_OF', '')) -%}
  {%- if given -%}
    {%- set text = (given | string).replace('Z', '+00:00') -%}
    {%- set t = modules.datetime.datetime.fromisoformat(text) -%}
    {%- if t.tzinfo is none -%}{%- set t = modules.pytz.utc.localize(t) -%}{%- endif -%}
  {%- else -%}
    {%- set t = run_started_at - modules.datetime.timedelta(microseconds=lag_micros) -%}
  {%- endif -%}
  {{ return(t.astimezone(modules.pytz.utc).isoformat(sep=' ')) }}
{% endmacro %}

{#- tau: the latest first instant in the table; none where it is empty. -#}
{% macro tapestry_tau(relation) %}
  {%- set found = run_query('select @latest@ as latest from ' ~ relation) -%}
  {%- set micros = found.columns[0].values()[0] -%}
  {{ return(none if micros is none else tapestry_text(micros)) }}
{% endmacro %}

{#- The newest first instants of a table, in microseconds since 1970, newest first. -#}
{% macro tapestry_instants(relation, count) %}
  {%- set found = run_query(
    'select distinct @micros@ as micros from ' ~ relation
    ~ ' where @matched@ is not null order by micros desc limit ' ~ count) -%}
  {{ return(found.columns[0].values() | map('int') | list) }}
{% endmacro %}

{#- Microseconds since 1970 as the text of an instant. -#}
{% macro tapestry_text(micros) %}
  {%- set t = modules.datetime.datetime(1970, 1, 1)
    + modules.datetime.timedelta(microseconds=micros | int) -%}
  {{ return(t.isoformat(sep=' ') ~ '+00:00') }}
{% endmacro %}
"""

TESTS = """\
{#- The instants at which a table is checked: its newest first instants and, for `enough`, the one
    just before each, from the model's begin on. Texts; one of no meaning while dbt parses. -#}
{% macro tapestry_checked(model, count, before=false, begin=none) %}
  {%- set checked = [] -%}
  {%- for at in (tapestry_instants(model, count) if execute else [0]) -%}
    {%- for s in ((at, at - 1) if before else (at,)) -%}
      {%- if begin is none or s >= begin -%}{%- do checked.append(tapestry_text(s)) -%}{%- endif -%}
    {%- endfor -%}
  {%- endfor -%}
  {{ return(checked) }}
{% endmacro %}

{#- Enough: rows that the query answers at an instant and that were not delivered by then. -#}
{% macro tapestry_missing(model, columns, instants, answers) %}
  select {{ columns | join(', ') }} from {{ model }} where 1 = 0
  {%- for s in instants %}
  union all
  select * from (
    select {{ columns | join(', ') }} from ({{ answers[loop.index0] }}) as answers
    @except@
    select {{ columns | join(', ') }} from {{ model }}
    where @matched@ <= cast('{{ s }}' as @timestamp@)
  ) as missing_{{ loop.index }}
  {%- endfor %}
{% endmacro %}

{#- Not too much: rows that are no answer at the first instant that they have. -#}
{% macro tapestry_surplus(model, columns, instants, answers) %}
  select {{ columns | join(', ') }} from {{ model }} where 1 = 0
  {%- for s in instants %}
  union all
  select * from (
    select {{ columns | join(', ') }} from {{ model }}
    where @matched@ = cast('{{ s }}' as @timestamp@)
    @except@
    select {{ columns | join(', ') }} from ({{ answers[loop.index0] }}) as answers
  ) as surplus_{{ loop.index }}
  {%- endfor %}
{% endmacro %}
"""

MODEL_TESTS = """\
{#- Q(s), the query of @name@ by its definition: over the rows that had arrived, now() being s. -#}
{% macro @name@_answer(s) %}
@answer@
{% endmacro %}

{#- Whatever the query answers at an instant was delivered by then: checked by the definition, at
    the newest first instants and just before each. A row that came late breaks it. -#}
{% test @name@_enough(model, instants=5) %}
  {%- set checked = tapestry_checked(model, instants, true, @begin@) -%}
  {%- set answers = [] -%}
  {%- for s in checked -%}{%- do answers.append(@name@_answer(s)) -%}{%- endfor -%}
  {{ tapestry_missing(model, @columns@, checked, answers) }}
{% endtest %}

{#- Every row is an answer at its first instant: checked at the newest ones. -#}
{% test @name@_not_too_much(model, instants=5) %}
  {%- set checked = tapestry_checked(model, instants) -%}
  {%- set answers = [] -%}
  {%- for s in checked -%}{%- do answers.append(@name@_answer(s)) -%}{%- endfor -%}
  {{ tapestry_surplus(model, @columns@, checked, answers) }}
{% endtest %}
"""

GROUP_TESTS = """\
{#- Q(s), the query of @name@ by its definition: over the rows that had arrived. -#}
{% macro @name@_answer(s) %}
@answer@
{% endmacro %}

{#- The table holds what the query answers at the newest arrival that it has seen, and no more. -#}
{% test @name@_is_the_answer(model) %}
  {%- set s = (tapestry_tau(model) if execute else none) or tapestry_text(0) -%}
  {%- set columns = @columns@ | join(', ') %}
  select * from (
    select {{ columns }} from ({{ @name@_answer(s) }}) as answers
    @except@
    select {{ columns }} from {{ model }}
  ) as missing
  union all
  select * from (
    select {{ columns }} from {{ model }}
    @except@
    select {{ columns }} from ({{ @name@_answer(s) }}) as answers
  ) as surplus
{% endtest %}
"""


def window_macros(dialect: str) -> str:
    """The macros that give t and tau."""
    micros = MICROS.get(dialect, MICROS["postgres"])
    text = WINDOW.replace("@micros@", micros.format(MATCHED_AT))
    text = text.replace("@latest@", micros.format(f"max({MATCHED_AT})"))
    return text.replace("@matched@", MATCHED_AT)


def test_macros(dialect: str) -> str:
    """Return the macros that the tests of all models share."""
    spark = dialect in ("spark", "databricks")
    text = TESTS.replace("@matched@", MATCHED_AT)
    text = text.replace("@timestamp@", "timestamp" if spark else "timestamptz")
    return text.replace("@except@", _except(dialect))


def _except(dialect: str) -> str:
    return "except" if dialect in NO_EXCEPT_ALL else "except all"


def group_tests(name: str, answer: str, columns: Sequence[str], dialect: str) -> str:
    """The generic test of a model whose groups take each other's place; ``answer`` is Q(s)."""
    text = GROUP_TESTS.replace("@name@", name).replace("@columns@", repr(list(columns)))
    return text.replace("@except@", _except(dialect)).replace("@answer@", answer)


def model_tests(name: str, answer: str, columns: Sequence[str], begin: int | None) -> str:
    """The generic tests of one model; ``answer`` is Q(s), ``begin`` in microseconds since 1970."""
    filled = {
        "@name@": name,
        "@columns@": repr(list(columns)),
        "@begin@": "none" if begin is None else str(begin),
        "@answer@": answer,
    }
    text = MODEL_TESTS
    for mark, value in filled.items():
        text = text.replace(mark, value)
    return text
