"""``tapestry_queries``: what is read with suspicion, and what two writers do to it."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from tests.runs.fake_delta import FakeDelta
from tests.runs.fake_session import FakeSession

from tapestry.errors import StateUnreadable
from tapestry.instants import micros
from tapestry.runs.context.recall import Recall
from tapestry.runs.context.switches import Switches
from tapestry.runs.engine.glance import Glance
from tapestry.runs.engine.odd_rows import OddRow
from tapestry.runs.engine.session import Capabilities, Session
from tapestry.runs.tables import queries
from tapestry.runs.tables.queries import (
    COLUMNS,
    QueryRow,
    read_queries,
    readable_query,
    switch,
    write_queries,
)

TABLE = "s.tapestry_queries"
SINCE = datetime(2026, 1, 1, tzinfo=timezone.utc)
GOOD = {
    "id": "model.shop.a",
    "model": "s.a",
    "priority": 3,
    "active": False,
    "why": "it's broken",
    "since": micros(SINCE),
}
OFF = QueryRow("s.a", "model.shop.a", 3, SINCE, False, "it's broken")


def session_of(*rows: dict[str, Any], columns: dict[str, str] | None = None) -> FakeSession:
    delta = FakeDelta()
    delta.create(TABLE, columns or dict(COLUMNS), list(rows), {})
    return FakeSession(delta)


def test_a_row_is_read() -> None:
    assert read_queries(session_of(GOOD), TABLE) == {"s.a": OFF}


def test_there_is_no_table() -> None:
    assert read_queries(FakeSession(FakeDelta()), TABLE) == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"active": None},
        {"active": "off"},
        {"active": 0},
        {"priority": None},
        {"priority": 2.5},
        {"priority": 2**63},
        {"since": None},
        {"since": 2**62},
        {"why": 7},
        {"id": b"x"},
    ],
)
def test_an_odd_row_is_that_of_its_model_alone(changes: dict[str, Any]) -> None:
    other = {**GOOD, "model": "s.b"}
    found = read_queries(session_of({**GOOD, **changes}, other), TABLE)
    assert isinstance(found["s.a"], OddRow)
    assert isinstance(found["s.b"], QueryRow)
    with pytest.raises(StateUnreadable, match=r"whether s\.a is switched off cannot be read"):
        readable_query(found["s.a"])


@pytest.mark.parametrize("model", [None, "", 3])
def test_a_row_about_no_model_does_not_matter(model: object) -> None:
    assert read_queries(session_of({**GOOD, "model": model}), TABLE) == {}


def test_two_rows_of_a_model() -> None:
    assert read_queries(session_of(GOOD, GOOD), TABLE) == {"s.a": OFF}
    for rows in ((GOOD, {**GOOD, "active": True}), (GOOD, GOOD, {**GOOD, "priority": 1})):
        found = read_queries(session_of(*rows), TABLE)["s.a"]
        assert isinstance(found, OddRow)
        assert found.reason == "there are two rows of it"


class Refusing(Session):
    """A session whose statements fail, one after the other, with these errors; then they do not."""

    def __init__(self, *errors: str) -> None:
        self.errors, self.texts = list(errors), []

    def run(self, sql: str) -> None:
        """Execute a statement, or fail."""
        self.texts.append(sql)
        if self.errors and sql.startswith("MERGE"):
            raise RuntimeError(self.errors.pop(0))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What the table looks like: another format."""
        self.texts.append(sql)
        if sql.startswith("DESCRIBE DETAIL"):
            return [("parquet",)]
        return [(name, kind) for name, kind in COLUMNS.items()]


def test_a_writer_that_loses_a_race_writes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "sleep", lambda _: None)
    session = Refusing("[DELTA_CONCURRENT_APPEND]", "[TABLE_OR_VIEW_NOT_FOUND]")
    write_queries(session, TABLE, [OFF])
    begun = [text.split()[0] for text in session.texts]
    assert begun == ["MERGE", "MERGE", "CREATE", "DESCRIBE", "MERGE"]


def test_a_writer_that_always_loses_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "sleep", lambda _: None)
    lost = ["[DELTA_CONCURRENT_APPEND]"] * 6
    with pytest.raises(StateUnreadable, match="it is a parquet table"):
        write_queries(Refusing(*lost), TABLE, [OFF])


def test_a_run_changes_nothing_that_the_operator_wrote() -> None:
    session = Refusing()
    write_queries(session, TABLE, [OFF])
    (text,) = session.texts
    assert "THEN UPDATE SET q.id = w.id, q.priority = w.priority WHEN" in text


def switches(session: Session, recall: Recall | None = None) -> Switches:
    return Switches(TABLE, SINCE, recall or Recall())


