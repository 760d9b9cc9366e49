"""The transactions of a log of changes in SQL, beside the log that is read literally."""

from __future__ import annotations

import random
import re
from collections import Counter
from datetime import timedelta, timezone
from typing import Any

import duckdb
import pytest
import sqlglot
from tests.rules.case import BEGIN, at_instants
from tests.rules.definitions import Commit, LogOf, inserted
from tests.rules.firing import transition_rows
from tests.rules.log_cases import FIRST, LOGGED, LogAuthor
from tests.rules.logs import LogReader
from tests.seeds import seeds

from tapestry.runs.kinds.rule import log_window
from tapestry.runs.kinds.rule.config import OPS, OpOfLog, RuleConfig
from tapestry.runs.kinds.rule.log_columns import log_columns
from tapestry.runs.kinds.rule.log_states import LogStates
from tapestry.runs.kinds.rule.log_window import LogWindow, SeenRows
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.pins import Pin, Pinned
from tapestry.runs.sources.transactions import CommitWindow, transition
from tapestry.sql.catalog import Column
from tapestry.sql.commits.transitions import TRANSACTION, TRANSITIONS

COLUMNS = tuple(Column(name, kind) for name, kind in LOGGED.items())
CONFIG = RuleConfig(
    changes="log", transaction="tx", commit_time="done", order=("seq",), key=("id",),
    op=OpOfLog("op", dict(zip(OPS, OPS, strict=True))),
)  # fmt: skip
NAMES = ", ".join(LOGGED)


class Tables:
    """The log with the load of each row, for statements of Spark that are executed by DuckDB."""

    def __init__(self) -> None:
        self.duckdb = duckdb.connect(config={"threads": 1})
        listed = ", ".join(f"{name} {kind}" for name, kind in LOGGED.items())
        self.duckdb.execute(f"CREATE TABLE all_log ({listed}, load BIGINT)")
        self.made = 0

    def load(self, version: int, rows: list[tuple[Any, ...]]) -> None:
        for row in rows:
            marks = ", ".join("?" * (len(row) + 1))
            self.duckdb.execute(f"INSERT INTO all_log VALUES ({marks})", [*row, version])

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        text = re.sub(
            r"`db`\.`log` VERSION AS OF (\d+)",
            rf"(SELECT {NAMES} FROM all_log WHERE load <= \1)",
            sql,
        )
        told = sqlglot.transpile(text, read="spark", write="duckdb")[0]
        return self.duckdb.execute(told.replace("TIMESTAMPTZ", "TIMESTAMP")).fetchall()

    def keep(self, select: str) -> str:
        self.made += 1
        view = f"view_{self.made}"
        self.rows(f"CREATE TABLE {view} AS {select}")
        return view


class Text:
    """A rule over the log, as far as a window asks."""

    def __init__(self, version: int) -> None:
        source = DeltaSource("db.log", COLUMNS, "id", "/nowhere")
        self.table = Pinned(source, Pin("id", version))
        self.name, self.updates, self.sources = "db.log", True, frozenset(TRANSITIONS)


@pytest.mark.parametrize("number", seeds(60))
def test_windows_find_the_transactions_of_the_log(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(number)
    tables, author = Tables(), LogAuthor(rng)
    columns = log_columns(CONFIG, DeltaSource("db.log", COLUMNS, "id", "/nowhere"), "")
    assert columns is not None
    monkeypatch.setattr(
        log_window, "loaded_rows",
        lambda _session, log, after: f"SELECT {NAMES}, load AS {log_window.LOAD} FROM all_log"
        f" WHERE load > {after} AND load <= {log.pin.version}",
    )  # fmt: skip
    monkeypatch.setattr(
        log_window, "log_states",
        lambda _session, _rule, _ordered, t, _seen: LogStates({}, {}, t),
    )  # fmt: skip
    begin = rng.choice((0, 0, -1))
    reader = LogReader("log", LogOf(), list(LOGGED), begin)
    commits = [Commit("log", 0, BEGIN, at_instants(inserted(*FIRST), BEGIN))]
    seen = SeenRows(begin, begin)
    now = 0
    tables.load(0, [row for c in commits[0].changes if (row := c.new)])
    for run in range(1, 5):
        for _ in range(rng.choice((0, 1, 2, 3))):
            now += rng.choice((1, 5, 20))
            load = author.load(now)
            commits.append(Commit("log", len(commits), BEGIN, at_instants(load.changes, BEGIN)))
            tables.load(len(commits) - 1, [row for c in commits[-1].changes if (row := c.new)])
        version, at = len(commits) - 1, BEGIN + timedelta(seconds=now + rng.choice((-30, 0, 0, 20)))
        t = at.replace(tzinfo=timezone.utc)
        loads = CommitWindow(Text(version).table.table, seen.low, ())
        later = t if seen.until is None else max(t, seen.until)
        window = LogWindow(tables, Text(version), columns, seen, loads, later)  # type: ignore[arg-type]
        changes = window.read_changes(tables, run)  # type: ignore[arg-type]
        expected = list(reader.transactions(commits, at))
        compare(tables, window, changes, expected, run)
        reached = window.reached()
        until = reached.own[log_window.SEEN]
        assert until == int(later.timestamp() * 1_000_000)
        seen = SeenRows(reached.own[log_window.LOW], reached.version, later)
        assert begin <= seen.low <= version


def compare(
    tables: Tables, window: LogWindow, changes: str, expected: list[Commit], run: int
) -> None:
    """The transition tables of each transaction; numbers begin with that of the run."""
    numbers = tables.rows(f"SELECT DISTINCT {TRANSACTION} FROM {window.ordered} ORDER BY 1")
    assert [int(one) >> 32 for (one,) in numbers] == [run] * len(expected)
    for (one,), transaction in zip(numbers, expected, strict=True):
        for name in TRANSITIONS:
            found = tables.rows(
                f"SELECT * FROM ({transition(name, changes, window.columns)})"
                f" WHERE {TRANSACTION} = {one}"
            )
            short = Counter(row[:7] for row in found)
            rows = transition_rows(transaction)[name]
            assert short == Counter(row[:7] for row in rows), (run, name)
