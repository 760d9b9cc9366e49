"""Puts the counts of a run into dbt's adapter response, and so into run_results.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.contracts.connection import AdapterResponse

from tapestry.errors import ConfigurationError
from tapestry.names import SWITCHED_OFF
from tapestry.runs.checks.checks import CheckResult
from tapestry.runs.checks.dbt_models import CheckedModel
from tapestry.runs.context.switches import Switches
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import schedule_of
from tapestry.runs.protocol.outcome import Outcome
from tapestry.runs.protocol.plan import Decided
from tapestry.runs.query.relations import plain


@dataclass
class CheckedResponse(AdapterResponse):
    """dbt's response with the counts of checks.

    checks: number of checks by status; violations: number of violating rows by broken check.
    """

    rejected_rows: int = 0
    checks: dict[str, int] = field(default_factory=dict)
    violations: dict[str, int] = field(default_factory=dict)


@dataclass
class RunResponse(CheckedResponse):
    """The response for a run of a model of ours, with further counts."""

    late_rows: int = 0
    null_rows: int = 0
    strategy: str = ""
    refresh: str = ""
    reason: str = ""
    inserted_rows: int | None = None
    updated_rows: int | None = None
    deleted_rows: int | None = None


def response_of(plan: Decided, outcome: Outcome) -> RunResponse:
    """Return the response for a run of a model of ours."""
    refreshed = plan.told.figures.refreshed
    return RunResponse(
        _message=str(outcome),
        code=outcome.action,
        rows_affected=outcome.rows,
        rejected_rows=outcome.rejected_rows,
        checks=_statuses(outcome.results),
        violations=_violations(outcome.results),
        late_rows=plan.told.figures.late_rows,
        null_rows=plan.told.figures.null_rows,
        strategy=plan.told.figures.strategy,
        refresh=refreshed.refresh,
        reason=refreshed.reason,
        inserted_rows=refreshed.inserted,
        updated_rows=refreshed.updated,
        deleted_rows=refreshed.deleted,
    )


def response_of_checked(checked: CheckedModel, message: str) -> CheckedResponse:
    """Return the response of dbt's own materialization, with the counts of checks."""
    counts = [f"{checked.rejected_rows} rejected"] * bool(checked.rejected_rows)
    warned = sum(r.status in ("warn", "error") for r in checked.results)
    counts += [f"{warned} warned"] * bool(warned)
    return CheckedResponse(
        _message=", ".join([message, *counts]),
        code=message,
        rejected_rows=checked.rejected_rows,
        checks=_statuses(checked.results),
        violations=_violations(checked.results),
    )


def _statuses(results: Sequence[CheckResult]) -> dict[str, int]:
    statuses = [result.status for result in results]
    return {status: statuses.count(status) for status in sorted(set(statuses))}


def _violations(results: Sequence[CheckResult]) -> dict[str, int]:
    return {result.name: result.violations for result in results if result.violations}


def skipped(
    session: Session, switches: Switches, node: Mapping[str, Any], noted: bool
) -> RunResponse | None:
    """Return the response for a model that is switched off; None: it is to be run.

    ``noted``: the model is to be noted in the table. Raises StateUnreadable for a row of it that
    our runs have not written.
    """
    model = plain(node["relation_name"])
    off = switches.off(session, model)
    if noted:
        try:
            priority = schedule_of(node["config"]).priority
        except ConfigurationError:
            return None  # whoever plans the run says what is wrong
        switches.plans(model, str(node.get("unique_id") or ""), priority)
    if off is None:
        return None
    why = " ".join(off.why.split())
    return RunResponse(_message=f"switched off: {why}", code=SWITCHED_OFF, rows_affected=0)
