"""``Q(s)`` at many instants in one statement is ``Q(s)`` at each of them.

Compared with the plain static answer, and with the judge's own reading of the query.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
import sqlglot
from judge.case import normalized
from judge.data import Data
from judge.oracle import Definition as Oracle
from judge.oracle import beginning, connect, instants, load
from judge.verdict import CATALOG
from sqlglot import exp
from tests.verification.judged import aware, cases, over_everything

from tapestry.instants import EPOCH
from tapestry.sql import static_answer
from tapestry.verification.definition import Definition
from tapestry.verification.events import event_instants

INSTANTS = 6
DUE = datetime(2024, 1, 20)


def test_threaded_answers_are_the_static_answers(queries: int, first: int) -> None:
    """At random instants, rows and all; every derivation has a key of its own."""
    connection, compared = connect(), 0
    for case, _ in cases(range(first, first + queries)):
        load(connection, case.data)
        start = beginning(case.query, case.data, case.begin)
        assert start is not None
        moments = instants(case.query, case.data, start, max(start, case.ends[-1]))
        chosen = random.Random(case.number).sample(moments, min(INSTANTS, len(moments)))
        asked = over_everything(case.sql, case.data)
        ctes = [asked.instants(map(aware, chosen)), ("answers", asked.answers())]
        rows = connection.execute(asked.statement(ctes, "SELECT * FROM answers")).fetchall()
        assert len(set(rows)) == len(rows), case.sql
        judged = Oracle(case.query, connection).at_each(chosen)
        for moment in chosen:
            mine = normalized(row[:-2] for row in rows if row[-2] == aware(moment))
            plain = static_answer(case.sql, asked.catalog, aware(moment), asked.scans, "duckdb")
            plain = f"SELECT {', '.join(asked.columns)} FROM ({plain})"
            assert mine == normalized(connection.execute(plain).fetchall()), (case.sql, moment)
            assert mine == normalized(judged.get(moment, Counter()).elements()), (case.sql, moment)
            compared += 1
    assert compared


@pytest.mark.parametrize(
    ("listed", "answers"),
    [("(SELECT max(u.k) FROM u)", 0), ("(SELECT u.k FROM u WHERE u.id = 1)", 0), ("max(r.k)", 1)],
)
def test_an_aggregate_of_a_subquery_is_none_of_the_block_around_it(
    listed: str, answers: int
) -> None:
    """EXISTS over a global aggregate is always true, but over rows beside one it is not."""
    connection, nobody = connect(), {"u": (), "r": (), "x": ()}
    load(connection, Data({"m": ((1, 1, 1, "a", None, DUE, DUE, DUE, 1),), **nobody}))
    sql = f"SELECT m.id FROM m WHERE EXISTS (SELECT {listed} AS q FROM r WHERE r.id = m.id)"
    asked = over_everything(sql)
    ctes = [asked.instants([aware(DUE)]), ("answers", asked.answers())]
    rows = connection.execute(asked.statement(ctes, "SELECT * FROM answers")).fetchall()
    assert len(rows) == answers


@pytest.mark.parametrize(
    "joined",
    [
        "u LEFT JOIN (m JOIN r ON m.id = r.id) ON u.k = m.k",
        "u FULL JOIN (m LEFT JOIN (r JOIN x ON r.v = x.v) ON m.id = r.id) ON u.k = m.k",
        "u LEFT JOIN ((SELECT * FROM m WHERE due < now()) m JOIN r ON m.id = r.id) ON u.k = m.k",
        "u LEFT JOIN (SELECT DISTINCT id, k FROM m) m JOIN r ON m.id = r.id ON u.k = m.k",
        "(u RIGHT JOIN m ON u.k = m.k) JOIN (r) ON r.id = m.id",
    ],
)
def test_joins_in_parentheses_are_joined_first(joined: str) -> None:
    sql = f"SELECT u.id AS a, m.id AS b, r.rid AS c FROM {joined}"
    connection, compared = connect(), 0
    for case, _ in cases(range(12)):
        load(connection, case.data)
        asked, moments = over_everything(sql), [aware(end) for end in case.ends]
        ctes = [asked.instants(moments), ("answers", asked.answers())]
        rows = connection.execute(asked.statement(ctes, "SELECT * FROM answers")).fetchall()
        for moment in set(moments):
            mine = normalized(row[:-2] for row in rows if row[-2] == moment)
            plain = static_answer(sql, asked.catalog, moment, asked.scans, "duckdb")
            assert mine == normalized(connection.execute(plain).fetchall()), moment
            compared += len(mine)
    assert compared > 20


def test_nothing_changes_between_event_instants(queries: int, first: int) -> None:
    """Where the judge's answers differ from those at the instant before, there is an event."""
    connection, changes = connect(), 0
    for case, _ in cases(range(first, first + queries)):
        load(connection, case.data)
        start = beginning(case.query, case.data, case.begin)
        assert start is not None
        end = max(start, case.ends[-1])
        moments = instants(case.query, case.data, start, end)
        text = event_instants(over_everything(case.sql, case.data), aware(start), aware(end))
        events = {start, *(_naive(us) for (us,) in connection.execute(text).fetchall())}
        judged = Oracle(case.query, connection).at_each(moments)
        for before, moment in pairwise(moments):
            if judged.get(moment) != judged.get(before):
                assert moment in events, (case.sql, moment)
                changes += 1
    assert changes


