"""A guess is never a reason to say "cannot": columns, variables, macros that are not known."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.advise.made import PROJECT, made, of

from tapestry.advise.qualify import qualify_as_where
from tapestry.advise.records import CONTINUOUS, REBUILT, UNREAD
from tapestry.advise.survey import survey
from tapestry.sql.read.parse import parse

HEAD = "{{ config(materialized='incremental') }} "
NOT_JUDGED = {
    "select i.*, v from {{ ref('x') }} i left join {{ ref('y') }} d on d.k = i.k": (
        "it hangs on which columns the tables have, and that is guessed: two columns"
    ),
    "select * from {{ ref('x') }} union all select a, b from {{ ref('z') }}": (
        "it hangs on which columns the tables have, and that is guessed: UNION"
    ),
    "with u as ({{ dbt_utils.union_relations([ref('p'), ref('q')]) }}), v as (select p.a, p.b from"
    " {{ ref('p') }} p join {{ ref('q') }} q on q.b = p.b and q.c > 1) select a from u": "guessed",
    "select d.nothing, k.m from s.known k join (select k from s.known) d on d.k = k.k": "hangs on",
    "select id from {{ var('raw:events') }}": "var('raw:events') has no value here, which --vars",
    "select id from {{ var('start_date') }}": "var('start_date') has no value here",
    "select k, sum(s) as s from (select k, s from {{ ref('w') }} where is_it(s) union all"
    " select k, k > 1 from {{ ref('w') }}) group by k": "hangs on types that are guessed: ref.w",
    "select {{ dbt_utils.star(ref('x')) }}, z.a from (select 1 as b) y, {{ ref('z') }} z": (
        "dbt_utils.star(ref.x): which table of FROM it is is not known"
    ),
}
SURE = {
    "select k, sum(cast(n as double)) as s from {{ ref('w') }} group by k": "inexact-sum",
    "select k, stddev(n) as s from {{ ref('w') }} group by k": "inexact-sum",
    "select k, mode(n) as s from {{ ref('w') }} where d > '{{ var('start_date') }}' group by k": (
        "no-order"
    ),
    "select k, sum(n / m) as s from s.known group by k": "inexact-sum",
    "select k, k from s.known": "doubled-column",
}
KNOWN = """
sources: [{name: s, tables: [{name: known, columns: [{name: k, data_type: bigint},
  {name: n, data_type: double}, {name: m, data_type: double}, {name: ts, data_type: timestamp}]}]}]
