"""A model's text is read once, from the plan of a run over its checks to what is shown of it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any

import pytest
from tests.runs.fake_world import TARGET, FakeWorld, at

from tapestry.names import ROW_ID
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.after import preview
from tapestry.runs.kinds.continuous.query import read_query
from tapestry.runs.kinds.continuous.window.question import question_of
from tapestry.runs.kinds.registry import kind_called
from tapestry.runs.protocol.claiming import first_row
from tapestry.runs.protocol.standing import Standing
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.pins import Pin, Pinned, Pins
from tapestry.runs.tables.state_row import Position
from tapestry.sql import Column, Scan, View, static_answer
from tapestry.sql.read import parse
from tapestry.sql.read import read_query as reading
from tapestry.verification.definition import Definition

COLUMNS = tuple(Column(*one.split()) for one in ("id int", "parent int", "ts timestamp"))
VIEW = "select id, parent, ts from s.messages where parent is not null"
READ: dict[str, Callable[..., Any]] = {
    "parse": parse.refuse_read_otherwise,
    "inline_views": reading.inline_views,
    "resolve_names": reading.resolve_names,
    "output_names": reading.output_names,
    "audit_places": reading.audit_places,
}


class Known(Pins):
    """The pins of a world with one table and a view over it."""

    def of(self, session: Session, name: str) -> Pinned | View:
        if name == "s.answers":
            return View(name, VIEW)
        table = DeltaSource(name, COLUMNS, "source", "")
        return Pinned(table, Pin("source", 0))


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Count the calls of what reads a text, whoever calls."""
    names: dict[CodeType, str] = {one.__code__: name for name, one in READ.items()}
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in names:
            calls[names[frame.f_code]] += 1

    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        ("rows", "select id, parent, now() as seen from {} where now() < ts + interval 1 day"),
        ("groups", "select parent, count(*) as n from {} group by parent"),
        ("limit", "select id, parent from {} where now() > ts order by id limit 3"),
        ("arms", "select id from {0} union all select parent from {0} where parent > 3"),
    ],
)
@pytest.mark.parametrize(("relation", "texts"), [("s.messages", 1), ("s.answers", 2)])
def test_every_pass_over_a_text_runs_once(
    monkeypatch: pytest.MonkeyPatch, name: str, sql: str, relation: str, texts: int
) -> None:
    """For a plan, its checks, an audit, the static answer and what is explained."""
    monkeypatch.setattr(preview, "as_spark_reads", lambda *_: [])
    # sql: the text of a model; the comment lets it be one that nobody has read
    text = f"{sql.format(relation, relation)} -- {name} {relation}"
    world = FakeWorld()
    model = replace(world.model(text, verify="full"), arrivals={"s.messages": ("ts",)})
    invocation = world.invocation(10)
    invocation.pins = Known()  # type: ignore[assignment]
    view = f"{VIEW} -- {name}"
    monkeypatch.setattr(sys.modules[__name__], "VIEW", view)
    scans = {"s.messages": Scan("s.messages", "ts", ROW_ID)}
    with counting() as calls:
        query = read_query(world.session, model, invocation, text, None)
        after = Position(at(10), query.pins, query.canonical)
        row = first_row(model, Standing(None, None), after)
        assert question_of(model, query, row, scans) is not None
        assert Definition.read(text, query.relations.catalog, scans).reads
        static_answer(text, query.relations.catalog, at(10), scans)
        explained = kind_called("continuous").explain(
            world.session, model, invocation, stored=False
        )
    assert explained.refusal is None
    assert explained.steps
    assert calls == Counter(dict.fromkeys(READ, 1) | {"parse": texts})
    assert TARGET not in query.pins
