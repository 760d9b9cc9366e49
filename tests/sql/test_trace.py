"""The trace: every step is a query that gives, at any instant, what the definition gives."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from sqlglot import exp, parse_one
from tests.sql import test_pairs
from tests.sql.test_pairs import CATALOG, PAIRS, SCANS, START, rewriting_of

from tapestry.errors import Refusal
from tapestry.sql import (
    Catalog,
    Column,
    Scan,
    Source,
    Step,
    View,
    rewrite,
    set_clock,
    static_answer,
)
from tapestry.sql.look.trace import FORM, Q_I, Q_M, QUERY, SOLVED
from tapestry.sql.passes.sequence import PASSES
from tapestry.sql.rewriter import refusing_pass
from tapestry.sql.timing import literal

database = test_pairs.database
HOURS = (6, 18, 24, 36, 42, 48, 60, 72, 96, 120)
INSTANTS = [START + timedelta(hours=h, microseconds=us) for h in HOURS for us in (0, 1)]
NAMES, STANDARD = "resolve_names", "to_standard_form"
CTES = (
    "WITH messages AS (SELECT *, ts AS _arrival FROM db.messages{visible}),"
    " authors AS (SELECT * FROM db.authors),"
    " time_begins AS (SELECT MIN(ts) AS at FROM db.messages) "
)


ARMS = {FORM, SOLVED, "find_changes", "stage_joins", "keep_look_ups"}
"""Steps at which a table still means its rows that are there."""


def rows_at(
    connection: duckdb.DuckDBPyConnection, name: str, sql: str, s: datetime
) -> set[tuple[object, ...]]:
    """A step's text executed at s; the disjuncts of one derivation unite."""
    lines = [line for line in sql.splitlines() if " iff " not in line]
    text = "\n".join(lines).replace("-- OR, for the same derivation", "UNION ALL")
    tree = parse_one(text.replace("UNION -- by value", "UNION ALL"), dialect="spark")
    assert isinstance(tree, exp.Query)

    def at(node: exp.Expr) -> exp.Expr:
        is_s = isinstance(node, exp.Column) and node.name == "s" and not node.table
        return literal(s) if is_s else node

    tree = set_clock(tree.transform(at), s)
    lifted = "-- may change at" in sql or "-- kept of a group" in sql
    visible = f" WHERE ts <= {literal(s).sql('duckdb')}" if name in ARMS or lifted else ""
    sql = f"{CTES.format(visible=visible)} SELECT DISTINCT * FROM ({tree.sql('duckdb')}) AS answer"
    return set(connection.execute(sql).fetchall())


KNOWN = {FORM, *(one.name for one in PASSES)}


@pytest.mark.parametrize("pair", PAIRS, ids=[title for _, title, _, _ in PAIRS])
def test_every_step_up_to_q_of_s_has_the_answers_of_the_query(
    database: duckdb.DuckDBPyConnection, pair: tuple[Path, str, str, str]
) -> None:
    steps = {step.name: step for step in rewriting_of(pair[2]).trace}
    assert STANDARD in steps
    for s in INSTANTS:
        definition = static_answer(pair[2], CATALOG, s, SCANS, dialect="duckdb")
        wanted = set(database.execute(definition).fetchall())
        for name in KNOWN & steps.keys():
            assert rows_at(database, name, steps[name].sql, s) == wanted, name


def test_the_steps_of_a_query() -> None:
    query = (
        "select m.id from messages m where now() > m.ts + interval 1 day"
        " and not exists (select 1 from messages r where r.parent = m.id)"
    )
    rewriting = rewrite(query, CATALOG)
    names = [step.name for step in rewriting.trace]
    assert names == [QUERY, NAMES, FORM, SOLVED, STANDARD, Q_M, Q_I]
    steps = {step.name: step for step in rewriting.trace}
    assert "NOW() > m.ts + INTERVAL '1' DAY" in steps[FORM].sql
    solved = "(m.ts + INTERVAL '1' DAY) + INTERVAL '1' MICROSECOND <= s"
    assert f"-- NOW() > m.ts + INTERVAL '1' DAY   iff   {solved}" in steps[SOLVED].sql
    assert ":tau" not in steps[Q_M].sql
    bare = {name: Scan(name, scan.arrival, "row_id") for name, scan in SCANS.items()}
    filled = steps[Q_I].sql
    for name, at in ((":tau", START), (":t", START + timedelta(days=1))):
        filled = filled.replace(name, literal(at).sql("spark"))
    tau, t = (literal(at).this.name for at in (START, START + timedelta(days=1)))
    notes, statement = filled[: filled.index("WITH ")], filled[filled.index("WITH ") :]
    assert statement == rewriting.template(bare, tau, t), "what is shown is what runs"
    assert notes.startswith("-- least and greatest m.id are measured where m.ts > CAST(")
    assert all(step.why for step in rewriting.trace)


@pytest.mark.parametrize(
    ("query", "by"),
    [
        ("select id from messages where hour(now()) = 9", "solve_time_atoms"),
        ("select id, rand() as r from messages", "refuse_nondeterministic"),
        ("select parent, collect_list(id) as n from messages group by parent", "refuse_inexact"),
        ("select nothing from messages", "resolve_names"),
    ],
)
def test_a_refused_query_shows_how_far_it_got(query: str, by: str) -> None:
    steps: list[Step] = []
    with pytest.raises(Refusal) as refused:
        rewrite(query, CATALOG, steps=steps)
    assert refusing_pass(refused.value) == by
    assert steps[0].name == QUERY
    assert len(steps) == (1 if by == "resolve_names" else 2)


def test_views_are_shown_opened_and_dotted_names_in_parts() -> None:
    columns = (Column("id", "int"), Column("ts", "timestamp"))
    catalog = Catalog(
        {"a.b": Source("a.b", columns, "ts"), "a.v": View("a.v", "select id from b", "a")}
    )
    steps = {step.name: step for step in rewrite("select * from a.v", catalog).trace}
    assert "a.v" in steps[QUERY].sql
    assert "a.b" in steps[NAMES].sql
    assert "FROM a.b AS b" in steps[STANDARD].sql
