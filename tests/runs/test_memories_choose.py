"""Does a memory pay? By what a run's new rows say, and by estimates of seconds."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from tapestry.runs.engine.session import Session
from tapestry.runs.memories import choose
from tapestry.runs.memories.ask import MemoryRequest
from tapestry.runs.memories.choose import by_itself, served_too, weakest_first, weigh
from tapestry.runs.memories.definition import MemoryDefinition, MemorySide
from tapestry.runs.memories.find import InPlace
from tapestry.runs.memories.log import MemoryLog
from tapestry.runs.memories.state import Cover, MemoryState
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.pins import Pin
from tapestry.sql import Catalog, Column, Source, Window, rewrite

COLUMNS = tuple(
    Column(*one.split()) for one in ("id int", "parent int", "kind int", "ts timestamp")
)
NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
PAIRS = "select a.id from db.t a join db.t b on b.parent = a.id where a.kind = 1"
NEW = "select a.id from db.t a where a.kind = 1"


class Counted(Session):
    """Says how many rows are new and how many of them a memory would hold; ``by`` its text."""

    def __init__(self, rows: int, held: int, by: dict[str, int] | None = None) -> None:
        self.answer, self.texts, self.by = (rows, held), list[str](), by or {}

    def run(self, sql: str) -> None:
        raise AssertionError(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        self.texts.append(sql)
        held = [count for part, count in self.by.items() if part in sql]
        return [(self.answer[0], held[0]) if held else self.answer]


def request(sql: str, size: int, tau: datetime | None = NOW - timedelta(days=1)) -> MemoryRequest:
    rewriting = rewrite(sql, Catalog({"db.t": Source("db.t", COLUMNS, "ts")}))
    use = rewriting.uses[0]
    table = DeltaSource("db.t", COLUMNS, "id", "/t", size=size)
    side = MemorySide(table, Pin("id", 7), COLUMNS[-1], use.conditions)
    wanted, window = MemoryDefinition((side,), "db", ("UTC",)), Window(tau, NOW)
    log = MemoryLog("db")
    return MemoryRequest("db.m", (use,), wanted, False, InPlace(), window, rewriting, log)


@pytest.fixture(autouse=True)
def files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "look", lambda session, name: None)


GIB = 2**30


@pytest.mark.parametrize(
    ("sql", "size", "counted", "models", "reason"),
    [
        (PAIRS, GIB, (10_000, 10), 1, ""),
        (PAIRS, GIB, (10_000, 1_001), 1, "NOT_SELECTIVE"),
        (PAIRS, GIB, (99, 0), 1, "NOT_MEASURED"),
        (NEW, GIB, (10_000, 10), 1, "RANGES_PRUNE"),
        (PAIRS, 64 * 2**20, (10_000, 10), 1, "DOES_NOT_PAY"),
        (PAIRS, 64 * 2**20, (10_000, 10), 5, ""),
    ],
)
def test_what_pays(sql: str, size: int, counted: tuple[int, int], models: int, reason: str) -> None:
    weighed = weigh(Counted(*counted), [request(sql, size)] * models)
    assert weighed.reason == reason


def test_the_share_is_of_the_rows_of_the_window() -> None:
    session = Counted(200, 20)
    weighed = weigh(session, [request(PAIRS, GIB, None), request(PAIRS, GIB)])
    (text,) = session.texts
    assert weighed.share == 0.1
    assert "count_if((`kind` = 1))" in text
    assert "`ts` > TIMESTAMP '2026-02-28 00:00:00" in text
    assert "VERSION AS OF 7" in text


def test_groups_are_weighed_too() -> None:
    """Such a query is asked beside what is known of its answers."""
    groups = "select a.parent, count(*) as n from db.t a where a.kind = 1 group by a.parent"
    assert weigh(Counted(10_000, 10), [request(groups, GIB)]).reason in ("", "RANGES_PRUNE")


def test_a_first_run_has_no_window_to_count_in() -> None:
    assert weigh(Counted(200, 20), [request(PAIRS, GIB, None)]).reason == "NOT_MEASURED"


def above(least: int, size: int = GIB, more: str = "") -> MemoryRequest:
    return request(PAIRS.replace("a.kind = 1", f"a.kind > {least}{more}"), size)


def test_each_comes_before_those_that_it_could_serve() -> None:
    requests = [above(7), above(5), above(7, more=" and a.parent = 3"), request(PAIRS, GIB)]
    groups = {one.signature: [one] for one in requests}
    assert weakest_first(groups) == [requests[n].signature for n in (1, 0, 2, 3)]


@pytest.mark.parametrize(
    ("size", "mine", "theirs", "served"),
    [
        (GIB, 400, 100, True),
        (GIB, 410, 100, False),  # more than four times as large
        (GIB, 310, 1, True),  # of 32 MiB or less
        (GIB, 330, 1, False),
    ],
)
def test_the_weaker_one_does_for_both(size: int, mine: int, theirs: int, served: bool) -> None:
    few, other = above(7, size), request(PAIRS, size)
    others = {one.signature: [one] for one in (few, other)}
    session = Counted(10_000, 0, {"> 5)": mine, "> 7)": theirs})
    assert list(served_too(session, [above(5, size)], others)) == [few.signature] * served


def test_others_that_it_serves_let_it_pay() -> None:
    alone, size = above(5), 64 * 2**20
    session = Counted(10_000, 10)
    assert weigh(session, [above(5, size)]).reason == "DOES_NOT_PAY"
    assert weigh(session, [above(5, size)], [above(7, size)] * 4).reason == ""
    assert weigh(session, [alone]).reason == ""


@pytest.mark.parametrize(
    ("held", "reason"), [(32 * 2**20, None), (4 * 2**20 + 32 * 2**20, ""), (None, None)]
)
def test_one_served_by_a_large_memory_asks_for_its_own(
    held: int | None, reason: str | None
) -> None:
    kept = None if held is None else MemoryState("g", (Cover(1, 0, ((7, GIB),)),), held)
    served = replace(above(5), own=above(7).wanted, found=InPlace("(x)", kept=kept))
    found = list(by_itself(served))
    assert (found == []) is (reason is None)
    for one in found:
        assert one.wanted == above(7).wanted
        assert (one.own, one.found.relation) == (None, "")
        assert weigh(Counted(10_000, 10), [one] * 100).reason == reason
        assert weigh(Counted(10_000, 900), [one] * 100).reason == "DOES_NOT_PAY"
