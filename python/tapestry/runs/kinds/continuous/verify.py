"""Checks a run's staged rows against the definition before they are published.

Semantics, section 5: with the author's query and the static answer only (``tapestry.verification``
cannot import the rewriting). This module chooses how much to check; the turn follows from n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any

from tapestry.names import MATCHED_AT
from tapestry.runs.checks.checks import ERROR, FAIL, PASS, WARN, CheckResult, why_not_asked
from tapestry.runs.checks.verification import VERIFICATION
from tapestry.runs.engine.instants import show
from tapestry.runs.engine.session import Session, planned_once
from tapestry.runs.kinds.continuous.begins import begins
from tapestry.runs.kinds.continuous.known.published_rows import published_rows
from tapestry.runs.kinds.continuous.window.question import Question
from tapestry.runs.model.model import Model
from tapestry.verification.check import Check, Finding, Result, Sample
from tapestry.verification.chosen_rows import RunRows
from tapestry.verification.events import opening

SHOWN = 20
"""So many findings of a kind are kept with their rows."""
WORDS = {
    "missing": "is an answer at {instant} and was not delivered",
    "early": "was an answer at {instant}, before its _matched_at {matched}",
    "absent": "is no answer at its _matched_at {matched}",
    "twice": "comes twice",
    "outside": "has a _matched_at outside of the window: {matched}",
    "unread": "is an answer at {instant} by the query's own text, which was read otherwise",
    "misread": "is no answer at {instant} by the query's own text, which was read otherwise",
    "not an answer": "is not so often an answer that begins at {matched}",
}


@dataclass(frozen=True)
class AnswersVerified:
    """The verification of a run's new answers."""

    question: Question

    def verify(self, session: Session, model: Model, staged: str) -> list[CheckResult]:
        """Check the staged rows; findings are results, not exceptions.

        ``staged`` may stand behind FROM: the select list, ``_matched_at``, ``_key``.
        """
        question = self.question
        row, config = question.row, model.config

        def ask() -> tuple[Result, Result]:
            definition = question.definition
            low = begins(row).began or opening(definition, session.rows, row.after.t)
            start = begins(row).begin or low
            rows = RunRows(staged, start, row.since, row.after.t)

            def rows_of(text: str) -> list[tuple[Any, ...]]:
                # sql: a statement of the check
                return session.rows(question.sharing.applied(text))

            columns = [*question.columns, MATCHED_AT]
            check = Check(definition, rows, rows_of, lambda: published_rows(session, row, columns))
            with planned_once(session, definition.joins_nothing):
                if config.verify == "full":
                    return check.full()
                ranges = question.turn(config.verify_share, low)
                # What is shared has the rows for the ranges that were known before.
                elsewhere = 0 if question.sharing.relations else Sample.elsewhere
                seed = f"{row.generation} {row.n}"
                shared = question.turn_rows
                return check.sample(
                    Sample(ranges, seed, elsewhere=elsewhere, turn=row.n, turn_rows=shared)
                )

        return results_of(ask, config.verify, config.on_verify_failure, question.columns)


def verified(question: Question | None) -> AnswersVerified | None:
    """Return the verification of the rows of a question; None: they are not verified."""
    return None if question is None else AnswersVerified(question)


def results_of(
    ask: Callable[[], tuple[Result, Result]], level: str, on_failure: str, columns: Sequence[str]
) -> list[CheckResult]:
    """Execute a comparison and return its results; an error while asking is one of them."""
    began = monotonic()
    try:
        found = ask()
    except Exception as error:
        # What cannot be asked is no pass: the engine's own errors are results too.
        message = why_not_asked(error)
        return [_error(kind, level, on_failure, message) for kind in VERIFICATION]
    seconds = (monotonic() - began) / 2
    failed = WARN if on_failure == "warn" else FAIL
    return [
        CheckResult(
            result.kind,
            result.kind.replace("_", " "),
            on_failure,
            PASS if result.passed else failed,
            result.checked_rows,
            result.violations,
            _details(result, columns),
            seconds,
            level,
        )
        for result in found
    ]


def sentence(finding: Finding, columns: Sequence[str]) -> str:
    """Return a description of what is wrong with one row."""
    row = ", ".join(f"{c} = {v}" for c, v in zip(columns, finding.values, strict=False))
    words = WORDS[finding.reason].format(
        instant=_shown(finding.instant), matched=_shown(finding.matched_at)
    )
    return f"({row[:200]}) {words}"


def _details(result: Result, columns: Sequence[str]) -> dict[str, Any]:
    details: dict[str, Any] = {"instants_checked": result.instants}
    if result.own_text:
        details["own_text"] = result.own_text
    if result.findings:
        details["message"] = sentence(result.findings[0], columns)
        details["instants"] = sorted({_shown(f.instant) for f in result.findings if f.instant})
        details["rows"] = [
            {
                "reason": finding.reason,
                "instant": _shown(finding.instant),
                "matched_at": _shown(finding.matched_at),
                "key": finding.key,
                "row": dict(zip(columns, finding.values, strict=False)),
            }
            for finding in result.findings[:SHOWN]
        ]
    return details


def _shown(instant: datetime | None) -> str:
    return "" if instant is None else show(instant)


def _error(kind: str, level: str, on_failure: str, message: str) -> CheckResult:
    name = kind.replace("_", " ")
    return CheckResult(kind, name, on_failure, ERROR, None, 0, {"message": message}, level=level)
