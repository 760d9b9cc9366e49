"""The record as plain values: one `Run` a model and run, one `RecordedCheck` a check of a run.

The tables grow columns from version to version, so every column but the model's name may be
missing: what is not there is None, and the report leaves it out instead of guessing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

from tapestry.names import CHECKS_TABLE, DELIVERIES_TABLE, RUNS_TABLE
from tapestry.report.acted import ActionRecord
from tapestry.report.kept import TableBetween
from tapestry.report.rows import (
    CHECK_KEY,
    RUN_KEY,
    WAITING_KEY,
    Readings,
    Unread,
    parse_record,
    parse_waiting,
)
from tapestry.runs.tables.queries import QueryRow

CLOCKS_DIFFER = timedelta(days=1)
"""A run on another machine may have ended so long after now, by its clock."""
FAILED = "failed"
CREATE = "create"
BROKEN = ("fail", "error")
VERIFICATION_KINDS = ("enough", "not_too_much")

DELIVERY_COLUMNS = ("model", "sink", "m", "event", "noted_at")
"""Read of ``tapestry_deliveries``, which is there where a model delivers."""


def _columns(kind: type[Any]) -> tuple[str, ...]:
    # sql: the names of fields, which this file writes
    return tuple(one.name for one in fields(kind))


@dataclass(frozen=True)
class LogRow:
    """A row of a log: which run it is of; ``ended_at`` is by the clock on the wall."""

    model: str
    invocation_id: str = ""
    run_id: str = ""
    generation: str = ""
    ended_at: datetime | None = None


@dataclass(frozen=True)
class Run(LogRow):
    """One run of one model; its window is (tau, t].

    ``horizon`` is the smallest t among the continuous models upstream, None where there is none.
    ``refresh`` says how a table was brought up to date of which rows go out, too; ``reason`` why by
    the whole answer.
    """

    action: str = ""
    t: datetime | None = None
    tau: datetime | None = None
    horizon: datetime | None = None
    n: int | None = None
    new_rows: int | None = None
    late_rows: int | None = None
    null_rows: int | None = None
    rejected_rows: int | None = None
    files_read: int | None = None
    bytes_read: int | None = None
    files_written: int | None = None
    bytes_written: int | None = None
    inserted_rows: int | None = None
    updated_rows: int | None = None
    deleted_rows: int | None = None
    bytes_full: int | None = None
    seconds: float | None = None
    strategy: str | None = None
    verification: str | None = None
    refresh: str | None = None
    reason: str | None = None
    message: str | None = None
    reason_about: str | None = None

    @property
    def came(self) -> int | None:
        """The rows that came in, without those that replaced others."""
        return self.new_rows if self.inserted_rows is None else self.inserted_rows

    @property
    def kept(self) -> str:
        """The way the table was updated, and its reason; '' if rows are only added.

        >>> Run("s.m", refresh="full", reason="NO_KEY").kept, Run("s.m").kept
        ('full: NO_KEY', '')
        """
        about = f" ({self.reason_about})" if self.reason_about else ""
        return f"{self.refresh or ''}{f': {self.reason}' if self.reason else ''}{about}"

    @property
    def failed(self) -> bool:
        """Whether it published nothing."""
        return self.action == FAILED

    @property
    def when(self) -> datetime:
        """The instant by which runs are ordered: the end of the run, else of its window."""
        return self.ended_at or self.t or datetime.min.replace(tzinfo=timezone.utc)


RUN_COLUMNS = _columns(Run)
"""Read of ``tapestry_runs``: not the pins; the SQL is read for one run a model only."""


@dataclass(frozen=True)
class RecordedCheck(LogRow):
    """One check of one run: an expectation, an `assume`, or one half of the verification."""

    status: str = ""
    n: int | None = None
    checked_rows: int | None = None
    violations: int | None = None
    seconds: float | None = None
    kind: str = ""
    name: str = ""
    on_violation: str | None = None
    level: str | None = None
    details: str | None = None

    @property
    def broken(self) -> bool:
        """Whether it did not hold, or could not be carried out."""
        return self.status in BROKEN

    @property
    def when(self) -> datetime:
        """The instant by which checks are ordered."""
        return self.ended_at or datetime.min.replace(tzinfo=timezone.utc)

    def message(self) -> str:
        """The text of ``details``: its message, else a line for each key."""
        if not self.details:
            return ""
        try:
            details = json.loads(self.details)
        except (ValueError, RecursionError):
            return self.details
        if not isinstance(details, Mapping):
            return self.details
        if details.get("message"):
            return str(details["message"])
        return "\n".join(f"{name}: {_flat(value)}" for name, value in details.items())


CHECK_COLUMNS = _columns(RecordedCheck)


@dataclass(frozen=True)
class Waiting:
    """A sink of a model that lacks its newest batch, first sent at ``since``."""

    model: str
    sink: str
    since: datetime


@dataclass(frozen=True)
class Record:
    """The record of the past: runs and checks, oldest first; the newest SQL of a model.

    ``limited`` says that older runs exist and were not read; ``waiting`` are sinks that lack
    something; ``queries`` is what the operator says of each model; ``unread`` is what of the tables
    no run can have written; ``kept`` are the memories that stand between sources and models;
    ``actions`` are the batches of each action.
    """

    runs: tuple[Run, ...] = ()
    checks: tuple[RecordedCheck, ...] = ()
    sql: Mapping[str, str] = field(default_factory=dict)
    limited: bool = False
    waiting: tuple[Waiting, ...] = ()
    queries: Mapping[str, QueryRow] = field(default_factory=dict)
    unread: tuple[Unread, ...] = ()
    kept: tuple[TableBetween, ...] = ()
    actions: Mapping[str, ActionRecord] = field(default_factory=dict)

    @classmethod
    def from_rows(
        cls,
        runs: Iterable[Mapping[str, Any]],
        checks: Iterable[Mapping[str, Any]] = (),
        waiting: Iterable[Mapping[str, Any]] = (),
        now: datetime | None = None,
    ) -> Record:
        """Build a record from rows by column name, in any order; columns may be missing or unknown.

        Instants are datetimes, or microseconds since 1970. Rows that no run can have written by
        ``now`` are left out, and told in ``unread``.

        >>> Record.from_rows([{"model": "s.m", "new_rows": 3, "colour": "red"}]).runs[0].new_rows
        3
        """
        latest = (now or datetime.now(timezone.utc)) + CLOCKS_DIFFER
        logs = [Readings(name, latest) for name in (RUNS_TABLE, CHECKS_TABLE, DELIVERIES_TABLE)]
        run, check = partial(parse_record, Run), partial(parse_record, RecordedCheck)
        ran = [Run(**v) for v in logs[0].read(runs, run, RUN_KEY)]
        checked = [RecordedCheck(**v) for v in logs[1].read(checks, check, CHECK_KEY)]
        waits = [Waiting(**v) for v in logs[2].read(waiting, parse_waiting, WAITING_KEY)]
        return cls(
            tuple(sorted(ran, key=lambda run: run.when)),
            tuple(sorted(checked, key=lambda check: check.when)),
            waiting=tuple(waits),
            unread=tuple(one for log in logs for one in log.left_out),
        )


def _flat(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
