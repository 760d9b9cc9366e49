"""The content of the page as plain data, for scripts: `tapestry report --json`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tapestry.report.acted import ActionRecord
from tapestry.report.standing import ModelStanding, Trouble, Verdict
from tapestry.runs.tables.action_batch import DEAD, FAILED


def summary(verdict: Verdict, project: str, page: str | None = None) -> dict[str, Any]:
    """JSON-ready: instants are ISO 8601 in UTC, lengths are seconds, sizes are bytes."""
    return {
        "well": verdict.well,
        "state": verdict.state,
        "sentence": verdict.sentence,
        "project": project,
        "made_at": _iso(verdict.made_at),
        "last_run": _iso(verdict.last_run),
        "page": page,
        "troubles": [_trouble(trouble) for trouble in verdict.all_troubles],
        "models": [_model(model, verdict.made_at) for model in verdict.models],
    }


def _trouble(trouble: Trouble) -> dict[str, Any]:
    return {
        "model": trouble.model or None,
        "what": trouble.title,
        "serious": trouble.serious,
        "since": _iso(trouble.since),
        "why": trouble.why,
        "do": trouble.do,
    }


def _model(model: ModelStanding, now: datetime) -> dict[str, Any]:
    run, behind = model.last, model.behind(now)
    return {
        "model": model.name,
        "state": model.state,
        "switched_off": None if model.off is None else model.off.why,
        "complete_until": _iso(model.complete_until),
        "behind_seconds": None if behind is None else behind.total_seconds(),
        "replayed": model.replayed,
        "runs": len(model.runs),
        "verified": model.verified(),
        "batches": None if model.acted is None else _batches(model.acted),
        "last_run": None
        if run is None
        else {
            "action": run.action,
            "tau": _iso(run.tau),
            "t": _iso(run.t),
            "ended_at": _iso(run.ended_at),
            "horizon": _iso(run.horizon),
            "strategy": run.strategy,
            "new_rows": run.came,
            "refresh": run.refresh,
            "reason": run.reason,
            "inserted_rows": run.inserted_rows,
            "updated_rows": run.updated_rows,
            "deleted_rows": run.deleted_rows,
            "late_rows": run.late_rows,
            "null_rows": run.null_rows,
            "rejected_rows": run.rejected_rows,
            "seconds": run.seconds,
            "files_read": run.files_read,
            "bytes_read": run.bytes_read,
            "files_written": run.files_written,
            "bytes_written": run.bytes_written,
        },
    }


def _batches(acted: ActionRecord) -> dict[str, Any]:
    usual, longest = acted.usual_wait, acted.longest_wait
    return {
        "done": len(acted.done),
        "firings": acted.firings,
        "rows_a_batch": acted.rows_a_batch,
        "seconds_a_batch": acted.seconds_a_batch,
        "wait_seconds": None if usual is None else usual.total_seconds(),
        "longest_wait_seconds": None if longest is None else longest.total_seconds(),
        "failed": len(acted.with_event(FAILED)),
        "dead": len(acted.with_event(DEAD)),
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
