"""Plans a run over the window since the last one: Q^I, appended to the table."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tapestry.names import MATCHED_AT
from tapestry.runs.checks.new_rows import NewRows
from tapestry.runs.kinds.continuous.begins import begins
from tapestry.runs.kinds.continuous.planning import Planning, figures_of
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.kinds.continuous.schema_change import reconcile, refuse_narrower
from tapestry.runs.kinds.continuous.verify import verified
from tapestry.runs.kinds.continuous.window.measured_first import count_instants
from tapestry.runs.kinds.continuous.window.new_answers import (
    new_answers,
    over_memories,
    with_measured,
)
from tapestry.runs.kinds.continuous.window.question import said_of
from tapestry.runs.kinds.continuous.window.shared_window import Asker, SharedWindow, share_window
from tapestry.runs.kinds.continuous.window.sharing import ask
from tapestry.runs.kinds.continuous.window.sources_of_run import (
    before_of,
    examine_sources,
    executed,
    keeping,
    scans_of,
    warnings_of,
)
from tapestry.runs.protocol.plan import Beforehand, Planned, Proof, Told
from tapestry.runs.protocol.writing import Appending
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql import Window

LONGEST = timedelta(days=1)
"""A run that covers so much leaves a trace."""


def appending(planning: Planning, query: Query, row: StateRow, reshape: bool) -> Planned | None:
    """Plan run ``row``, whether new or crashed; None where a source requires a creation."""
    session, model, invocation = planning.session, planning.model, planning.invocation
    found = examine_sources(session, model, invocation, query, row)
    if any(e.refresh for e in found.values()):
        return None
    if not planning.standing.crashed:  # asked before it was claimed, over the sources of then
        refuse_narrower(session, model, invocation, query, row.generation)
    row = replace(row, after=replace(row.after, pins=keeping(row.after.pins, found)))
    knowing = executed(query, found, model, invocation)
    plain, window, scans = query, Window(row.since, row.after.t), scans_of(found)
    answers, query = new_answers(query, knowing, window, found, begins(row).began), knowing
    shared = share_window(session, model, invocation, Asker(query, row, found))
    answers = with_measured(session, query, answers, found, shared.few)
    row = (known := planning.known.later(query, row, found, answers.few)).row
    requests = planning.requests(query, window, found, plain)
    answers = replace(answers, known=known.answers, hashes=known.hashes)
    answers = over_memories(answers, requests, found)
    if not before_of(found):  # else the scans read what is yet to be written
        count_instants(session, model, knowing, window, scans, known.answers)
    asked = ask(session, model, query, row, found, answers)
    columns, ready = reconcile(session, model, invocation, query, row, reshape)
    unkept = query.relations.unkept(invocation.pins.commits_table)
    warnings = (*warnings_of(found), *said_of(model, query), *known.warnings)
    planned = Planned(
        asked.row,
        NewRows(
            model,
            asked.row.identity,
            answers.sql({**scans, **shared.scans}),
            selected=(*query.rewriting.columns, MATCHED_AT),
            columns=columns,
            expected=query.expected,
            keyed=asked.keyed,
            holding=asked.holding,
        ),
        Appending(asked.row, columns),
        invocation.state_table,
        Beforehand(unkept, before_of(found), known.rows),
        Proof(query.rewriting.assumption_checks(window, scans), verified(asked.question)),
        ready=ready,
        circumstances=planning.standing.circumstances,
        told=Told(warnings, figures_of(answers.strategy, found)),
        little=query.little or shared.little,
        requests=requests,
    )
    return without_trace(planned, shared, reshape or planning.standing.accepted)


def without_trace(planned: Planned, shared: SharedWindow, noteworthy: bool) -> Planned:
    """Return the plan, ``traceless`` if it is for few new rows and writes nothing but answers.

    If it finds none (semantics, section 1) nothing is claimed or committed, τ stays where the last
    run ended that wrote something, and the next run covers the window again. So that the windows do
    not grow, a run leaves a trace all the same where it covers a day, or much came in; so does a
    run of a model that others read, whose table says how far they may go.

    ``noteworthy``: the query is another one, or somebody else has written to the table, which the
    next run is to know.
    """
    row = planned.row
    if not shared.few or noteworthy or planned.model.feeds or planned.circumstances.again:
        return planned
    if row.since is None or row.after.t - row.since >= LONGEST:
        return planned
    writes = planned.before or planned.ready
    checks = planned.checks_rows or planned.proof.assumptions
    return replace(planned, traceless=not (writes or checks))