def test_switches_of_an_invocation() -> None:
    session = session_of(GOOD, {**GOOD, "model": "s.b", "active": True})
    asked = switches(session)
    assert asked.off(session, "s.a") == OFF
    assert asked.off(session, "s.b") is None
    assert asked.off(session, "s.new") is None
    assert asked.skipped == {"s.a"}
    assert len(session.texts) == 1, "the table is read once"


class Written(FakeSession):
    """A session that keeps the statements that it cannot execute."""

    def __init__(self, delta: FakeDelta) -> None:
        super().__init__(delta)
        self.merged: list[str] = []

    def run(self, sql: str) -> None:
        """Keep a statement."""
        self.merged.append(sql)


def written(*rows: dict[str, Any], plans: dict[str, int]) -> list[str]:
    session = Written(session_of(*rows).delta)
    asked = switches(session)
    asked.off(session, "s.a")
    for model, priority in plans.items():
        asked.plans(model, "model.shop.a", priority)
    if asked.due(wrote=False):
        asked.write(session)
    return session.merged


def test_what_an_invocation_writes() -> None:
    odd = {**GOOD, "model": "s.odd", "active": None}
    plans = {"s.a": 3, "s.b": 4, "s.new": 3, "s.odd": 3}
    (merge,) = written(GOOD, {**GOOD, "model": "s.b"}, odd, plans=plans)
    assert "'s.b', CAST(4 AS BIGINT)" in merge
    assert "'s.new', CAST(3 AS BIGINT), true" in merge
    assert "'s.a'" not in merge
    assert "'s.odd'" not in merge
    assert written(GOOD, plans={"s.a": 3}) == [], "it says so already"


def seen(definition: str, version: int = 1) -> Glance:
    return Glance(TABLE, "id", None, f"at {version}", 1, 100, version, definition)


def looking(session: FakeSession, found: Glance) -> FakeSession:
    session.can = Capabilities(glance=lambda name: found if name == TABLE else None)
    return session


def test_a_table_that_says_that_all_is_on_is_not_read() -> None:
    session = looking(session_of(GOOD), seen('{"tapestry.all_on":"1"}'))
    asked = switches(session)
    assert asked.off(session, "s.a") is None
    asked.plans("s.a", "model.shop.a", 3)
    assert session.texts == []
    assert not asked.due(wrote=False), "an invocation that finds nothing new costs nothing"
    assert asked.due(wrote=True)


@pytest.mark.parametrize(
    "said", ["{}", '{"tapestry.all_on":"1"}', '{"tapestry.all_on":"12"}', '{"tapestry.all_on":""}']
)
def test_who_switches_off_by_hand_is_heard_at_once(said: str) -> None:
    """Whatever the table said before: its version is another one now."""
    session = Written(session_of(GOOD).delta)
    asked = switches(looking(session, seen(said, 2)))
    assert asked.off(session, "s.a") == OFF
    asked.plans("s.a", "model.shop.a", 3)
    assert not asked.due(wrote=True)
    asked.write(session)
    assert session.merged == [], "no mark says that all is on"


def test_what_is_all_on_is_marked_with_the_version_that_the_mark_makes() -> None:
    session = Written(session_of({**GOOD, "active": True}).delta)
    asked = switches(looking(session, seen("{}", 7)))
    assert asked.off(session, "s.a") is None
    asked.plans("s.a", "model.shop.a", 3)
    assert not asked.due(wrote=False)
    assert asked.due(wrote=True)
    asked.write(session)
    (marked,) = session.merged
    assert marked == (
        "ALTER TABLE `s`.`tapestry_queries` SET TBLPROPERTIES ('tapestry.all_on' = '8')"
    )


def test_a_process_reads_a_table_again_when_it_has_changed() -> None:
    recall, session = Recall(), session_of(GOOD)
    for version, reads in ((1, 1), (1, 1), (2, 2)):
        looking(session, seen("{}", version))
        assert switches(session, recall).off(session, "s.a") == OFF
        assert len(session.texts) == reads


def test_the_operator_writes_all_of_the_row() -> None:
    session = Refusing("[TABLE_OR_VIEW_NOT_FOUND]")
    switch(session, TABLE, OFF)
    begun = [text.split()[0] for text in session.texts]
    assert begun == ["MERGE", "CREATE", "DESCRIBE", "MERGE"]
    assert (
        "UPDATE SET q.id = w.id, q.priority = w.priority, q.active = w.active" in session.texts[0]
    )


def test_a_table_that_is_not_ours_switches_nothing_off_and_is_told_once() -> None:
    session = session_of(columns={"model": "string"})
    asked = switches(session)
    assert asked.off(session, "s.a") is None
    asked.plans("s.a", "model.shop.a", 0)
    (told,) = asked.warnings()
    assert told == (
        f"{TABLE} is not the table that runs made: it has no column id:"
        " no model counts as switched off"
    )
    assert asked.warnings() == ()
    assert not asked.due(wrote=True), "it is left alone"
