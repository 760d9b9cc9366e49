"""Rewind: forget every answer after T, exactly, as if the run that crossed T had ended there.

What stands afterwards is run 1 of a new generation that ends at T. One commit deletes the answers
after T and closes the generation before it (semantics, section 4): no append of that one lands any
more. The generation goes on from what the run that crossed T had read. A row that turned up in a
later run is found again by the next one: with ts > T it is simply a row, with ts <= T it is late
and arrives at the first instant after T. A late row that had arrived by T keeps its arrival.

Killed before the commit, nothing has happened: kept tables hold rows of a generation that does not
exist. Killed after it, the table has the name of its old generation still; whoever comes next
gives it the new one (``finish``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import uuid4

from tapestry.errors import StateMissing, TapestryError, WindowError
from tapestry.names import MATCHED_AT
from tapestry.quoting import identifier, relation_name, timestamp
from tapestry.runs.checks import rejected
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.errors_of_delta import lost_race
from tapestry.runs.engine.instants import show
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.after.finish_rewind import finish
from tapestry.runs.kinds.continuous.known.erased_answers import erased_since
from tapestry.runs.kinds.continuous.late.asking_run import AskingRun, PinnedSource
from tapestry.runs.kinds.continuous.late.examine import examine
from tapestry.runs.kinds.continuous.late.grow_side import carry
from tapestry.runs.kinds.continuous.late.side import Side, read_side, side_name
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import Relations, read_relations
from tapestry.runs.run.commit import rewind_sql
from tapestry.runs.run.crash import point
from tapestry.runs.run.standing import Standing, stand
from tapestry.runs.sources.describe import arrival_column
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables import beside_target
from tapestry.runs.tables.beside_target import KNOWN
from tapestry.runs.tables.state import claim, runs_of
from tapestry.runs.tables.state_row import StateRow

ANSWERED = identifier(MATCHED_AT)


@dataclass(frozen=True)
class Rewind:
    """What a rewind of one model will do.

    newest, row
        The newest run that landed, and the run that stands in its place afterwards.
    answers, runs
        How many answers are forgotten, and how many runs ended after T.
    before
        Executed before the commit ``main``: late rows that stay.
    erased
        A SELECT of answers that were deleted from the table, which no run has noted yet.
    attempt
        Which execution of the newest run landed (see ``Standing``).
    warnings
        Why the next run of the model may stop.
    """

    model: Model
    newest: StateRow
    row: StateRow
    answers: int
    runs: int
    main: str
    before: tuple[str, ...] = ()
    erased: str = ""
    attempt: str | None = None
    warnings: tuple[str, ...] = field(default=())


def plan_rewind(
    session: Session,
    model: Model,
    invocation: Invocation,
    to: datetime,
    upstream: Mapping[str, Pin] | None = None,
) -> Rewind | None:
    """Decide; writes nothing but the name of a generation that a killed rewind left out.

    ``upstream`` are pins of models that were themselves rewound: their tables now hold exactly what
    was visible at T. Without them, and with nothing after T, there is nothing to do: None.

    Raises StateMissing or TargetChanged for a table that no run could go on from, WindowError for a
    T before the runs that the state still knows.
    """
    standing = _standing(session, model, invocation)
    assert standing.row is not None
    unfinished = standing.crashed or standing.closing
    newest = standing.row.undone if unfinished else standing.row
    end = newest.after.t
    if to >= end and not upstream:
        return None
    to = min(to, end)
    runs = runs_of(session, invocation.state_table, newest.generation)
    runs = [run for run in runs if run.failed_at is None and run.after.t <= end]
    crossing = _crossing(model, runs, to)
    row = _rewound(crossing, to, standing.version, upstream or {})
    relations = read_relations(
        session, crossing.after.canonical, model, invocation.pins, invocation.time_zone
    )
    last = runs[-1]
    erased = erased_since(session, model, relations, row, last)
    beside = dict.fromkeys([*last.beside, *([KNOWN.suffix] if erased else [])])
    row, columns = replace(row, beside=tuple(beside)), len(columns_of_table(session, row.model))
    return Rewind(
        model,
        newest,
        row,
        answers_after(session, model, to),
        sum(run.after.t > to for run in runs),
        rewind_sql(row, columns, f"{ANSWERED} > {timestamp(row.after.t)}"),
        _carried(session, relations, crossing, row),
        erased,
        standing.attempt,
        _next_run(session, model, relations, row, upstream or {}),
    )


def rewind(session: Session, planned: Rewind, invocation: Invocation) -> None:
    """Carry it out; when this returns, the answers are forgotten for good.

    Raises ConcurrentRun where a run, a refresh or another rewind of the model got ahead.
    """
    row = planned.row
    point("planned")
    claim(session, invocation.state_table, row)
    point("claimed")
    for statement in planned.before:
        session.run(statement)
    stays = f"{ANSWERED} <= {timestamp(row.after.t)}"
    rejected.carry(session, row, planned.newest, planned.attempt, stays)
    beside_target.carry(session, row, planned.newest, planned.erased)
    point("before_written")
    try:
        session.run(planned.main)
    except Exception as error:
        if not lost_race(error):
            raise
    point("committed")
    finish(session, row)
    invocation.forget(row.model)
    point("confirmed")


def answers_after(session: Session, model: Model, to: datetime) -> int:
    """How many answers of the model's table have their first instant after T."""
    asked = f"SELECT count(*) FROM {relation_name(model.relation)}"
    return int(session.rows(f"{asked} WHERE {MATCHED_AT} > {timestamp(to)}")[0][0])


