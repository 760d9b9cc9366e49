"""What a run counts as dbt's adapter response, so that run_results.json carries it."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.contracts.connection import AdapterResponse

from tapestry.runs.plan import Plan
from tapestry.runs.run import Outcome


@dataclass
class ContinuousResponse(AdapterResponse):
    """dbt's response and what a run of a continuous model counts besides.

    checks: of each kind of status how many; violations: for each expectation that is broken the
    number of rows.
    """

    rejected_rows: int = 0
    late_rows: int = 0
    null_rows: int = 0
    strategy: str = ""
    checks: dict[str, int] = field(default_factory=dict)
    violations: dict[str, int] = field(default_factory=dict)


def response_of(plan: Plan, outcome: Outcome) -> ContinuousResponse:
    """What a run did."""
    statuses = [result.status for result in outcome.results]
    return ContinuousResponse(
        _message=str(outcome),
        code=plan.action,
        rows_affected=outcome.rows,
        rejected_rows=outcome.rejected_rows,
        late_rows=plan.late_rows,
        null_rows=plan.null_rows,
        strategy=plan.strategy,
        checks={status: statuses.count(status) for status in sorted(set(statuses))},
        violations={r.name: r.violations for r in outcome.results if r.violations},
    )
