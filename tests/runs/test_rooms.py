"""How many modules of ``tapestry.runs`` one run visits: a reader of the code goes through them all.

One run that appends, planned and executed by a process that remembers nothing, with a sample of
its rows verified. The session knows Delta's tables and logs, and of a query over rows nothing.
"""

from __future__ import annotations

import re
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import FrameType
from typing import Any

import sqlglot
from sqlglot import exp
from tests.runs.fake_delta import FakeDelta
from tests.runs.fake_session import FakeSession

import tapestry.runs
from tapestry.instants import micros
from tapestry.runs.context.clock import Clock
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.kinds.registry import execute, parse_config, prepare
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.outcome import Outcome

MOST_ROOMS, MOST_RETURNS = 65, 396
"""So many they are today; they only fall."""
BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
ROOT = str(Path(tapestry.runs.__file__).parent)
COLUMNS = {"id": "int", "ts": "timestamp"}
ANSWERS = {"id": "int", "_matched_at": "timestamp"}


_WRITTEN = re.compile(
    r"^((?:CREATE (?:OR REPLACE )?TABLE .*? AS|INSERT INTO \S+ WITH \(.*?\) \([^)]*\))\n)SELECT.*",
    re.DOTALL,
)
_NO_ROWS = (
    f"SELECT * FROM VALUES (0, CAST('{BEGIN}' AS TIMESTAMP)) AS v(id, _matched_at) WHERE false"
)


class Rowless(FakeSession):
    """Tables as they are, their logs, and no row of any query."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Execute a statement and return its rows."""
        sql = _WRITTEN.sub(lambda found: found[1] + _NO_ROWS, sql)
        for form, answer in FORMS:
            if re.match(form, sql, re.DOTALL):
                return answer(self.delta)
        if sql.startswith("WITH"):
            return _of_no_rows(sql)
        try:
            return super().rows(sql)
        except NotImplementedError:
            return _of_no_rows(sql)


def _of_no_rows(sql: str) -> list[tuple[Any, ...]]:
    """What a query says of no rows at all: one row where it counts them, else none."""
    tree = sqlglot.parse_one(sql, read="spark")
    assert isinstance(tree, exp.Select), sql
    counts = [one.find(exp.Count) is not None for one in tree.expressions]
    return [tuple(0 if one else None for one in counts)] if any(counts) else []


def _source(delta: FakeDelta) -> list[tuple[Any, ...]]:
    told = [("", ""), ("# Detailed Table Information", ""), ("Provider", "delta")]
    return [*COLUMNS.items(), *told]


def _log(delta: FakeDelta) -> list[tuple[Any, ...]]:
    """The log of the source: its newest commit added a file without early rows."""
    newest = delta.table("s.messages").newest
    return [(newest.version, "WRITE", 0, 1, 0, 1, 0, None, '["f"]', "[]", 0, None, 0, 9)]


FORMS: list[tuple[str, Any]] = [
    ("DESCRIBE TABLE EXTENDED `s`.`messages`", _source),
    ("\nWITH log AS", _log),
    ("EXPLAIN|CREATE OR REPLACE TEMPORARY VIEW|CACHE|DROP VIEW", lambda _: []),
    (r".*SELECT MIN\(us\) FROM", lambda _: [(micros(BEGIN),)]),
    ("DESCRIBE QUERY", lambda _: [("id", "int", None)]),
]


class Walk:
    """The modules of runs that are visited meanwhile, and the returns from one to another."""

    def __init__(self) -> None:
        self.rooms: set[str] = set()
        self.returns = 0
        self._stack: list[str] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """One call or return, as ``sys.setprofile`` tells it."""
        name = frame.f_code.co_filename
        if not name.startswith(ROOT) or frame.f_code.co_name == "<module>":
            return
        room = name[len(ROOT) + 1 : -3]
        if event == "call":
            self.rooms.add(room)
            self._stack.append(room)
        elif event == "return" and self._stack:
            left = self._stack.pop()
            self.returns += bool(self._stack) and self._stack[-1] != left


def test_a_run_visits_few_rooms() -> None:
    delta = FakeDelta()
    session = Rowless(delta)
    delta.create("s.messages", COLUMNS, [{"id": 1, "ts": 5}], {})
    config = parse_config("continuous", {"verify": "sample"})
    sql = "SELECT id FROM s.messages WHERE id > 0"
    model = Model("target", "s.target", sql, config, {"s.messages": ("ts",)}, "target.sql")

    def run(seconds: int) -> Outcome:
        invocation = Invocation("i", Clock(BEGIN + timedelta(seconds=seconds)), "s.tapestry_state")
        return execute(session, prepare(session, model, invocation), invocation)

    assert run(10).action == "create"
    delta.foreign("s.messages", "WRITE")
    walk = Walk()
    sys.setprofile(walk)
    try:
        outcome = run(30)
    finally:
        sys.setprofile(None)
    assert (outcome.action, outcome.n, outcome.rows) == ("append", 2, 0)
    assert {result.kind for result in outcome.results} == {"enough", "not_too_much"}
    print(f"{len(walk.rooms)} modules, {walk.returns} returns:", *sorted(walk.rooms))
    assert len(walk.rooms) <= MOST_ROOMS
    assert walk.returns <= MOST_RETURNS
