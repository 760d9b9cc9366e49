"""The checks of a run before it publishes, and their results.

Conditions are evaluated as the rows are staged; one pass over the names of broken conditions counts
them all. Great Expectations is run only for expectations that have no SQL condition.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from tapestry import words
from tapestry.errors import AssumptionWrong, ExpectationFailed, TapestryError
from tapestry.quoting import identifier
from tapestry.runs.checks.new_rows import WholeTable
from tapestry.runs.checks.staging import Staged
from tapestry.runs.engine.session import Session
from tapestry.runs.expectations import great
from tapestry.runs.expectations.validate import Prepared
from tapestry.runs.model.declare import Expectation
from tapestry.runs.model.model import Model

SHOWN = 1_000
"""So many characters of a row that breaks an expectation are kept."""
PASS, WARN, FAIL, ERROR = "pass", "warn", "fail", "error"


@dataclass(frozen=True)
class CheckResult:
    """The result of one check of a run.

    kind
        expectation | enough | not_too_much | assume.
    level
        sample or full, of a verification; else None.
    status
        pass | warn | fail | error. ``blocks``: nothing is published.
    violations
        Rows (or pairs of rows) that break it; ``checked_rows`` None: not counted.
    details
        Values that help to find them: a row, instants, a message; JSON values.
    """

    kind: str
    name: str
    on_violation: str
    status: str
    checked_rows: int | None
    violations: int
    details: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    level: str | None = None
    expectation: Expectation | None = None

    @property
    def blocks(self) -> bool:
        """Whether the result keeps the run from publishing."""
        if self.status == ERROR:
            return self.on_violation != "warn"
        return self.status == FAIL

    def __str__(self) -> str:
        if self.status == ERROR:
            return f"{self.name} (error: {str(self.details.get('message', ''))[:200]})"
        if self.expectation is not None and self.expectation.kind and not self.violations:
            return self.name
        return f"{self.name} ({words.counted(self.violations, 'row')})"


@dataclass(frozen=True)
class Findings:
    """The results of the checks of new rows.

    attempt
        The execution that checked them, if rejected rows are marked by it.
    """

    results: tuple[CheckResult, ...] = ()
    rejected_rows: int = 0
    attempt: str = ""
    staged: Staged | None = None


def why_not_asked(error: Exception) -> str:
    """Return the first paragraph of the engine's error, for a check that could not be computed."""
    return str(error).strip().split("\n\n")[0][:600]


def assumptions(session: Session, counts: Sequence[tuple[str, str]]) -> list[CheckResult]:
    """Check the author's assumptions about the sources among the rows of this run's window."""
    results = []
    for text, count in counts:
        began = monotonic()
        ((broken,),) = session.rows(count)
        results.append(
            CheckResult(
                "assume",
                text,
                "fail",
                FAIL if broken else PASS,
                None,
                int(broken or 0),
                seconds=monotonic() - began,
            )
        )
    return results


def expectations(
    session: Session, staged: Staged, whole: WholeTable | None = None
) -> list[CheckResult]:
    """Return the results of all expectations on the staged rows, in the author's order.

    Those on all rows check the whole table, where the staged rows are a part of it.
    """
    if not staged.prepared:
        return []
    assert staged.rows is not None
    began = monotonic()
    conditions = any(one.condition for one in staged.prepared)
    counts: dict[str, tuple[int, Any]] = {}
    if staged.rows and conditions:
        counts = count_broken(session, staged.relation, identifier(staged.broken), staged.columns)
    seconds = (monotonic() - began) / max(1, len(staged.prepared))
    columns = ", ".join(identifier(column) for column in staged.columns)
    rows = f"SELECT {columns} FROM {staged.relation}"
    if whole is not None:
        rows += f" WHERE NOT {staged.having(staged.drops)}"
        rows += f" UNION ALL SELECT {columns} FROM {whole.stays}" if whole.stays else ""
    results = results_of(staged.prepared, f"({rows})", staged.rows, counts, staged.errors, session)
    return [replace(r, seconds=r.seconds or seconds) for r in results]


def results_of(
    prepared: Sequence[Prepared],
    relation: str,
    rows: int,
    counts: Mapping[str, tuple[int, Any]],
    errors: Mapping[str, str],
    session: Session,
) -> list[CheckResult]:
    """Return the results of counted conditions, and of Great Expectations, which is run here."""
    results = {
        **_of_conditions([one for one in prepared if one.condition], rows, counts, errors),
        **_of_great_expectations(
            session, relation, rows, [one for one in prepared if not one.condition]
        ),
    }
    return [results[one.expectation.name] for one in prepared]