@pytest.mark.parametrize(
    "joined",
    [
        "r AS b LEFT JOIN m AS h ON h.k = b.k",
        "m AS h RIGHT JOIN r AS b ON h.k = b.k",
        "r AS b LEFT JOIN (SELECT k, coalesce(due, ts) AS due FROM m) AS h ON h.k = b.k",
        "(SELECT c.k, a.due FROM r AS c LEFT JOIN m AS a ON a.k = c.k) AS h JOIN r AS b USING (k)",
    ],
    ids=["left", "right", "derived", "within"],
)
@pytest.mark.parametrize("others", [(), ((7, 3, 1, "a", None, DUE, DUE, DUE, 1),)])
def test_what_an_outer_join_fills_in_has_events_too(joined: str, others: tuple[Any, ...]) -> None:
    """Where nothing matches, a comparison is with NULL, or with what stands in for it."""
    connection, due = connect(), datetime(2024, 1, 1)
    row = (1, 2, 2, 1, None, due, due, due, 1)
    load(connection, Data({"m": others, "r": (row,), "u": (), "x": ()}))
    sql = f"SELECT b.rid FROM {joined} WHERE now() - INTERVAL 12 HOURS <= coalesce(h.due, b.due)"
    asked = over_everything(sql)
    text = event_instants(asked, aware(due), aware(due + timedelta(days=30)))
    events = {_naive(us) for (us,) in connection.execute(text).fetchall()}
    assert due + timedelta(hours=12, microseconds=1) in events


def test_braces_in_a_comparison_with_the_clock_are_text() -> None:
    connection, due = connect(), datetime(2024, 1, 1)
    row = (7, 3, 1, "{a}", None, due, due, due, 1)
    load(connection, Data({"m": (row,), "r": (), "u": (), "x": ()}))
    sql = (
        "SELECT m.id FROM m WHERE now() > CASE WHEN m.txt = '{a}' THEN m.due + INTERVAL 1 HOUR"
        " ELSE m.ts END"
    )
    text = event_instants(over_everything(sql), aware(due), aware(due + timedelta(days=30)))
    events = {_naive(us) for (us,) in connection.execute(text).fetchall()}
    assert due + timedelta(hours=1, microseconds=1) in events


@pytest.mark.parametrize("number", range(3))
def test_a_range_leaves_out_derivations_and_changes_none(number: int) -> None:
    """Answers of two halves are together those of all, and nothing else."""
    from tapestry.verification.restriction import Restriction

    connection, cut = connect(), aware(datetime(2024, 1, 1))
    early, late = aware(datetime(1, 1, 2)), aware(datetime(9999, 1, 1))
    halves = (Restriction(((early, cut),)), Restriction(((cut, late),)), Restriction())
    for case, _ in cases(range(40 * number, 40 * number + 40)):
        load(connection, case.data)
        asked = over_everything(case.sql, case.data)
        moments = [aware(case.ends[-1]), aware(case.ends[-1]) - timedelta(days=1)]
        for arm in range(1, len(asked.by_value) + 1):
            driver = asked.driver(arm)
            if driver is None:
                continue
            found = []
            for restriction in halves:
                ctes = [asked.instants(moments), ("answers", asked.answers(restriction, arm))]
                text = asked.statement(ctes, "SELECT * FROM answers")
                found.append(Counter(connection.execute(text).fetchall()))
            one, two, whole = found
            assert not one - whole, case.sql
            assert not two - whole, case.sql
            if not asked.by_value[arm - 1]:
                assert one + two == whole, case.sql


def _naive(us: int) -> datetime:
    return (EPOCH + timedelta(microseconds=us)).replace(tzinfo=None)


@pytest.mark.parametrize(
    ("sql", "nothing"),
    [
        ("select x.id from m x where x.ts < now()", True),
        ("select x.id from m x where x.k = 1 union all select x.id from m x", False),
        ("select distinct x.id from m x", False),
        ("select x.id from m x join r y on x.id = y.id", False),
        ("select x.id from m x where not exists (select 1 from m y where y.k = x.id)", False),
        ("with c as (select * from m) select c.id from c", False),
    ],
)
def test_what_joins_nothing(sql: str, nothing: bool) -> None:
    asked = Definition.read(sql, CATALOG, {}, "duckdb")
    assert asked.joins_nothing is nothing


OF_ONE_SIDE = (
    "o.id IN (SELECT x.id FROM u AS x WHERE x.k = o.k)",
    "EXISTS (SELECT 1 FROM u AS x WHERE x.id = m.id)",
    "NOT EXISTS (SELECT 1 FROM u AS x WHERE x.id = o.id AND EXISTS (SELECT 1 FROM r))",
    "o.id = (SELECT max(x.id) FROM u AS x)",
)


@pytest.mark.parametrize("side", ["FULL", "RIGHT"])
@pytest.mark.parametrize("condition", OF_ONE_SIDE)
def test_a_subquery_of_a_join_sees_one_side_where_the_text_does(side: str, condition: str) -> None:
    """Spark takes none in ON that sees both."""
    sql = f"SELECT o.id AS a, m.id AS b FROM r AS o {side} JOIN m ON o.k = m.k AND {condition}"
    tree = sqlglot.parse_one(over_everything(sql).answers(), dialect="duckdb")
    ons = [join.args["on"] for join in tree.find_all(exp.Join) if join.side == side]
    assert len(ons) == 1
    query = next(ons[0].find_all(exp.Select))
    seen = {column.table for column in query.find_all(exp.Column)} & {"o", "m"}
    assert len(seen) == 1
