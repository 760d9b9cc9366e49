"""Audit columns, generators, VALUES, PIVOT, UNPIVOT and NATURAL JOIN, run and verified by Spark."""

from __future__ import annotations

from typing import Any

import pytest
from tests.marks import more
from tests.spark.run_world import World

from tapestry.names import MATCHED_AT

FORMS = [
    "select m.id, now() as seen_at, date(now()) as day, datediff(now(), m.ts) as age,"
    " localtimestamp() as here from {s}.messages m where now() >= m.ts + interval 10 seconds",
    "select distinct m.author, date_trunc('HOUR', now()) as hour from {s}.messages m",
    "select m.id, t.x from {s}.messages m lateral view outer explode(array(m.id, m.parent)) t as x",
    "select id, posexplode(split(concat(author, '-x'), '-')) as (n, x) from {s}.messages"
    " where now() >= ts + interval 10 seconds",
    "select m.id, k, v from {s}.messages m lateral view explode(map(m.author, m.id)) t as k, v",
    "select m.id, e.a, e.b from {s}.messages m, lateral inline(array(named_struct('x', m.id,"
    " 'y', now_at), named_struct('x', m.parent, 'y', now_at))) as e(a, b)".replace(
        "now_at", "m.ts"
    ),
    "select id, stack(2, 'id', id, 'parent', parent) as (name, v) from {s}.messages",
    "select m.id, v.name from {s}.messages m join values (1, 'one'), (2, NULL) as v(id, name)"
    " on v.id = m.id",
    "select * from {s}.messages unpivot (v for name in (id, parent as up)) as u",
    "select * from {s}.messages natural join (select id, author as who from {s}.messages) q",
    "select m.id from {s}.messages m where not exists (select 1 from {s}.messages r"
    " lateral view explode(array(r.parent, r.id + 9)) t as x where t.x = m.id)",
    "select * from (select id % 2 as odd, author, parent from {s}.messages)"
    " pivot (count(*) as n, sum(parent) as s for author in ('ann', 'bob' as b, 'none', NULL))",
    "select * from (select id, author, parent from {s}.messages)"
    " pivot (count(*) as n, max(author) as a for (parent) in (1 as one, 9 as nine, NULL as top))",
    "select `1`, who from (select count(*), -1, author as who, parent from {s}.messages"
    " group by author, parent) pivot (max(`count(1)`) for parent in (1, 2))",
    "select x from {s}.messages lateral view explode(array(id, parent)) t as x sort by x",
]


@pytest.mark.parametrize("sql", [FORMS[0], *map(more, FORMS[1:])])
def test_a_form_is_run_and_verified(session: Any, schema: str, sql: str) -> None:
    world = World(session, schema).create()
    steps = world.model(sql, "steps", verify="full")
    once = world.model(sql, "once", verify="full")
    for t in (3, 12, 20):
        world.run(steps, t)
    world.run(once, 20)
    named = [f"select * from {schema}.{name}" for name in ("steps", "once")]
    rows = [sorted(map(str, session.rows(text))) for text in named]
    assert rows[0] == rows[1]
    assert rows[0]
    if "seen_at" in sql:
        wrong = f"select 1 from {schema}.steps where seen_at <> {MATCHED_AT} or age <> 0"
        assert not session.rows(wrong)
