"""Aggregates, windows, LIMIT and scalar subqueries as the verification sees them.

Random queries over random data: answers at many instants are the static answers at each, events are
where they change, right runs pass, and runs with one row changed do not.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import duckdb
import pytest
from tests.verification.gathering import (
    BASE,
    SECOND,
    answers_at,
    connect,
    definition,
    events,
    load,
    query,
    threaded,
)

from tapestry.errors import Refusal
from tapestry.verification.check import Check, Sample
from tapestry.verification.chosen_rows import RunRows
from tapestry.verification.definition import Definition
from tapestry.verification.events import opening
from tapestry.verification.turns import turn

MICRO = timedelta(microseconds=1)
GRID = [BASE + n * SECOND + late for n in range(-1, 34) for late in (0 * MICRO, MICRO)]
"""Data and intervals are of whole seconds: whatever changes does so at one of these."""
Row = tuple[Any, ...]
CHANGES = {
    "removed": "DELETE FROM staged WHERE rowid = {row}",
    "later": "UPDATE staged SET _matched_at = _matched_at + INTERVAL 1 MICROSECOND"
    " WHERE rowid = {row}",
    "earlier": "UPDATE staged SET _matched_at = _matched_at - INTERVAL 1 MICROSECOND"
    " WHERE rowid = {row}",
    "twice": "INSERT INTO staged SELECT * FROM staged WHERE rowid = {row}",
    "another": "INSERT INTO staged SELECT * REPLACE ('1' AS _key, _matched_at + INTERVAL 1"
    " MICROSECOND AS _matched_at) FROM staged WHERE rowid = {row}",
}


def test_threaded_answers_are_the_static_answers(queries: int, first: int) -> None:
    connection, compared = connect(), 0
    for number in range(first, first + 2 * queries):
        rng = random.Random(number)
        sql = query(rng)
        load(connection, rng)
        moments = rng.sample(GRID, 6)
        found = threaded(connection, sql, moments)
        for moment in moments:
            assert found[moment] == answers_at(connection, sql, moment), (number, sql, moment)
            compared += len(found[moment])
    assert compared


def test_nothing_changes_between_event_instants(queries: int, first: int) -> None:
    connection, changes = connect(), 0
    for number in range(first, first + 2 * queries):
        rng = random.Random(number)
        sql = query(rng)
        load(connection, rng, 5)
        known, found = set(events(connection, sql)), threaded(connection, sql, GRID)
        for before, moment in pairwise(GRID):
            if found[before] != found[moment]:
                assert moment in known, (number, sql, moment)
                changes += 1
    assert changes


def stage(
    connection: duckdb.DuckDBPyConnection, asked: Definition, rows: RunRows, tau: datetime
) -> None:
    """The right table, by brute force: the first instant of every answer, key by key."""
    moments = [moment for moment in GRID if rows.start <= moment <= rows.t]
    names = ", ".join(asked.columns)
    first = f"SELECT {names}, min(_s) AS _matched_at, _key FROM answers GROUP BY ALL"
    ctes = [asked.instants([*moments, rows.start, rows.t]), ("answers", asked.answers())]
    connection.execute(f"CREATE OR REPLACE TEMP TABLE every AS {asked.statement(ctes, first)}")
    for name, side in (("staged", ">"), ("published", "<=")):
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {name} AS FROM every WHERE _matched_at {side} ?",
            [tau],
        )


def test_right_runs_pass_and_others_do_not(queries: int, first: int) -> None:
    connection, passed, noticed = connect(), 0, 0

    def ask(text: str) -> list[Row]:
        return connection.execute(text).fetchall()

    for number in range(first, first + queries):
        rng = random.Random(number)
        sql = query(rng)
        load(connection, rng, 6)
        tau = rng.choice((None, BASE + 4 * SECOND, BASE + 8 * SECOND))
        t = BASE + rng.choice((9, 12, 20)) * SECOND
        asked = definition(sql)
        rows = RunRows("staged", opening(asked, ask, t), tau, t)
        if rows.start > t:
            continue
        stage(connection, asked, rows, tau or BASE - SECOND)
        sample = Sample(turn(number, 3, BASE, tau, t), str(number))

        def fresh(asked: Definition = asked, rows: RunRows = rows) -> Check:
            return Check(asked, rows, ask, lambda: "published")

        for results in (fresh().full(), fresh().sample(sample)):
            assert all(result.passed for result in results), (number, sql, results)
            passed += 1
        chosen = connection.execute("SELECT min(rowid) FROM staged").fetchall()[0][0]
        if chosen is None:
            continue
        connection.execute("CREATE OR REPLACE TEMP TABLE kept AS FROM staged")
        change = rng.choice(sorted(CHANGES))
        connection.execute(CHANGES[change].format(row=chosen))
        assert not all(r.passed for r in fresh().full()), (number, sql, change)
        noticed += 1
    assert passed
    assert noticed


# -- the traps of the design, by their names ------------------------------------------------------
def _insert(connection: duckdb.DuckDBPyConnection, *rows: Row) -> None:
    """Rows of (id, k, v, due, ts) in seconds after BASE, and perhaps an end."""
    for number, (id_, k, v, due, ts, *rest) in enumerate(rows):
        moments = [BASE + second * SECOND for second in (due, ts, ts)]
        end = BASE + (rest[0] if rest else 999) * SECOND
        connection.execute(
            "INSERT INTO m VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [id_, k, v, *moments, end, number]
        )


def _history(sql: str, *rows: Row, until: int = 12) -> list[tuple[int, list[Any]]]:
    """(second, rows) wherever the answer changes, from BASE on; a µs after counts as the second."""
    connection = connect()
    load(connection, random.Random(0), 0)
    _insert(connection, *rows)
    moments = [moment for moment in GRID if BASE <= moment <= BASE + until * SECOND]
    found = threaded(connection, sql, moments)
    history: list[tuple[int, list[Any]]] = []
    before = None
    for moment in moments:
        assert found[moment] == answers_at(connection, sql, moment)
        if found[moment] != before:
            before = found[moment]
            second = (moment - BASE) // SECOND
            history.append((second, sorted(before.elements(), key=str)))
    known = set(events(connection, sql))
    changed = [m for a, m in pairwise(moments) if found[a] != found[m]]
    assert known.issuperset(changed)
    return history


def test_global_empty_first() -> None:
    """A row of nothing is an answer; so it is when all rows are gone [global-back-to-empty]."""
    history = _history("SELECT count(*) AS n, sum(v) AS s FROM m", (1, 1, 5, 0, 3, 6))
    assert history == [(0, [(0, None)]), (3, [(1, 5)]), (6, [(0, None)])]


def test_having_without_group_by_has_the_row_while_it_holds() -> None:
    history = _history("SELECT 7 AS x FROM m HAVING count(*) = 0", (1, 1, 5, 0, 3, 6))
    assert history == [(0, [(7,)]), (3, []), (6, [(7,)])]


def test_rollup_no_row_while_empty() -> None:
    history = _history("SELECT k, count(*) AS n FROM m GROUP BY ROLLUP (k)", (1, 1, 5, 0, 3))
    assert history == [(0, []), (3, [(1, 1), (None, 1)])]


def test_filter_of_one_aggregate() -> None:
    sql = "SELECT k, count(*) FILTER (WHERE due <= now()) AS n FROM m GROUP BY k"
    assert _history(sql, (1, 1, 5, 8, 3)) == [(0, []), (3, [(1, 0)]), (8, [(1, 1)])]


def test_quiet_group() -> None:
    """A group in which nothing arrives becomes an answer by time alone; a row moves its bound."""
    sql = "SELECT k FROM m GROUP BY k HAVING max(ts) < now() - INTERVAL 3 SECONDS"
    history = _history(sql, (1, 1, 5, 0, 1), (2, 2, 5, 0, 1), (3, 2, 5, 0, 3))
    assert history == [(0, []), (4, [(1,)]), (6, [(1,), (2,)])]


def test_a_bound_of_two_rows_is_of_two_rows() -> None:
    """max(due) and min(ts) need not be of one row."""
    sql = "SELECT k FROM m GROUP BY k HAVING now() >= max(due) + (max(due) - min(due))"
    assert _history(sql, (1, 1, 5, 2, 0), (2, 1, 5, 5, 0)) == [(0, []), (8, [(1,)])]


def test_left_count_from_zero() -> None:
    sql = (
        "SELECT m.id, count(n.id) AS c FROM m LEFT JOIN m AS n ON n.k = m.id AND n.due <= now()"
        " WHERE m.id < 5 GROUP BY m.id"
    )
    assert _history(sql, (1, 9, 5, 0, 2), (7, 1, 5, 6, 4)) == [
        (0, []),
        (2, [(1, 0)]),
        (6, [(1, 1)]),
    ]


def test_not_in_aggregate_null() -> None:
    """A max of nothing is NULL, and nothing is known to be outside of {NULL}."""
    sql = "SELECT id FROM m WHERE id NOT IN (SELECT max(k) FROM m AS n WHERE n.due <= now())"
    assert _history(sql, (1, 9, 5, 6, 2)) == [(0, []), (6, [(1,)])]


def test_limit_of_ties_is_by_the_output() -> None:
    sql = "SELECT id, v FROM m ORDER BY k LIMIT 1"
    history = _history(sql, (2, 1, 5, 0, 1), (1, 1, 7, 0, 3), (1, 1, None, 0, 5))
    assert history == [(0, []), (1, [(2, 5)]), (3, [(1, 7)]), (5, [(1, None)])]


def test_row_number_of_ties_is_by_the_columns_of_from() -> None:
    sql = (
        "SELECT q.v FROM (SELECT v, row_number() OVER (PARTITION BY k ORDER BY ts) AS n FROM m) q"
        " WHERE q.n = 1"
    )
    assert _history(sql, (2, 1, 5, 0, 1), (1, 1, 7, 0, 1)) == [(0, []), (1, [(7,)])]


@pytest.mark.parametrize(
    ("sql", "by_value", "with_values"),
    [
        ("SELECT k, count(*) AS n FROM m GROUP BY k", True, False),
        ("SELECT count(*) AS n FROM m", True, False),
        ("SELECT id, rank() OVER (ORDER BY v) AS n FROM m", True, False),
        ("SELECT id FROM m ORDER BY v LIMIT 2", True, False),
        # derived-join-hides-count
        (
            "SELECT m.id FROM m JOIN (SELECT k, count(*) c FROM r GROUP BY k) x USING (k)",
            True,
            False,
        ),
        ("WITH w AS (SELECT id FROM r LIMIT 2) SELECT m.id FROM m JOIN w USING (id)", True, False),
        ("SELECT x.id FROM (SELECT q.id FROM (SELECT max(id) AS id FROM r) q) x", True, False),
        ("SELECT m.id FROM m JOIN (SELECT DISTINCT k FROM r) x USING (k)", False, False),
        ("SELECT id FROM m WHERE v > (SELECT avg(v) FROM r)", False, False),
        ("SELECT id FROM m WHERE k IN (SELECT k FROM r GROUP BY k)", False, False),
        # scalar-select-comes-back
        ("SELECT id, (SELECT max(v) FROM r) AS b FROM m", False, True),
        ("SELECT q.id, q.b FROM (SELECT id, (SELECT max(v) FROM r) AS b FROM m) q", False, True),
    ],
)
def test_what_identifies_an_answer(sql: str, by_value: bool, with_values: bool) -> None:
    asked = definition(sql)
    assert (asked.by_value, asked.with_values) == ((by_value,), (with_values,))
    if by_value:
        assert asked.driver(1) is None


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT k FROM m GROUP BY k HAVING now() > BASE + sum(v)", "worked out of several rows"),
        ("SELECT last_value(v) OVER (ORDER BY ts) AS x FROM m", "cannot be told"),
    ],
)
def test_what_cannot_be_checked_is_refused(sql: str, reason: str) -> None:
    sql = sql.replace("BASE + sum(v)", "timestamp_seconds(sum(v))")
    connection = connect()
    load(connection, random.Random(0), 0)
    with pytest.raises(Refusal, match=reason) as refused:
        events(connection, sql)
    assert refused.value.code == "not-checkable"
