"""Many LEFT JOINs to tables that grow: short SQL, and what a later window asks of earlier rows."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import duckdb
import pytest

from tapestry.sql import Catalog, Column, Rewriting, Source, Window, rewrite
from tapestry.sql.scan import Scan
from tapestry.sql.work import bounded, spent

ZERO = datetime(2026, 1, 1, tzinfo=timezone.utc)
NAMES = ("m", *(f"a{n}" for n in range(1, 13)))
COLUMNS = tuple(
    Column(*one) for one in (("id", "int"), ("k", "int"), ("due", "timestamp"), ("ts", "timestamp"))
)
CATALOG = Catalog({name: Source(name, COLUMNS, "ts") for name in NAMES})
SCANS = {name: Scan(name, "ts", "rowid") for name in NAMES}
WORK = 40_000
"""Units: about half a second."""
LONGEST = 100_000


def joined(count: int, on: str = "a{n}.k = m.id", kind: str = "LEFT JOIN") -> str:
    listed = "".join(f", a{n}.id AS a{n}" for n in range(1, count + 1))
    joins = "".join(f" {kind} a{n} ON {on.format(n=n)}" for n in range(1, count + 1))
    return f"SELECT m.id{listed} FROM m{joins}"


def length(rewriting: Rewriting) -> int:
    window = Window(at(3), at(9))
    return len(rewriting.incremental(window, {n: SCANS[n] for n in rewriting.sources}))


def at(micros: int) -> datetime:
    return ZERO + timedelta(microseconds=micros)


def test_the_text_grows_with_the_number_of_joins() -> None:
    lengths = {count: length(rewrite(joined(count), CATALOG)) for count in (4, 8, 12)}
    assert lengths[8] < LONGEST / 4
    assert lengths[12] - lengths[8] < 1.2 * (lengths[8] - lengths[4])


@pytest.mark.parametrize("on", ["a{n}.k = m.id", "a{n}.k = m.id AND now() < a{n}.due"])
def test_eight_joins_are_little_work(on: str) -> None:
    with bounded("eight"):
        rewriting = rewrite(joined(8, on), CATALOG)
        assert rewriting.strategy == "stages"
        assert len(rewriting.arms[0].blocks) == 1
        assert spent() < WORK
    assert length(rewriting) < LONGEST


def test_eight_joins_of_derived_tables_stay() -> None:
    steps = "".join(
        f", s{n} AS (SELECT k AS m_id, coalesce(id, 0) AS id FROM a{n} WHERE id > 0)"
        for n in range(1, 9)
    )
    listed = "".join(f", s{n}.id AS a{n}" for n in range(1, 9))
    joins = "".join(f" LEFT JOIN s{n} ON s{n}.m_id = s.id" for n in range(1, 9))
    sql = f"WITH s AS (SELECT id FROM m){steps} SELECT s.id{listed} FROM s{joins}"
    rewriting = rewrite(sql, CATALOG)
    assert (rewriting.strategy, len(rewriting.arms[0].blocks)) == ("stages", 1)
    assert length(rewriting) < LONGEST


def test_two_are_written_out() -> None:
    rewriting = rewrite(joined(2), CATALOG)
    assert (rewriting.strategy, len(rewriting.arms[0].blocks)) == ("anti_join", 4)


def test_beside_exists_they_are_written_out() -> None:
    sql = f"{joined(3)} WHERE m.id IN (SELECT k FROM a4)"
    assert len(rewrite(sql, CATALOG).arms[0].blocks) == 8


def found(sql: str, rows: dict[str, list[tuple[Any, ...]]]) -> list[list[tuple[Any, ...]]]:
    """The rows of the windows that end at 3 and at 9, with their first instants."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    rewriting = rewrite(sql, CATALOG)
    assert rewriting.strategy == "stages"
    for name in rewriting.sources:
        connection.execute(
            f"CREATE TABLE {name} (id INTEGER, k INTEGER, due TIMESTAMPTZ, ts TIMESTAMPTZ)"
        )
        for row in rows.get(name, []):
            values = [at(one) if place > 1 and one is not None else one
                      for place, one in enumerate(row)]  # fmt: skip
            connection.execute(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", values)
    scans = {name: SCANS[name] for name in rewriting.sources}
    answers = []
    for window in (Window(None, at(3)), Window(at(3), at(9))):
        rendered = rewriting.incremental(window, scans, "duckdb")
        got = connection.execute(rendered).fetchall()
        answers.append([(*row, (s - ZERO) // timedelta(microseconds=1)) for *row, s in got])
    return answers


def test_a_match_that_ends_leaves_its_row_without_one() -> None:
    sql = joined(3, "a{n}.k = m.id AND now() < a{n}.due")
    rows = {"m": [(1, None, None, 0)], "a1": [(10, 1, 5, 0)]}
    assert found(sql, rows) == [[(1, 10, None, None, 0)], [(1, None, None, None, 5)]]


def test_it_stays_without_one_until_the_next_match_only() -> None:
    sql = joined(3, "a{n}.k = m.id AND now() < a{n}.due")
    rows = {
        "m": [(1, None, None, 0)],
        "a1": [(10, 1, 5, 0), (11, 1, 9, 6)],
        "a2": [(20, 1, 9, 7)],
    }
    first, second = found(sql, rows)
    assert first == [(1, 10, None, None, 0)]
    assert (
        sorted(second, key=str)
        == [
            (1, 11, 20, None, 7),
            (1, 11, None, None, 6),
            (1, None, None, None, 5),
        ][:3]
    )


def test_a_row_is_joined_on_what_a_missing_one_leaves() -> None:
    sql = (
        "SELECT m.id, a1.id AS a1, a2.id AS a2, a3.id AS a3 FROM m LEFT JOIN a1 ON a1.k = m.id"
        " LEFT JOIN a2 ON a2.k = coalesce(a1.id, 7) LEFT JOIN a3 ON a3.k = m.id"
    )
    rows = {"m": [(1, None, None, 0)], "a2": [(20, 7, None, 5)]}
    assert found(sql, rows) == [[(1, None, None, None, 0)], [(1, None, 20, None, 5)]]
