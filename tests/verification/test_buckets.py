"""Buckets of the groups of an aggregate: by which columns, and that they are parts of the whole."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta

import pytest
from tests.verification.gathering import BASE, SECOND, connect, definition, load, query

from tapestry.verification.buckets import DIGITS, shown_key
from tapestry.verification.scopes import arms

MANY = "SELECT k, v, count(*) AS n FROM m GROUP BY k, v"
RANKED = "SELECT k, id, row_number() OVER (PARTITION BY k ORDER BY ts, id) AS n FROM m"


@pytest.mark.parametrize(
    ("sql", "key"),
    [
        (MANY, (0, 1)),
        ("SELECT count(*) AS n, k FROM m GROUP BY k", (1,)),
        ("SELECT date_trunc('day', ts) AS d, count(*) AS n FROM m GROUP BY 1", (0,)),
        (RANKED, (0,)),
        (f"SELECT x.id, x.k FROM ({RANKED}) x WHERE x.n = 1", (1,)),
        (f"WITH c AS ({MANY}) SELECT d.v, d.n FROM c AS d JOIN r ON r.k = d.k", (0,)),
        ("SELECT count(*) AS n FROM m", ()),
        ("SELECT count(*) AS n FROM m GROUP BY k", ()),
        ("SELECT k, count(*) AS n FROM m GROUP BY ROLLUP (k)", ()),
        ("SELECT id, rank() OVER (ORDER BY v) AS n FROM m", ()),
        ("SELECT id FROM m ORDER BY v LIMIT 2", ()),
    ],
)
def test_the_key_that_a_query_shows(sql: str, key: tuple[int, ...]) -> None:
    ((arm, ctes),) = arms(definition(sql).tree, {})
    assert shown_key(arm, ctes) == key


def test_the_buckets_are_the_whole(queries: int, first: int) -> None:
    """Of random queries: together the buckets have each row of every answer once."""
    connection, compared = connect(), 0
    texts = [MANY, RANKED, f"SELECT x.id, x.k FROM ({RANKED}) x WHERE x.n = 1"]
    for number in range(first, first + queries):
        rng = random.Random(number)
        load(connection, rng)
        asked = definition(rng.choice([query(rng), *texts]))
        if asked.in_bucket(1, "0") is None:
            continue
        moments = [BASE + timedelta(seconds=rng.randint(0, 20)) for _ in range(3)]
        found: list[Counter[object]] = []
        for digit in ["", *DIGITS]:
            part = asked.in_bucket(1, digit) if digit else asked
            assert part is not None
            ctes = [asked.instants([*moments, BASE + 30 * SECOND]), ("answers", part.answers())]
            rows = connection.execute(part.statement(ctes, "FROM answers")).fetchall()
            found.append(Counter(map(str, rows)))
        assert sum(found[1:], Counter()) == found[0], number
        compared += found[0].total()
    assert compared