"""


@pytest.mark.parametrize("dialect", ["spark", "snowflake", "bigquery"])
def test_what_is_guessed_is_no_verdict(tmp_path: Path, dialect: str) -> None:
    texts = [*NOT_JUDGED, *SURE]
    files = {f"models/q{n}.sql": HEAD + text for n, text in enumerate(texts)}
    known = KNOWN.replace("double", "float64") if dialect == "bigquery" else KNOWN
    found = made(tmp_path, {**files, "models/s.yml": known}, dialect)
    for place, told in enumerate(NOT_JUDGED.values()):
        said = of(found, f"q{place}")
        assert said.kind == UNREAD, said
        assert told in said.reason
    for place, code in enumerate(SURE.values(), len(NOT_JUDGED)):
        said = of(found, f"q{place}")
        assert (said.kind, said.code) == (REBUILT, code), said
    counts = found.counts
    assert (counts["refused"], counts["unread"]) == (len(SURE), len(NOT_JUDGED))
    assert set(found.reasons) == set(SURE.values())


FITS = (
    "select *, row_number() over (partition by id order by ts desc) as rn from s.t qualify rn = 1",
    "select distinct id from s.t qualify count(*) over (partition by k) > 1 and n > 3",
    "with a as (select 1 as y), c as (with a as (select id from s.t) select id from a)"
    " select c.id, a.y from c cross join a",
    "select a.id from (with b as (select id, ts from s.t) select id, ts from b) a",
    "select {{ dbt_utils.star(ref('x'), except=['b']) }}, y.c from {{ ref('x') }} as xx"
    " join {{ ref('y') }} y on xx.k = y.k",
    "with a as (select id, k from {{ ref('x') }}), b as (select n, k from {{ ref('y') }})"
    " select {{ dbt_utils.star(ref('x')) }}, b.n from a join b on a.k = b.k",
    "select {{ dbt_utils.star(ref('x'), relation_alias='i') }}, j.b as c from {{ ref('x') }} i"
    " join {{ ref('x') }} j on i.k = j.id",
)


@pytest.mark.parametrize("dialect", ["spark", "snowflake", "bigquery"])
def test_what_sqlglot_would_write_otherwise(tmp_path: Path, dialect: str) -> None:
    files = {f"models/q{n}.sql": HEAD + text for n, text in enumerate(FITS)}
    found = made(tmp_path, files, dialect)
    assert [of(found, f"q{n}").kind for n in range(len(FITS))] == [CONTINUOUS] * len(FITS)
    assert "a later row of s.t" in of(found, "q0").conditions[0]


def test_qualify_keeps_its_columns_and_rows() -> None:
    text = (
        "SELECT DISTINCT *, RANK() OVER (ORDER BY v) AS r FROM t"
        " QUALIFY r = 1 AND t.k > 2 AND SUM(v) OVER (PARTITION BY k) > t.k"
    )
    assert qualify_as_where(parse(text)).sql("spark") == (
        "SELECT DISTINCT * EXCEPT (_q1, _q2) FROM (SELECT *, RANK() OVER (ORDER BY v) AS r,"
        " SUM(v) OVER (PARTITION BY k) AS _q1, t.k AS _q2 FROM t) AS _t"
        " WHERE r = 1 AND _q2 > 2 AND _q1 > _q2"
    )


def test_variables_and_macros_are_given(tmp_path: Path) -> None:
    """Those of a monorepo lie beside the project: a package, and a plain folder."""
    project = tmp_path / "finance"
    package = tmp_path / "shared"
    (package / "macros").mkdir(parents=True)
    (package / "dbt_project.yml").write_text("name: our_macros\nmacro-paths: [macros, ../..]\n")
    (package / "macros/a.sql").write_text("{% macro cents(a) %}{{ a }} * 100{% endmacro %}")
    (tmp_path / "loose").mkdir()
    (tmp_path / "loose/b.sql").write_text(
        "{% macro of(a) %}{{ var('schema') }}.{{ a }}{% endmacro %}"
    )
    text = HEAD + "select {{ our_macros.cents('n') }} as c from {{ of('t') }}"
    found = made(
        project, {"models/m.sql": text, "dbt_project.yml": PROJECT + "vars: {schema: a}\n"}
    )
    assert of(found, "m").kind == UNREAD
    assert any("--macros names folders" in note for note in found.notes)
    beside = (package, tmp_path / "loose")
    found = survey(project, variables="schema: raw", macros=beside)
    said = of(found, "m")
    assert (said.kind, [one.relation for one in said.arrivals]) == (CONTINUOUS, ["raw.t"])


def test_a_variable_without_a_value_is_named(tmp_path: Path) -> None:
    text = HEAD + "select id from s.t where d > '{{ var('start_date') }}'"
    found = made(tmp_path, {"models/m.sql": text})
    assert of(found, "m").unset == ("start_date",)
    assert any("--vars" in note for note in found.notes)
    found = survey(tmp_path, variables="{start_date: 2024-01-01}")
    assert of(found, "m").unset == of(found, "m").notes == ()


def test_the_arrival_of_a_continuous_parent_keeps_its_name(tmp_path: Path) -> None:
    files = {
        "models/a.sql": HEAD + "select id, ts from s.t",
        "models/b.sql": HEAD + "select * from {{ ref('a') }}",
    }
    said = of(made(tmp_path, files), "b")
    assert [one.told for one in said.arrivals] == ["ref.a: _matched_at (a continuous model has it)"]


def test_an_option_that_is_none_is_not_taken_out(tmp_path: Path) -> None:
    none = "{+incremental_strategy: '{{ none }}', +unique_key: \"{{ var('k', none) }}\"}"
    project = f"{PROJECT}models: {{shop: {none}}}\n"
    files = {"dbt_project.yml": project, "models/m.sql": HEAD + "select id, ts from s.t"}
    said = of(made(tmp_path, files), "m")
    assert said.changes == ("materialized='continuous' instead of 'incremental'",)
    assert said.conditions == ()
