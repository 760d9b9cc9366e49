"""An answer of which it is said that it holds over one interval does; and that is said of many."""

from __future__ import annotations

import pytest
from judge.oracle import beginning, connect, instants, load
from sqlglot import exp
from tests.verification.judged import aware, cases, over_everything

from tapestry.sql import Scan
from tapestry.sql.catalog import Catalog, Column, Source
from tapestry.verification.definition import Definition
from tapestry.verification.intervals import may_hold_again

M = "SELECT m.id FROM messages AS m"
REPLY = "SELECT 1 FROM messages AS r WHERE r.parent = m.id"
ONE_INTERVAL = [
    M,
    f"{M} WHERE m.ts < now() - INTERVAL 2 DAYS AND NOT EXISTS ({REPLY})",
    f"{M} WHERE EXISTS ({REPLY}) AND now() >= m.ts + INTERVAL 1 DAY",
    f"{M} WHERE m.author IS NOT NULL AND (m.author = 'a' OR m.author <> 'b')",
    f"{M} JOIN messages AS p ON p.id = m.parent AND p.ts >= now() - INTERVAL 1 DAY",
    f"{M} UNION ALL {M} WHERE m.id IN (1, 2)",
    "SELECT m.id, m.ts < now() AS old FROM messages AS m",
    f"SELECT d.id FROM ({M} WHERE m.ts < now()) AS d",
]
PERHAPS_SEVERAL = [
    f"{M} WHERE NOT (m.ts < now() AND m.ts > now() - INTERVAL 1 DAY)",
    f"{M} WHERE m.ts < now() - INTERVAL 9 DAYS OR m.ts > now() - INTERVAL 1 DAY",
    f"{M} WHERE m.ts <> now()",
    f"{M} WHERE NOT EXISTS ({REPLY} AND r.ts > now() - INTERVAL 1 DAY)",
    f"{M} WHERE EXISTS ({REPLY} AND NOT EXISTS (SELECT 1 FROM messages AS q WHERE q.id = r.id))",
    f"{M} WHERE EXISTS (SELECT count(*) FROM messages AS r HAVING count(*) = 2)",
    f"{M} WHERE m.id NOT IN (SELECT r.parent FROM messages AS r)",
    f"SELECT DISTINCT m.author FROM messages AS m WHERE NOT EXISTS ({REPLY})",
    f"{M} LEFT JOIN messages AS r ON r.parent = m.id",
    f"{M} EXCEPT {M} WHERE m.id = 1",
    f"SELECT d.id FROM ({M} WHERE m.ts <> now()) AS d",
    # The clock stands in a CTE, in the ON of a join in parentheses, over a count of rows.
    f"WITH d AS ({M} WHERE m.ts > now() - INTERVAL 1 DAY) {M} WHERE NOT EXISTS"
    " (SELECT 1 FROM d WHERE d.id = m.id)",
    "SELECT a.id FROM (messages AS a JOIN messages AS b ON a.ts <> now())",
    "SELECT count(*) AS c FROM messages AS m HAVING count(*) = 2",
]


def _tree(sql: str) -> exp.Expr:
    columns = (Column("id", "bigint"), Column("parent", "bigint"), Column("author", "string"))
    source = Source("messages", (*columns, Column("ts", "timestamp")), "ts")
    catalog = Catalog({"messages": source})
    scans = {"messages": Scan("messages", "ts", "id")}
    return Definition.read(sql, catalog, scans, "duckdb").tree


@pytest.mark.parametrize("sql", ONE_INTERVAL)
def test_it_holds_once(sql: str) -> None:
    assert not may_hold_again(_tree(sql))


@pytest.mark.parametrize("sql", PERHAPS_SEVERAL)
def test_it_may_hold_again(sql: str) -> None:
    assert may_hold_again(_tree(sql))


@pytest.mark.parametrize("negation", ["", "NOT "])
def test_it_may_hold_again_once_a_row_is_gone(negation: str) -> None:
    tree = _tree(f"{M} WHERE {negation}EXISTS ({REPLY})")
    assert not may_hold_again(tree)
    assert may_hold_again(tree, ending=True)


def test_it_holds_once_where_only_joined_rows_may_go() -> None:
    assert not may_hold_again(_tree(f"{M} JOIN messages AS r ON r.parent = m.id"), ending=True)


def test_no_answer_leaves_a_gap_where_none_may(queries: int, first: int) -> None:
    """At every instant of random queries over random rows; of more where few of them answer."""
    connection, answers = connect(), 0
    for number, (case, _) in enumerate(cases(range(first, first + 50 * queries))):
        if number >= queries and answers:
            break
        asked = over_everything(case.sql, case.data)
        if asked.may_hold_again:
            continue
        load(connection, case.data)
        start = beginning(case.query, case.data, case.begin)
        assert start is not None
        moments = list(
            map(aware, instants(case.query, case.data, start, max(start, case.ends[-1])))
        )
        place = {moment: number for number, moment in enumerate(moments)}
        ctes = [asked.instants(moments), ("answers", asked.answers())]
        rows = connection.execute(asked.statement(ctes, "SELECT * FROM answers")).fetchall()
        held: dict[tuple[object, ...], list[int]] = {}
        for *values, moment, key in rows:
            held.setdefault((*map(str, values), key), []).append(place[moment])
        for answer, places in held.items():
            assert max(places) - min(places) + 1 == len(places), (case.sql, answer)
            answers += 1
    assert answers
