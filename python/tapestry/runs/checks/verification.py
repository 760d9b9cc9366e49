"""The common part of verifying new rows against their definition, for every kind of model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from tapestry.errors import TargetChanged, VerificationFailed
from tapestry.runs.checks.checks import CheckResult
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.verification.check import ENOUGH, NOT_TOO_MUCH

VERIFICATION = (ENOUGH, NOT_TOO_MUCH)
"""Its two checks: is each row of the definition there, and is there no other?"""


class Verification(Protocol):
    """The way in which a kind of model verifies the staged rows of one run."""

    def verify(self, session: Session, model: Model, staged: str) -> list[CheckResult]:
        """Check the rows of ``staged``, which may stand behind FROM.

        Violations are results, not exceptions; so is an error of the engine.
        """


class Audited(NamedTuple):
    """The extent and results of an audit, and the error if somebody else wrote to the table."""

    t: datetime
    runs: int
    results: list[CheckResult]
    changed: TargetChanged | None = None


def unverified(model: Model, results: Sequence[CheckResult], staged: str) -> VerificationFailed:
    """Return the error of a run that publishes nothing, as its rows differ from the definition."""
    counts = [
        f"{result.violations} {'missing' if result.kind == ENOUGH else 'too many'}"
        for result in results
        if result.violations
    ]
    messages = [str(r.details["message"]) for r in results if r.details.get("message")]
    if not counts:
        return VerificationFailed(
            f"{model.name} could not be verified, nothing was published:"
            f" {' '.join(messages[0].split())[:300] if messages else ''}",
            where=model.file,
            hint="please report it; on_verify_failure: warn publishes unverified rows meanwhile",
        )
    return VerificationFailed(
        f"{model.name} differs from its query ({', '.join(counts)}):"
        f" {messages[0] if messages else ''}",
        where=model.file,
        hint=f"nothing was published, the rows stand in {staged}; tapestry_checks lists them all."
        " The mistake is of tapestry: please report it; on_verify_failure: warn publishes anyway",
    )
