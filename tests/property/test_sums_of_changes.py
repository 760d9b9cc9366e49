"""Counts and sums that a change adds to, against those of all rows: random queries and changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import duckdb
import pytest
from tests.property.test_kept_by_keys import (
    Change,
    answer,
    at,
    kept,
    loaded,
    random_change,
    without_empty,
)
from tests.property.test_slips_of_keys import missing_new
from tests.seeds import seeds

from tapestry.errors import Refusal
from tapestry.sql.operators import changed_rows
from tapestry.sql.operators.block import NotComparedError
from tapestry.sql.operators.read_sums import over_sums, sums_apart, sums_at
from tapestry.sql.operators.sums import SummedBlock, sum_blocks
from tapestry.sql.operators.texts import Between, SourceVersions
from tapestry.sql.operators.versions import TwoVersions, Version

CASES = 120
SUMMED = (
    "SELECT m.k, count(*) AS c, sum(m.v) AS s FROM m WHERE m.v <> 2 GROUP BY m.k",
    "SELECT count(*) AS c, sum(m.v) AS s, count(m.k) AS n FROM m",
    "SELECT m.k + 1 AS k, 2 * sum(m.v) - count(*) AS x FROM m GROUP BY m.k + 1 HAVING count(*) > 1",
    "SELECT r.v, count(*) AS c, sum(m.v * r.v) AS s FROM m JOIN r ON r.k = m.k GROUP BY r.v",
    "SELECT l.v, sum(m.v) AS s FROM m, r, l WHERE r.k = m.k AND l.k = r.v GROUP BY l.v",
    "SELECT n.v, count(*) AS c FROM m JOIN m AS n ON n.k = m.k AND n.id <> m.id GROUP BY n.v",
    "SELECT x.w, sum(x.z) AS s FROM (SELECT m.v AS w, m.v + r.v AS z FROM m, r WHERE m.k = r.k) x"
    " GROUP BY x.w",
    "SELECT x.n, count(*) AS c FROM (SELECT l.k, count(r.id) AS n FROM l LEFT JOIN r ON r.k = l.k"
    " GROUP BY l.k) AS x GROUP BY x.n",
    "SELECT m.v, count(*) AS c FROM m WHERE EXISTS (SELECT 1 FROM r WHERE r.k = m.k) GROUP BY m.v",
    "SELECT m.v, sum(m.k) AS c FROM m WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = m.k AND r.v <> "
    " m.v) GROUP BY m.v",
    "SELECT sum(m.v) AS s FROM m WHERE m.v < (SELECT max(r.v) FROM r WHERE r.k = m.k)",
    "SELECT r.v, count(m.id) AS c, sum(m.v) AS s FROM r LEFT JOIN m ON m.k = r.k GROUP BY r.v",
    "SELECT m.k, count(*) FILTER (WHERE m.v > 1) AS c, sum(m.v) FILTER (WHERE m.v > 1) AS s FROM m"
    " GROUP BY m.k",
    "SELECT x.k, x.s FROM (SELECT m.k, sum(m.v) AS s FROM m GROUP BY m.k) AS x, l WHERE l.k = x.k"
    " AND x.s = (SELECT max(y.s) FROM (SELECT m.k, sum(m.v) AS s FROM m GROUP BY m.k) AS y)",
    "SELECT m.k, sum(m.v) AS s FROM m GROUP BY m.k ORDER BY s DESC, m.k LIMIT 2",
    "SELECT x.v, count(*) AS c FROM (SELECT m.v FROM m UNION ALL SELECT r.v FROM r) AS x GROUP BY"
    " x.v",
    "SELECT x.v, count(*) AS c FROM (SELECT m.v FROM m UNION SELECT r.v FROM r) AS x GROUP BY x.v",
    "SELECT DISTINCT sum(m.v) AS s FROM m GROUP BY m.k",
)


def check(connection: duckdb.DuckDBPyConnection, change: Change) -> int:
    """How many blocks of the query are summed; the sums and the answer are those of all rows."""
    differences = loaded(connection, change)
    try:
        query = kept(change.sql)
        summed = sum_blocks(query)
    except (Refusal, NotComparedError):
        return 0
    if summed is None:
        return 0
    read = {name: one for name, one in differences.items() if name in query.sources}
    sources = {name: without_empty(connection, one) for name, one in read.items()}
    instants = (at(change.instants[0]), at(change.instants[1]))
    between = Between(instants, sources)
    old, new = (
        Between(instants[1:] * 2, {
            name: SourceVersions("", getattr(one, side), "", "") for name, one in read.items()
        })
        for side in ("old", "new")
    )  # fmt: skip
    groups = []
    for block in summed.blocks:
        text = sums_at(summed, block, new, dialect="duckdb")
        expected = _groups(connection, block, text)
        found = _groups(connection, block, sums_at(summed, block, old, dialect="duckdb"))
        if apart := sums_apart(summed, block, between, dialect="duckdb"):
            rows = connection.execute(apart).fetchall()
            _add(found, block, rows)
        assert found == expected, f"{change}\n{apart}"
        groups.append(text)
    columns = [f"c{number}" for number, _ in enumerate(query.columns)]
    shown = over_sums(summed, groups, new, columns, dialect="duckdb")
    rows = Counter(connection.execute(shown).fetchall())
    assert rows == answer(connection, change, 1), f"{change}\n{shown}"
    return len(summed.blocks)


def _groups(
    connection: duckdb.DuckDBPyConnection, block: SummedBlock, text: str
) -> dict[Any, tuple[int, ...]]:
    found: dict[Any, tuple[int, ...]] = {}
    if block.is_global:
        found[()] = (0,) * len(block.columns)
    _add(found, block, [(1, *row) for row in connection.execute(text).fetchall()])
    return found


def _add(found: dict[Any, tuple[int, ...]], block: SummedBlock, rows: list[Any]) -> None:
    """Add them; a group without rows is gone."""
    many = len(block.groups)
    for sign, *row in rows:
        old = found.get(tuple(row[:many]), (0,) * (len(row) - many))
        more = [sign * (one or 0) for one in row[many:]]
        found[tuple(row[:many])] = tuple(a + b for a, b in zip(old, more, strict=True))
    for group in [group for group, sums in found.items() if group and not sums[0]]:
        del found[group]


@pytest.fixture
def connection() -> Any:
    made = duckdb.connect()
    made.execute("SET TimeZone = 'UTC'")
    yield made
    made.close()


@pytest.mark.parametrize("template", SUMMED)
def test_what_a_change_adds_is_what_all_rows_have(connection: Any, template: str) -> None:
    blocks = [check(connection, random_change(number, template)) for number in seeds(8)]
    assert any(blocks)


def test_random_queries(connection: Any) -> None:
    blocks = [check(connection, random_change(number)) for number in seeds(CASES)]
    assert sum(map(bool, blocks)) > CASES / 12


def both_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that changed together meet twice."""
    relation = TwoVersions.relation
    new = Version.NEW
    monkeypatch.setattr(TwoVersions, "relation", lambda self, alias, _: relation(self, alias, new))


def first_mention_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a join one relation alone is looked at."""
    signed = changed_rows.ChangedRows._signed
    monkeypatch.setattr(
        changed_rows.ChangedRows,
        "_signed",
        lambda self, node: signed(self, node) if node.name != "r" else None,
    )


@pytest.mark.parametrize("slip", [both_new, missing_new, first_mention_only])
def test_slips_are_noticed(
    connection: Any, slip: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    slip(monkeypatch)

    def ask() -> None:
        for number in range(40):
            for template in SUMMED[3:7]:
                check(connection, random_change(number, template))

    with pytest.raises(AssertionError, match="FROM"):
        ask()
