"""Compares a table of somebody else's with its model's query, before it is adopted.

The rows that a run would build anew up to t are compared with those of the table as bags
(duplicates count), over the select list. A hand-written incremental model typically *misses* rows
that came late or crossed the edge of two runs, and has *extra* rows that it loaded twice or kept
after the source had changed. Nothing is written here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from tapestry.errors import ConfigurationError, StateMissing
from tapestry.instants import from_micros
from tapestry.quoting import Sql, identifier, relation_name
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.instants import show
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.kind import Kind
from tapestry.runs.protocol.plan import Planned
from tapestry.runs.protocol.standing import stand
from tapestry.runs.sources.pins import newest_version
from tapestry.runs.tables.target import look

EXAMPLES = 5


@dataclass(frozen=True)
class Differences:
    """Rows on one side only: their number, and some of them as column -> value."""

    rows: int = 0
    examples: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class AdoptionComparison:
    """A table compared with all answers up to t.

    version
        The newest version of the table: its content stays readable there.
    missing, extra
        Answers that the table lacks, and rows of it that are no answers (or stand there too often).
    missing_from
        The least first instant of an answer that it lacks.
    early, late
        With the column that says when a row came in: rows that came before they were answers, and
        how many seconds after its first instant one came at most (None: none came after).
    other_columns
        Columns of the table that are not in the select list: an adopted table does not have them.
    """

    model: Model
    t: datetime
    version: int
    rows: int
    answers: int
    missing: Differences
    extra: Differences
    missing_from: datetime | None = None
    early: int | None = None
    late: float | None = None
    other_columns: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether the table holds exactly the answers."""
        return not self.missing.rows and not self.extra.rows


def compare(
    session: Session, kind: Kind, model: Model, invocation: Invocation, arrived: str | None = None
) -> AdoptionComparison:
    """Compare a model's table with its answers up to the invocation's instant.

    ``arrived`` is the column of the table that says when a row came in.
    Raises ConfigurationError where the table is not there, lacks a column of the select list, or
    belongs to a run of this model; Refusal for a query that cannot be kept exactly.
    """
    target = look(session, model.relation)
    if target is None:
        raise ConfigurationError(
            f"there is no table {model.relation} to adopt",
            where=model.file,
            hint=f"dbt run --select {model.name} makes it",
        )
    _refuse_own(session, model, invocation)
    planned = _refresh(session, kind, model, invocation)
    columns = [column for column in planned.rows.columns if column not in kind.own_columns]
    there = [
        str(row[0]) for row in session.rows(f"SHOW COLUMNS IN {relation_name(model.relation)}")
    ]
    _refuse_missing(model, columns, there)
    if arrived is not None:
        _refuse_missing(model, [arrived], there)
    known = [arrived] if arrived is not None else []
    listed = {column.lower() for column in (*columns, *kind.own_columns, *known)}
    audit = {column.lower() for column in planned.rows.audit}
    columns = [column for column in columns if column.lower() not in audit]
    since = None if kind.arrival is None else identifier(kind.arrival)
    text = _difference(model, columns, planned.rows.select, since, arrived)
    return AdoptionComparison(
        model,
        planned.row.after.t,
        newest_version(session, model.relation),
        **_counts(session, text, columns, arrived is not None),
        other_columns=tuple(column for column in there if column.lower() not in listed),
        warnings=planned.told.warnings,
    )


def _refresh(session: Session, kind: Kind, model: Model, invocation: Invocation) -> Planned:
    """Plan a full refresh: all answers up to the invocation's instant."""
    planned = kind.plan(session, model, invocation, full_refresh=True)
    assert isinstance(planned, Planned)  # it has always something to do
    return planned


def _refuse_own(session: Session, model: Model, invocation: Invocation) -> None:
    """Raise ConfigurationError for a table of this model's own runs: nothing is to adopt."""
    try:
        standing = stand(session, model, invocation, False)
    except StateMissing:
        return
    raise ConfigurationError(
        f"{model.relation} is the table of this {model.materialized} model already"
        + (f", up to {show(standing.row.after.t)}" if standing.row is not None else ""),
        where=model.file,
        hint=f"dbt run --select {model.name} goes on from there; tapestry verify checks it",
    )


def _refuse_missing(model: Model, wanted: list[str], there: list[str]) -> None:
    known = {column.lower() for column in there}
    lacking = [column for column in wanted if column.lower() not in known]
    if not lacking:
        return
    near = get_close_matches(lacking[0].lower(), sorted(known), 1)
    raise ConfigurationError(
        f"{model.relation} has no column {lacking[0]}",
        where=model.file,
        hint=(f"did you mean {near[0]}? " if near else "")
        + f"its columns are {', '.join(there)}; or build it anew: dbt run --full-refresh",
    )


def _difference(
    model: Model, columns: list[str], answers: str, since: Sql | None, arrived: str | None
) -> str:
    """Return a query of values with their numbers of answers and of rows in the table.

    ``since`` is the instant at which an answer became one; None: there is none.
    """
    names = ", ".join(identifier(column) for column in columns)
    never = Sql("CAST(NULL AS TIMESTAMP)")
    came = never if arrived is None else Sql(f"CAST({identifier(arrived)} AS TIMESTAMP)")
    return (
        f"SELECT {names}, sum(_ours) AS _ours, sum(_theirs) AS _theirs, min(_since) AS _since,"
        f" min(_came) AS _came, max(_came) AS _last FROM ("
        f"SELECT {names}, 1 AS _ours, 0 AS _theirs, {since or never} AS _since,"
        f" CAST(NULL AS TIMESTAMP) AS _came FROM (\n{answers}\n)"
        f" UNION ALL SELECT {names}, 0, 1, CAST(NULL AS TIMESTAMP), {came}"
        f" FROM {relation_name(model.relation)}) GROUP BY {names}"
    )


def _counts(session: Session, text: str, columns: list[str], arrived: bool) -> dict[str, Any]:
    ((ours, theirs, missing, extra, since, early, late),) = session.rows(
        "SELECT sum(_ours), sum(_theirs), sum(greatest(_ours - _theirs, 0)),"
        " sum(greatest(_theirs - _ours, 0)), unix_micros(min(IF(_ours > _theirs, _since, NULL))),"
        " sum(IF(_ours > 0 AND _came < _since, 1, 0)),"
        " max(IF(_ours > 0 AND _last > _since, unix_micros(_last) - unix_micros(_since), NULL))"
        f" FROM ({text})"
    )
    lacks, has = int(missing or 0), int(extra or 0)
    return {
        "rows": int(theirs or 0),
        "answers": int(ours or 0),
        "missing": Differences(lacks, _examples(session, text, columns, "_ours > _theirs", lacks)),
        "extra": Differences(has, _examples(session, text, columns, "_theirs > _ours", has)),
        "missing_from": None if since is None else from_micros(int(since)),
        "early": int(early or 0) if arrived else None,
        "late": None if late is None else int(late) / 1e6,
    }


def _examples(
    session: Session, text: str, columns: list[str], condition: str, rows: int
) -> tuple[dict[str, Any], ...]:
    """Return some values, the same ones each time; none where there is nothing to show."""
    if not rows:
        return ()
    names = [identifier(column) for column in columns]
    shown = ", ".join(f"CAST({name} AS STRING)" for name in names)
    found = session.rows(
        f"SELECT {shown} FROM ({text}) WHERE {condition} ORDER BY {', '.join(names)}"
        f" LIMIT {EXAMPLES}"
    )
    return tuple(dict(zip(columns, row, strict=True)) for row in found)
