"""The first run of a generation: all of Q_M(t)."""

from __future__ import annotations

from tapestry.names import MATCHED_AT
from tapestry.runs.checks.new_rows import NewRows
from tapestry.runs.context.clock import window_end
from tapestry.runs.kinds.continuous.begins import Begins
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.horizons import horizons
from tapestry.runs.kinds.continuous.planning import Planning, bounded, figures_of
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.kinds.continuous.verify import verified
from tapestry.runs.kinds.continuous.window.measured_first import count_instants
from tapestry.runs.kinds.continuous.window.new_answers import new_answers, over_memories
from tapestry.runs.kinds.continuous.window.question import began, held, keyed, question_of, said_of
from tapestry.runs.kinds.continuous.window.sources_of_run import (
    examine_sources,
    scans_of,
    warnings_of,
)
from tapestry.runs.protocol.claiming import closing, first_row
from tapestry.runs.protocol.plan import Beforehand, Planned, Proof, Told
from tapestry.runs.protocol.writing import Creation
from tapestry.runs.query.spark_reads import refuse_read_otherwise
from tapestry.runs.tables.state_row import Position
from tapestry.sql import Window


def creation(planning: Planning, query: Query) -> Planned:
    """Plan the first run of a new generation: all of Q_M(t)."""
    session, model, invocation = planning.session, planning.model, planning.invocation
    config: ContinuousConfig = model.config.own
    limits, warnings = horizons(session, invocation, query.relations.tables)
    end = window_end(invocation.clock, config.lag, None, limits)
    assert end.t is not None  # without a last run there is always a window
    after = Position(end.t, query.pins, query.canonical, Begins(config.begin).own)
    row = first_row(model, planning.standing, after)
    found = examine_sources(session, model, invocation, query, row)
    window, scans = Window(None, row.after.t), scans_of(found)
    requests = planning.requests(query, window, found)
    answers = new_answers(query, query, window, found)
    count_instants(session, model, query, window, scans)
    known = planning.known.first(query, row, found)
    row, select = known.row, answers.sql(scans)
    refuse_read_otherwise(session, model, query, select)
    if (answers := over_memories(answers, requests, found)).uses or answers.pairs:
        select = answers.sql(scans)
    question, row = began(session, question_of(model, query, row, scans), row)
    question, holding = held(question, query)
    columns = (*query.rewriting.columns, MATCHED_AT)
    replaces = planning.standing.target is not None
    planned = Planned(
        row,
        NewRows(
            model,
            row.identity,
            select,
            selected=columns,
            columns=columns,
            expected=query.expected,
            keyed=keyed(answers, question, query),
            holding=holding,
            creates=True,
            audit=query.rewriting.audit,
        ),
        Creation(model, row.generation, replaces, invocation.state_table),
        invocation.state_table,
        Beforehand(query.relations.unkept(invocation.pins.commits_table), beside=known.rows),
        Proof(query.rewriting.assumption_checks(window, scans), verified(question)),
        ready=closing(session, planning.standing, row),
        told=Told(
            (*warnings_of(found), *said_of(model, query)),
            figures_of(query.rewriting.strategy, found),
        ),
        little=query.little,
        requests=requests,
    )
    return bounded(planned, invocation.clock, query, (limits, warnings))
