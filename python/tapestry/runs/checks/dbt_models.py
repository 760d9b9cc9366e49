"""Expectations of dbt's other materializations: table, incremental and view.

Rows that make a whole table (a table, an incremental model's first run) are staged, checked and
published like the new rows of a continuous model. A view is checked before it is made. For an
incremental model the batch is checked before it is added, and the whole table afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic
from uuid import uuid4

from tapestry.errors import ConfigurationError, ExpectationFailed
from tapestry.quoting import identifier, relation_name
from tapestry.runs.checks import checks, rejected, staging
from tapestry.runs.checks.checks import CheckResult, Findings
from tapestry.runs.checks.new_rows import NewRows
from tapestry.runs.engine.session import Session
from tapestry.runs.expectations.validate import Expected, Prepared, prepare
from tapestry.runs.model.model import Model
from tapestry.runs.sources.pins import newest_version
from tapestry.runs.tables.run_identity import RunIdentity
from tapestry.runs.tables.target import look

CORRECT = "correct the data, the query or the expectation, and run again"
KIND = "dbt"
"""The generation of a table that dbt's own materializations keep; n is the version that a batch
makes at least, and 0 for what the table was created with."""


@dataclass(frozen=True, kw_only=True)
class CheckedModel(Findings):
    """The results of checks of a model's rows; ``select`` gives those to be published.

    rows
        The checked rows; they replace those of the table, or are a ``batch`` to be added to it.
    """

    rows: NewRows
    select: str = ""
    error: ExpectationFailed | None = None


def stage_result(
    session: Session, model: Model, sql: str, run_id: str, batch: bool
) -> CheckedModel:
    """Stage the rows of a query, check them, keep the rejected ones; nothing is published here.

    ``batch``: they are added to an existing table, else they replace it. For a batch only
    conditions that keep rows out are checked. Raises the errors of ``prepare``.
    """
    new = _new_rows(session, model, sql, run_id, batch)
    if batch:
        rejected.tidy(session, replace(new.identity, n=new.identity.n - 1), None)
    attempt = uuid4().hex
    staged = staging.stage(session, new, attempt)
    results = checks.expectations(session, staged)
    if any(result.blocks for result in results):
        hint = f"look at the rows in {staged.name}, {CORRECT}"
        return CheckedModel(rows=new, results=tuple(results), error=_failure(new, results, hint))
    dropping = [r.name for r in results if r.on_violation == "drop" and r.violations]
    count = checks.dropped_rows(session, staged, results)
    if not batch:
        rejected.remove(session, model.relation)
    if dropping:
        rejected.reject(session, new, staged, dropping, "")
    select = staging.published(staged, new, dropping)
    return CheckedModel(
        rows=new, results=tuple(results), rejected_rows=count, staged=staged, select=select
    )


def check_query(session: Session, model: Model, sql: str, run_id: str) -> CheckedModel:
    """Check the rows of a query, such as a view's before it is made, in one pass.

    Raises ConfigurationError for an expectation that drops rows: a view keeps none.
    """
    for one in model.config.expectations:
        if one.on_violation == "drop":
            raise ConfigurationError(
                f"{one.name}: on_violation: drop needs a table, and {model.name} is a view",
                where=model.file,
                hint="write the condition into its query, or materialize it as a table",
            )
    new = _new_rows(session, model, sql, run_id, batch=False)
    return _counted(session, new, f"(\n{sql}\n)")


def check_table(
    session: Session, model: Model, run_id: str, before: CheckedModel | None
) -> CheckedModel:
    """Check all rows of a table; an expectation that drops new rows only warns here."""
    table = relation_name(model.relation)
    new = _new_rows(session, model, f"SELECT * FROM {table}", run_id, batch=True)
    expected = tuple(
        replace(one, expectation=replace(one.expectation, on_violation="warn"))
        if one.expectation.on_violation == "drop"
        else one
        for one in new.expected
    )
    found = _counted(session, replace(new, expected=expected), table)
    if before is None:
        return found
    dropped = {r.name: r for r in before.results if r.on_violation == "drop" and r.violations}
    return replace(
        found,
        results=tuple(dropped.get(result.name, result) for result in found.results),
        rejected_rows=before.rejected_rows,
    )


def only_blocking(model: Model) -> Model:
    """Return the model with only those conditions that keep rows out."""
    kept = tuple(e for e in model.config.expectations if e.on_violation != "warn" and not e.kind)
    kept += tuple(e for e in model.config.expectations if e.on_violation == "drop" and e.kind)
    return replace(model, config=replace(model.config, expectations=kept))


def _counted(session: Session, new: NewRows, relation: str) -> CheckedModel:
    """Check all conditions in one pass over a relation, the others by Great Expectations."""
    began = monotonic()
    conditions = [one for one in new.expected if one.condition]
    alias = identifier(new.model.name)
    errors: dict[str, str] = {}
    try:
        counts = _counts(session, new, conditions, f"{relation} AS {alias}")
    except Exception:
        errors = staging.culprits(session, f"{relation} AS {alias}", conditions)
        if not errors:
            raise
        conditions = [one for one in conditions if one.expectation.name not in errors]
        counts = _counts(session, new, conditions, f"{relation} AS {alias}")
    rows, _ = counts.pop("", (0, None))
    results = checks.results_of(new.expected, relation, rows, counts, errors, session)
    seconds = (monotonic() - began) / max(1, len(results))
    results = [replace(r, seconds=r.seconds or seconds) for r in results]
    blocked = any(result.blocks for result in results)
    told = "nothing was published" if new.creates else "its table has such rows"
    error = _failure(new, results, CORRECT, told) if blocked else None
    return CheckedModel(rows=new, results=tuple(results), error=error)


def _counts(
    session: Session, new: NewRows, conditions: Sequence[Prepared], relation: str
) -> dict[str, tuple[int, object]]:
    """Return the number of violating rows by name; "" counts all rows."""
    broken = f"concat(array(''), {staging.broken_names(conditions)})"
    return checks.count_broken(session, relation, broken, new.selected)


def _new_rows(session: Session, model: Model, sql: str, run_id: str, batch: bool) -> NewRows:
    described = session.rows(f"DESCRIBE QUERY {sql}")
    columns = tuple(str(row[0]) for row in described)
    rows = f"SELECT * FROM (\n{sql}\n) WHERE false"
    of = Expected(rows, model.name, columns, model.file)
    expected = prepare(session, model.config.expectations, of)
    there = look(session, model.relation) if batch else None
    version = newest_version(session, model.relation) if there is not None else -1
    return NewRows(
        model,
        RunIdentity(model.relation, KIND, version + 1, run_id),
        sql,
        selected=columns,
        columns=columns,
        expected=expected,
        creates=not batch,
    )


def _failure(
    new: NewRows,
    results: Sequence[CheckResult],
    hint: str,
    told: str = "nothing was published",
) -> ExpectationFailed:
    error = checks.failure(new.model, results, hint, told)
    assert isinstance(error, ExpectationFailed)
    return error
