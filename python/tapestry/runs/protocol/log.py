"""``tapestry_runs`` and ``tapestry_checks``: logs of runs, for people and reports.

Nothing depends on them: delete them and runs go on. An invocation writes each in one commit; a
table of an older version gets the columns that it lacks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial

from tapestry.quoting import string, timestamp
from tapestry.runs.checks.checks import CheckResult, Findings
from tapestry.runs.checks.verification import VERIFICATION
from tapestry.runs.engine.own_tables import OwnTable, append_own
from tapestry.runs.engine.session import ReadVolume, Session
from tapestry.runs.protocol.plan import Planned
from tapestry.runs.protocol.refreshed import Refreshed
from tapestry.runs.tables.run_identity import RunIdentity
from tapestry.runs.tables.state_row import pins_as_json
from tapestry.runs.tables.target import Commit, Written

PARTS = ("plan", "claim", "rows", "commit", "confirm")
"""plan: what is to be done; claim: the run gets its number; rows: they are computed and checked;
commit: they are written into the table; confirm: the state says that they are there."""
RUNS: Mapping[str, str] = {
    "invocation_id": "string",
    "model": "string",
    "generation": "string",
    "n": "bigint",
    "run_id": "string",
    "action": "string",
    "tau": "timestamp",
    "t": "timestamp",
    "pins": "string",
    "strategy": "string",
    "new_rows": "bigint",
    "late_rows": "bigint",
    "null_rows": "bigint",
    "seconds": "double",
    "ended_at": "timestamp",
    "rejected_rows": "bigint",
    "verification": "string",
    "files_read": "bigint",
    "bytes_read": "bigint",
    "files_written": "bigint",
    "bytes_written": "bigint",
    "horizon": "timestamp",
    "message": "string",
    "sql": "string",
    "pins_before": "string",
    "refresh": "string",
    "reason": "string",
    "reason_about": "string",
    "inserted_rows": "bigint",
    "updated_rows": "bigint",
    "deleted_rows": "bigint",
    "bytes_full": "bigint",
    "bytes_changed": "bigint",
    **{f"{part}_seconds": "double" for part in PARTS},
}
CHECKS: Mapping[str, str] = {
    "invocation_id": "string",
    "model": "string",
    "generation": "string",
    "n": "bigint",
    "run_id": "string",
    "kind": "string",
    "name": "string",
    "on_violation": "string",
    "level": "string",
    "status": "string",
    "checked_rows": "bigint",
    "violations": "bigint",
    "details": "string",
    "seconds": "double",
    "ended_at": "timestamp",
}


@dataclass(frozen=True)
class Entry:
    """One run that committed, or that failed for a ``reason``.

    run
        The plan over a window; None where dbt built the model.
    parts
        Seconds by part (``PARTS``), of those that the run has come to.
    """

    identity: RunIdentity
    found: Findings
    seconds: float
    run: Planned | None = None
    reading: ReadVolume = field(default_factory=ReadVolume)
    commit: Commit | None = None
    reason: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)
    ended_at: datetime = field(default_factory=partial(datetime.now, timezone.utc))

    @property
    def verification(self) -> str:
        """The result of the verification: off | passed | warned | failed."""
        statuses = [r for r in self.found.results if r.kind in VERIFICATION]
        if not statuses:
            return "off"
        if any(result.blocks for result in statuses):
            return "failed"
        return "passed" if all(r.status == "pass" for r in statuses) else "warned"


def write_log(session: Session, table: str, invocation_id: str, entries: Sequence[Entry]) -> None:
    """Append an invocation's runs to ``tapestry_runs``; the table is made at the first."""
    comment = "tapestry: a log of runs; nothing depends on it"
    rows = [_run(invocation_id, entry, entry.run) for entry in entries if entry.run is not None]
    append_own(session, OwnTable(table, RUNS, comment, RUNS), rows)


def write_checks(
    session: Session, table: str, invocation_id: str, entries: Sequence[Entry]
) -> None:
    """Append the checks of an invocation's runs to ``tapestry_checks``."""
    comment = "tapestry: a log of checks; nothing depends on it"
    rows = [
        _check(invocation_id, entry, result) for entry in entries for result in entry.found.results
    ]
    append_own(session, OwnTable(table, CHECKS, comment, CHECKS), rows)


def _identity(invocation_id: str, entry: Entry) -> dict[str, str]:
    run = entry.identity
    return {
        "invocation_id": string(invocation_id),
        "model": string(run.model),
        "generation": string(run.generation),
        "n": str(run.n),
        "run_id": string(run.run_id),
        "ended_at": timestamp(entry.ended_at),
    }


def _run(invocation_id: str, entry: Entry, run: Planned) -> dict[str, str]:
    row, figures, failed = run.row, run.told.figures, entry.reason
    before = "" if row.before is None else pins_as_json(row.before.pins)
    written = Written() if entry.commit is None else entry.commit.written
    return {
        **_identity(invocation_id, entry),
        "action": string("failed" if failed else run.action),
        "tau": _instant(row.since),
        "t": timestamp(row.after.t),
        "pins": string(pins_as_json(row.after.pins)),
        "strategy": string(figures.strategy),
        "new_rows": "0" if failed else _number(written.rows),
        "late_rows": str(figures.late_rows),
        "null_rows": str(figures.null_rows),
        "seconds": f"{entry.seconds:.3f}",
        "rejected_rows": str(entry.found.rejected_rows),
        "verification": string(entry.verification),
        "files_read": _number(entry.reading.files),
        "bytes_read": _number(entry.reading.bytes),
        "files_written": _number(written.files),
        "bytes_written": _number(written.size),
        "horizon": _instant(figures.horizon),
        "message": _text(failed),
        "sql": string(run.rows.select),
        "pins_before": _text(before),
        **_refreshed(figures.refreshed, failed=bool(failed)),
        **{f"{part}_seconds": _seconds(entry.parts.get(part)) for part in PARTS},
    }


def _refreshed(run: Refreshed, failed: bool) -> dict[str, str]:
    """Return how the table was updated; a run that failed has changed no row of it."""
    rows = {"inserted": run.inserted, "updated": run.updated, "deleted": run.deleted}
    return {
        "refresh": _text(run.refresh),
        "reason": _text(run.reason),
        "reason_about": _text(run.about),
        **{f"{name}_rows": _number(None if failed else n) for name, n in rows.items()},
        "bytes_full": _number(run.bytes_full),
        "bytes_changed": _number(run.bytes_changed),
    }


def _check(invocation_id: str, entry: Entry, result: CheckResult) -> dict[str, str]:
    return {
        **_identity(invocation_id, entry),
        "kind": string(result.kind),
        "name": string(result.name),
        "on_violation": string(result.on_violation),
        "level": "NULL" if result.level is None else string(result.level),
        "status": string(result.status),
        "checked_rows": _number(result.checked_rows),
        "violations": str(result.violations),
        "details": string(json.dumps(result.details, default=str, ensure_ascii=False)),
        "seconds": f"{result.seconds:.3f}",
    }


def _instant(instant: datetime | None) -> str:
    return "NULL" if instant is None else timestamp(instant)


def _text(value: str | None) -> str:
    return string(value) if value else "NULL"


def _seconds(value: float | None) -> str:
    return "NULL" if value is None else f"{value:.3f}"


def _number(value: int | None) -> str:
    return "NULL" if value is None else str(value)