def _standing(session: Session, model: Model, invocation: Invocation) -> Standing:
    """Where the model stands, looked at anew."""
    invocation.forget(model.relation)
    standing = stand(session, model, invocation, False)
    if standing.unnamed and standing.row is not None:
        finish(session, standing.row)
        invocation.forget(model.relation)
        standing = stand(session, model, invocation, False)
    if standing.row is None:
        what = "has not run yet" if standing.target is None else "is being built anew"
        raise StateMissing(
            f"{model.name} {what}: there is nothing to rewind",
            where=model.file,
            hint=f"dbt run --select {model.name}",
        )
    return standing


def _crossing(model: Model, runs: Sequence[StateRow], to: datetime) -> StateRow:
    """The first run that went as far as T; it read whatever the answers up to T depend on."""
    crossing = next((run for run in runs if run.after.t >= to), None)
    if crossing is None or (crossing.since is not None and crossing.since >= to):
        oldest = (
            f"the oldest run it knows went to {show(runs[0].after.t)}" if runs else "none is left"
        )
        raise WindowError(
            f"the state of {model.name} no longer reaches back to {show(to)}: {oldest}",
            where=model.file,
            hint=f"TAPESTRY_AS_OF='{show(to)}Z' dbt run --full-refresh --select {model.name}"
            " builds it up to there",
        )
    return crossing


def _rewound(
    crossing: StateRow, to: datetime, version: int, upstream: Mapping[str, Pin]
) -> StateRow:
    """Run 1 of the generation that goes on from T; ``version`` is the newest of the table."""
    return replace(
        crossing,
        identity=replace(crossing.identity, generation=uuid4().hex, n=1, run_id=uuid4().hex),
        target=Pin("", version),
        before=None,
        after=replace(crossing.after, t=to, pins={**crossing.after.pins, **upstream}),
        failed=(),
        continues=crossing.generation,
    )


def _carried(
    session: Session, relations: Relations, crossing: StateRow, row: StateRow
) -> tuple[str, ...]:
    """Late rows of every source, with the arrivals that they keep."""
    statements: list[str] = []
    for name, read in crossing.after.pins.items():
        arrival = relations.arrival(name)
        if arrival is None:
            continue
        table = relations.tables[name].table
        side = Side(
            side_name(row.model, table.name),
            crossing.generation,
            crossing.n + 1,
            "",
            crossing.failed,
        )
        column = arrival_column(table, arrival)
        pin = row.after.pins[name]
        found = read_side(session, side, read)
        statements += carry(found, pin, column, row.after.t, row.generation)
    return tuple(statements)


def _next_run(
    session: Session,
    model: Model,
    relations: Relations,
    row: StateRow,
    upstream: Mapping[str, Pin],
) -> tuple[str, ...]:
    """What would stop the run after the rewind, as far as its sources can tell now."""
    found: list[str] = []
    for name, pin in row.after.pins.items():
        if name in upstream:
            continue  # it was rewound a moment ago
        try:
            pinned = relations.tables[name]
            source = PinnedSource(pinned.table, relations.arrival(name), pin, pinned.pin)
            run = AskingRun(row.model, row.generation, 2, row.after.t)
            examine(session, source, run, model.config)
        except TapestryError as error:
            found.append(f"the next run will stop: {error.reason}")
    return tuple(found)
