"""Plans the rewind of one model, before anything of it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import uuid4

from tapestry.names import MATCHED_AT
from tapestry.quoting import relation_name, timestamp
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.after.rewind import ANSWERED, Rewind
from tapestry.runs.kinds.continuous.after.rewind_sources import carried, next_run
from tapestry.runs.kinds.continuous.known.erased_answers import erased_since
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.finish_rewind import standing_to_rewind, too_early
from tapestry.runs.protocol.writing import rewind_sql
from tapestry.runs.query.relations import read_relations
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.beside_target import KNOWN
from tapestry.runs.tables.state import runs_of
from tapestry.runs.tables.state_row import StateRow


def plan_rewind(
    session: Session,
    model: Model,
    invocation: Invocation,
    to: datetime,
    upstream: Mapping[str, Pin] | None = None,
) -> Rewind | None:
    """Plan a rewind; write nothing but a generation's name that a killed rewind left out.

    ``upstream`` are pins of models that were themselves rewound: their tables now hold exactly what
    was visible at T. Without them, and with nothing after T, there is nothing to do: None.

    Raises StateMissing or TargetChanged for a table that no run could go on from, WindowError for a
    T before the runs that the state still knows.
    """
    standing = standing_to_rewind(session, model, invocation)
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
    erased = erased_since(session, model, relations.catalog, row, last)
    beside = dict.fromkeys([*last.beside, *([KNOWN.suffix] if erased else [])])
    row, columns = replace(row, beside=tuple(beside)), len(columns_of_table(session, row.model))
    return Rewind(
        model,
        newest,
        row,
        answers_after(session, model, to),
        sum(run.after.t > to for run in runs),
        rewind_sql(row, columns, f"{ANSWERED} > {timestamp(row.after.t)}"),
        carried(session, relations, crossing, row),
        erased,
        standing.attempt,
        next_run(session, model, relations, row, upstream or {}),
    )


def answers_after(session: Session, model: Model, to: datetime) -> int:
    """Return how many answers of the model's table have their first instant after T."""
    asked = f"SELECT count(*) FROM {relation_name(model.relation)}"
    return int(session.rows(f"{asked} WHERE {MATCHED_AT} > {timestamp(to)}")[0][0])


def _crossing(model: Model, runs: Sequence[StateRow], to: datetime) -> StateRow:
    """Return the first run that went as far as T; it read all that answers up to T depend on."""
    crossing = next((run for run in runs if run.after.t >= to), None)
    if crossing is None or (crossing.since is not None and crossing.since >= to):
        raise too_early(model, to, runs)
    return crossing


def _rewound(
    crossing: StateRow, to: datetime, version: int, upstream: Mapping[str, Pin]
) -> StateRow:
    """Return run 1 of the generation that goes on from T; ``version`` is the table's newest."""
    return replace(
        crossing,
        identity=replace(crossing.identity, generation=uuid4().hex, n=1, run_id=uuid4().hex),
        target=Pin("", version),
        before=None,
        after=replace(crossing.after, t=to, pins={**crossing.after.pins, **upstream}),
        failed=(),
        continues=crossing.generation,
    )
