"""A function's text, its deadline, and what becomes of what it returns, without Spark."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import current_thread
from typing import Any

import pytest

from dbt.adapters.tapestry.nodes import with_triggers
from tapestry.errors import ActionFailed, ActionTimedOut
from tapestry.quoting import Sql
from tapestry.runs.engine.session import Capabilities, Session
from tapestry.runs.engine.stop_after import stop_after
from tapestry.runs.kinds.action.python_text import named_relations
from tapestry.runs.kinds.action.returned_rows import ReturnedTable
from tapestry.runs.kinds.action.within import within

COMPILED = """
def model(dbt, session):
    refs = {"mine": "`not`.`dbt`"}
    return dbt.ref("r")


def ref(*args, **kwargs):
    refs = {"other.q": "`s`.`q`", "r": "`far`.`r`"}
    return refs


def source(*args, dbt_load_df_function):
    sources = {"market.stocks": "`s`.`stocks`"}
    return sources
"""


class FakeTable(Session):
    """A table of three columns, and one key of the returned rows that comes twice."""

    def __init__(self, twice: tuple[Any, ...] | None = None) -> None:
        self.twice = twice

    def run(self, sql: str) -> None:
        raise AssertionError(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        if sql.startswith("DESCRIBE"):
            return [("Id", "int", None), ("v", "decimal(9,2)", None), ("note", "string", None)]
        return [] if self.twice is None else [self.twice]


def returned(*columns: tuple[str, str], merge_on: tuple[str, ...] = ()) -> ReturnedTable:
    return ReturnedTable("models/a.py", Sql("`v`"), columns, "s.t", merge_on)


def test_what_a_text_names() -> None:
    """Only what dbt has written counts, whatever the author's text looks like."""
    assert named_relations(COMPILED) == {
        "other.q": "`s`.`q`",
        "r": "`far`.`r`",
        "market.stocks": "`s`.`stocks`",
    }
    assert named_relations("def model(dbt, session): ...") == {}


def test_the_rules_among_what_is_named() -> None:
    """A rule that is deferred to is named where it is read; tables and others are none."""

    def node(kind: str, name: str, deferred: str = "") -> dict[str, Any]:
        defer = {"relation_name": deferred} if deferred else None
        return {
            "config": {"materialized": kind}, "relation_name": name, "defer_relation": defer,
        }  # fmt: skip

    graph = {
        "nodes": {
            "a": node("rule", "`s`.`r`", "`far`.`r`"),
            "b": node("table", "`s`.`q`"),
            "c": node("rule", "`s`.`unread`"),
        },
        "sources": {},
    }
    own = {"language": "python", "depends_on": {"nodes": ["a", "b", "c", "source.x"]}}
    marked = with_triggers(own, graph, COMPILED)
    assert marked == COMPILED + '\n# /* triggered_by ["far.r"] */\n'
    assert with_triggers({**own, "language": "sql"}, graph, "select 1") == "select 1"


class Stoppable(Session):
    """A session that notes which thread has begun what may be stopped, and when it was."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.stopped: list[str] = []
        self.can = Capabilities(stop_after=lambda seconds: stop_after(seconds, self.marked()))

    @contextmanager
    def marked(self) -> Iterator[Callable[[], None]]:
        name = current_thread().name
        self.begun.append(name)
        yield lambda: self.stopped.append(name)


def test_a_deadline() -> None:
    own, second = Stoppable(), timedelta(seconds=1)
    assert within(second, lambda: 3, own) == within(timedelta(0), lambda: 3, own) == 3
    with pytest.raises(TimeoutError, match="the service"):
        within(second, lambda: _raise(TimeoutError("the service")), own)
    with pytest.raises(ActionFailed, match="ended by SystemExit"):
        within(second, lambda: sys.exit(1), own)
    assert own.begun == ["tapestry-action"] * 3
    assert not own.stopped
    began = time.monotonic()
    with pytest.raises(ActionTimedOut, match="not done within"):
        within(second / 5, lambda: time.sleep(5), own)
    time.sleep(0.2)
    assert own.stopped == ["tapestry-action"]
    assert time.monotonic() - began < 4


def _raise(error: Exception) -> None:
    raise error


def test_the_statements() -> None:
    rows = returned(("ID", "int"), ("v", "double"))
    assert (
        rows.statement(FakeTable()) == "INSERT INTO `s`.`t` (`Id`, `v`) SELECT `ID`, `v` FROM `v`"
    )
    merged = returned(("ID", "int"), ("v", "double"), merge_on=("id",)).statement(FakeTable())
    assert merged == (
        "MERGE INTO `s`.`t` AS t USING `v` AS s ON t.`Id` <=> s.`ID`"
        " WHEN MATCHED THEN UPDATE SET `v` = s.`v`"
        " WHEN NOT MATCHED THEN INSERT (`Id`, `v`) VALUES (s.`ID`, s.`v`)"
    )
    keys = returned(("id", "int"), merge_on=("id",)).statement(FakeTable())
    assert "UPDATE" not in keys


@pytest.mark.parametrize(
    ("columns", "merge_on", "twice", "says"),
    [
        ([("id", "int"), ("w", "int")], (), None, "a column w, and s.t has none"),
        ([("id", "int"), ("ID", "int")], (), None, "two columns Id"),
        ([("id", "string")], (), None, "string as Id, and s.t has int"),
        ([("id", "decimal(9,2)")], (), None, "decimal"),
        ([("v", "int")], ("id",), None, "no column id, which merge_on names"),
        ([("id", "int")], ("id",), (7, 2), "2 rows with id = 7"),
        ([("id", "int")], ("id",), (None, 3), "3 rows with id = None"),
    ],
)
def test_rows_that_do_not_fit(
    columns: list[tuple[str, str]],
    merge_on: tuple[str, ...],
    twice: tuple[Any, ...] | None,
    says: str,
) -> None:
    with pytest.raises(ActionFailed, match=says):
        returned(*columns, merge_on=merge_on).statement(FakeTable(twice))