def dropped_rows(session: Session, staged: Staged, results: Sequence[CheckResult]) -> int:
    """Return the number of staged rows that break an expectation that drops them."""
    broken = [r for r in results if r.on_violation == "drop" and r.violations]
    if len(broken) <= 1:
        return sum(result.violations for result in broken)
    having = staged.having([result.name for result in broken])
    ((count,),) = session.rows(f"SELECT count_if({having}) FROM {staged.relation}")
    return int(count)


def sentences(results: Sequence[CheckResult]) -> tuple[str, ...]:
    """Return a sentence for each broken check that lets the rows pass, or drops them."""
    return tuple(
        f"{result.kind} {result} is not met" + ": dropped" * (result.on_violation == "drop")
        for result in results
        if result.status in (WARN, ERROR)
    )


def failure(
    model: Model, results: Sequence[CheckResult], hint: str, told: str = "nothing was published"
) -> TapestryError:
    """Return the error of a run that ends because of ``results``."""
    blocking = [result for result in results if result.blocks]
    wrong = [result for result in blocking if result.kind == "assume"]
    if wrong:
        pairs = words.counted(wrong[0].violations, "pair")
        return AssumptionWrong(
            f"assume: {wrong[0].name} does not hold: {pairs} of rows that came now break it",
            where=model.file,
            hint="remove it, or allow for the difference in it; no answer was written",
        )
    listed = ", ".join(map(str, blocking[:5])) + (", …" if len(blocking) > 5 else "")
    count = "an expectation" if len(blocking) == 1 else f"{len(blocking)} expectations"
    return ExpectationFailed(
        f"{model.name} breaks {count}, {told}: {listed}",
        where=model.file,
        hint=hint,
    )


def _of_conditions(
    conditions: Sequence[Prepared],
    rows: int,
    counts: Mapping[str, tuple[int, Any]],
    errors: Mapping[str, str],
) -> dict[str, CheckResult]:
    results = {}
    for one in conditions:
        wanted = one.expectation
        count, row = counts.get(wanted.name, (0, None))
        error = errors.get(wanted.name)
        details: dict[str, Any] = {"condition": one.condition}
        if error is not None:
            details["message"] = error
        if row is not None:
            details["row"] = row
        results[wanted.name] = CheckResult(
            "expectation",
            wanted.name,
            wanted.on_violation,
            ERROR if error is not None else _status(wanted, count == 0),
            rows,
            count,
            details,
            expectation=wanted,
        )
    return results


def count_broken(
    session: Session, relation: str, broken: str, columns: Sequence[str]
) -> dict[str, tuple[int, Any]]:
    """Return, by name in the arrays ``broken`` of a relation, the number of rows and one row.

    The name "" stands for all rows and shows none.
    """
    row = f"struct({', '.join(identifier(column) for column in columns)})"
    shown = f"max(IF(_name = '', NULL, left(to_json(_row), {SHOWN})))"
    rows = session.rows(
        f"SELECT _name, count(*), {shown} FROM"
        f" (SELECT explode({broken}) AS _name, {row} AS _row FROM {relation}) GROUP BY _name"
    )
    return {str(name): (int(count), _row(shown)) for name, count, shown in rows}


def _row(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text  # cut off


def _status(wanted: Expectation, good: bool) -> str:
    if good:
        return PASS
    return FAIL if wanted.on_violation == "fail" else WARN


def _of_great_expectations(
    session: Session, relation: str, rows: int, others: Sequence[Prepared]
) -> dict[str, CheckResult]:
    if not others:
        return {}
    frame_of = session.can.frame
    assert frame_of is not None  # else `validate` has refused these
    frame = frame_of(f"SELECT * FROM {relation}")
    results = {}
    wants = [one.expectation for one in others]
    for wanted, found in zip(wants, great.run(frame, wants), strict=True):
        details: dict[str, Any] = {"result": found.result.get("result", {})}
        if found.error:
            details["message"] = found.error
        results[wanted.name] = CheckResult(
            "expectation",
            wanted.name,
            wanted.on_violation,
            ERROR if found.error else _status(wanted, found.success),
            rows if found.checked_rows is None else found.checked_rows,
            found.violations,
            details,
            found.seconds,
            expectation=wanted,
        )
    return results
