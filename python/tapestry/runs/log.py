"""``tapestry_runs``: one row a model and run, for people and reports; nothing depends on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tapestry.runs.errors_of_delta import already_exists, lost_race, not_found
from tapestry.runs.plan import Plan
from tapestry.runs.session import Session
from tapestry.runs.sources.literals import relation_name, string, timestamp
from tapestry.runs.state import pins_as_json

COLUMNS: Mapping[str, str] = {
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
}


@dataclass(frozen=True)
class Entry:
    """One run that committed."""

    plan: Plan
    rows: int | None
    seconds: float
    ended_at: datetime


def write_log(session: Session, table: str, invocation_id: str, entries: Sequence[Entry]) -> None:
    """Append an invocation's runs in one commit; the table is made at the first."""
    if not entries:
        return
    values = ", ".join(_values(invocation_id, entry) for entry in entries)
    inserted = f"INSERT INTO {relation_name(table)} ({', '.join(COLUMNS)}) VALUES {values}"
    try:
        session.run(inserted)
    except Exception as error:
        if not not_found(error):
            raise
        _create(session, table)
        session.run(inserted)


def _create(session: Session, table: str) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    try:
        session.run(
            f"CREATE TABLE IF NOT EXISTS {relation_name(table)} ({columns}) USING delta"
            f" COMMENT {string('tapestry: a log of runs; nothing depends on it')}"
        )
    except Exception as error:
        if not lost_race(error) and not already_exists(error):
            raise


def _values(invocation_id: str, entry: Entry) -> str:
    plan, row = entry.plan, entry.plan.row
    assert row is not None
    texts = {
        "invocation_id": string(invocation_id),
        "model": string(row.model),
        "generation": string(row.generation),
        "n": str(row.n),
        "run_id": string(row.run_id),
        "action": string(plan.action),
        "tau": "NULL" if row.tau is None else timestamp(row.tau),
        "t": timestamp(row.t),
        "pins": string(pins_as_json(row.pins)),
        "strategy": string(plan.strategy),
        "new_rows": "NULL" if entry.rows is None else str(entry.rows),
        "late_rows": str(plan.late_rows),
        "null_rows": str(plan.null_rows),
        "seconds": f"{entry.seconds:.3f}",
        "ended_at": timestamp(entry.ended_at),
    }
    return f"({', '.join(texts[name] for name in COLUMNS)})"
