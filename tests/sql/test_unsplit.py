"""Over little tables a run looks for what is new without branches: the same answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import duckdb
import pytest
from sqlglot import exp, parse_one
from tests.sql.database import in_utc

from tapestry.sql import Catalog, Column, Rewriting, Scan, Source, Window, rewrite

COLUMNS = tuple(
    Column(name, kind) for name, kind in [("id", "int"), ("parent", "int"), ("ts", "timestamp")]
)
CATALOG = Catalog({name: Source(name, COLUMNS, "ts") for name in ("messages", "votes")})
BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
PAIR = "from messages m, messages r where r.parent = m.id"
QUERIES = {
    # name: query; reads of tables in branches; without
    "a join": (f"select m.id, r.id as r {PAIR}", 4, 2),
    "three tables": (f"select m.id, s.id as s {PAIR} and s.parent = r.id".replace(
        " where", ", messages s where"), 9, 3),
    "one table": ("select id from messages where parent > 3", 1, 1),
    "one bound implies the other": (f"select m.id {PAIR} and r.ts >= m.ts", 2, 2),
    "by value": (f"select distinct m.id {PAIR}", 6, 2),
    "one table by value": ("select distinct parent from messages", 2, 1),
    "an anti-join": (
        f"select m.id, r.id as r {PAIR} and not exists"
        " (select 1 from votes v where v.id = m.id and v.parent < 9)",
        7,
        3,
    ),
    "what comes due": (f"select m.id {PAIR} and m.ts < now() - interval 3 hours", 4, 2),
    "alternatives": (f"select m.id {PAIR} and (m.id > 4 or r.ts < now() - interval 5 hours)", 8, 4),
    "the instant itself": (f"select distinct m.id, now() as seen {PAIR}", 6, 2),
    "two tables": ("select m.id from messages m, votes v where v.parent = m.id", 4, 2),
}  # fmt: skip


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    """Rows with NULLs, in arrivals too, ties and copies; every ninth one of them is late."""
    connection = in_utc()
    for name, seed in (("messages", 1), ("votes", 5)):
        connection.execute(
            f"CREATE TABLE {name} AS SELECT *, ts + to_hours(CASE WHEN hash(id) % 9 = 0 THEN 30"
            f" ELSE 0 END) AS arr FROM (SELECT nullif(n % 20, 7)::int AS id,"
            f" nullif(hash(n * {seed}) % 20, 3)::int AS parent, CASE WHEN n % 13 > 0 THEN"
            " TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_hours((n // 2)::int) END AS ts"
            " FROM range(120) AS t(n))"
        )
    return connection


def _scans(*, little: bool, late: bool = False) -> dict[str, Scan]:
    return {
        name: Scan(name, "arr" if late else "ts", "rowid", late, little)
        for name in ("messages", "votes")
    }


def _of(rewriting: Rewriting, scans: dict[str, Scan]) -> dict[str, Scan]:
    return {name: scans[name] for name in rewriting.sources}


@pytest.mark.parametrize("late", [False, True], ids=["in time", "late rows"])
@pytest.mark.parametrize("title", QUERIES)
def test_little_or_not_the_answers_are_the_same(
    title: str, late: bool, database: duckdb.DuckDBPyConnection
) -> None:
    rewriting, delivered = rewrite(QUERIES[title][0], CATALOG), 0
    for begin in range(0, 100, 20):
        window = Window(BEGIN + timedelta(hours=begin), BEGIN + timedelta(hours=begin + 20))
        for keyed in (False, True):
            one, other = (
                Counter(
                    database.execute(
                        rewriting.incremental(
                            window, _of(rewriting, scans), "duckdb", few=little, keyed=keyed
                        )
                    ).fetchall()
                )
                for little in (True, False)
                for scans in (_scans(little=little, late=late),)
            )
            assert one == other
            delivered += one.total()
    assert delivered


@pytest.mark.parametrize("title", QUERIES)
def test_how_often_tables_are_read(title: str) -> None:
    query, branches, unsplit = QUERIES[title]
    rewriting = rewrite(query, CATALOG)
    assert _reads(rewriting, _scans(little=False)) == branches
    assert _reads(rewriting, _scans(little=True)) == unsplit


def test_one_large_table_is_reason_enough_for_branches() -> None:
    rewriting, scans = rewrite(QUERIES["two tables"][0], CATALOG), _scans(little=True)
    scans["votes"] = replace(scans["votes"], little=False)
    assert _reads(rewriting, scans) == 4


def test_all_of_history_is_one_branch_in_any_case() -> None:
    for title, (query, _, _) in QUERIES.items():
        rewriting = rewrite(query, CATALOG)
        texts = {
            rewriting.incremental(Window(None, BEGIN), _of(rewriting, _scans(little=little)))
            for little in (False, True)
        }
        assert len(texts) == 1, title


def _reads(rewriting: Rewriting, scans: dict[str, Scan]) -> int:
    """How often a run names a table."""
    window = Window(BEGIN, BEGIN + timedelta(days=1))
    tree = parse_one(rewriting.incremental(window, _of(rewriting, scans)), dialect="spark")
    return sum(one.name.startswith("read_") for one in tree.find_all(exp.Table))
