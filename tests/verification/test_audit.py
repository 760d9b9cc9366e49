"""A table audited after all of its runs: right ones pass, each mistake is found in full."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timezone

import duckdb
import pytest
from tests.verification.mutants import MUTANTS
from tests.verification.stream import (
    BASE,
    CATALOG,
    QUERIES,
    STEP,
    Mutate,
    right,
    runs,
    scan,
    world,
)

from tapestry.verification.audit import Audit, PublishedHistory
from tapestry.verification.check import Result, Sample
from tapestry.verification.definition import Definition
from tapestry.verification.turns import turn

WINDOWS = 16
END = BASE + STEP * WINDOWS


def _audit(sql: str, mutate: Mutate) -> tuple[duckdb.DuckDBPyConnection, Callable[[], Audit]]:
    connection = world()
    for _ in runs(connection, sql, mutate, WINDOWS):
        pass
    scans = {name: scan(name, END) for name in ("m", "r")}
    definition = Definition.read(sql, CATALOG, scans, "duckdb")
    published = PublishedHistory("published", BASE, END)
    return connection, lambda: Audit(
        definition, published, lambda text: connection.execute(text).fetchall()
    )


def _samples(audit: Callable[[], Audit], count: int) -> list[Result]:
    found: list[Result] = []
    for n in range(count):
        ranges = turn(n, 4, BASE, None, END)
        found += audit().sample(Sample(ranges, str(n), rows=20))
    return found


@pytest.mark.parametrize(
    "sql",
    [
        "with m as (select id, k + 1 as k from m) select distinct k from m",
        "with w as (select k + 1 as k from m) select q.k from"
        " (with w as (select k + 10 as k from w) select distinct k from w) q",
        "select m.id from m where not exists"
        " (with r as (select parent + 1 as parent from r) select distinct parent from r"
        " where r.parent = m.id)",
    ],
)
def test_a_cte_may_have_the_name_of_what_it_reads(sql: str) -> None:
    """It is opened once: else the check asks for ``k + 2``, and a right run is not published."""
    _, audit = _audit(sql, right)
    results = audit().full()
    assert all(result.passed for result in results), [r.findings[:2] for r in results]
    assert any(result.checked_rows for result in results)


@pytest.mark.parametrize("name", QUERIES)
def test_right_tables_pass(name: str) -> None:
    """In full and in samples."""
    connection, audit = _audit(QUERIES[name], right)
    results = [*audit().full(), *_samples(audit, 4)]
    ((begun,),) = connection.execute("SELECT COUNT(DISTINCT _matched_at) FROM published").fetchall()
    assert results[0].instants == results[1].instants >= begun  # answers begin at some of them
    assert all(result.passed for result in results), [r.findings[:2] for r in results]
    assert any(result.checked_rows for result in results)


@pytest.mark.parametrize(
    ("mistake", "query"),
    [
        ("a branch is doubled", "a join"),
        ("late rows are never read", "an anti-join"),
        ("one row in twenty is lost", "two bounds"),
        ("_matched_at is 1 µs late", "gaps"),
        ("a value is wrong", "a left join"),
        ("an old value is delivered again", "distinct"),
    ],
)
def test_mistakes_are_found(mistake: str, query: str) -> None:
    """In full always, in one of a few samples too."""
    _, audit = _audit(QUERIES[query], MUTANTS[mistake])
    assert not all(result.passed for result in audit().full())
    assert not all(result.passed for result in _samples(audit, 8))


def test_findings_tell_the_instant_and_the_row() -> None:
    """A lost answer is shown with its values and its first instant."""
    connection, audit = _audit(QUERIES["two bounds"], right)
    (lost,) = connection.execute("SELECT id, v, _matched_at FROM published LIMIT 1").fetchall()
    connection.execute("DELETE FROM published WHERE id = ?", [lost[0]])
    enough, not_too_much = audit().full()
    (finding,) = enough.findings
    assert finding.reason == "missing"
    assert finding.values[0] == str(lost[0])
    assert finding.instant == lost[2].replace(tzinfo=timezone.utc)
    assert not_too_much.passed
