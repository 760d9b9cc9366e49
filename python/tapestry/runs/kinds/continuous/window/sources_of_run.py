"""Examines the sources of one run: their changes, and how the query reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session, for_little
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.late.examine import examine
from tapestry.runs.kinds.continuous.late.scans import Examination
from tapestry.runs.kinds.continuous.late.since_last_run import AskingRun, PinnedSource
from tapestry.runs.kinds.continuous.query import Query, over_ended
from tapestry.runs.model.model import Model
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql import Scan


def examine_sources(
    session: Session, model: Model, invocation: Invocation, query: Query, row: StateRow
) -> dict[str, Examination]:
    """Examine each source between the pins of the run before and those of ``row``."""
    config: ContinuousConfig = model.config.own
    run = AskingRun(
        row.model, row.generation, row.n, row.since, row.failed, rewound=bool(row.continues)
    )
    last_pins = {} if row.before is None else row.before.pins
    with for_little(session, query.little):
        found = {}
        for name in query.rewriting.sources:
            source = PinnedSource(
                query.relations.tables[name].table,
                query.relations.arrival(name),
                last_pins.get(name),
                row.after.pins[name],
                query.rewriting.looks_back_at(name),
            )
            found[name] = examine(session, source, run, config, invocation.remember)
        return found


def as_read_by(
    session: Session, model: Model, invocation: Invocation, query: Query, row: StateRow
) -> tuple[Query, dict[str, Scan]]:
    """Return how the run after ``row`` would read its sources if they had not changed since.

    The query is returned as it is executed over these scans.
    """
    now = replace(row, identity=replace(row.identity, n=row.n + 1), before=row.after)
    found = examine_sources(session, model, invocation, query, now)
    return executed(query, found, model, invocation), scans_of(found)


def executed(
    query: Query, found: Mapping[str, Examination], model: Model, invocation: Invocation
) -> Query:
    """Return the query over the sources as ``scans_of`` has them: with the rows that have ended."""
    return over_ended([name for name in found if found[name].ends], query, model, invocation)


def before_of(found: Mapping[str, Examination]) -> tuple[str, ...]:
    """Return the statements to execute before the sources can be read as ``scans_of`` says."""
    return tuple(text for one in found.values() for text in one.before)


def scans_of(found: Mapping[str, Examination]) -> dict[str, Scan]:
    """Return how the query reads each source."""
    return {name: one.scan for name, one in found.items()}


def standing_scans_of(found: Mapping[str, Examination]) -> dict[str, Scan]:
    """Return how each source is read while a run is planned: without newly found late rows.

    Those are written, and their table made or widened, by the run itself.
    """
    return {name: one.standing or one.scan for name, one in found.items()}


def exactly_standing(found: Mapping[str, Examination]) -> frozenset[str]:
    """Return the sources that have the same rows while a run is planned as for the run."""
    return frozenset(
        name for name, one in found.items() if one.standing is None or one.standing == one.scan
    )


def keeping(pins: Mapping[str, Pin], found: Mapping[str, Examination]) -> dict[str, Pin]:
    """Return the pins with what sources keep of late rows, which the next run needs to know."""
    return {
        name: replace(pin, kept=name in found and found[name].kept) for name, pin in pins.items()
    }


def warnings_of(found: Mapping[str, Examination]) -> tuple[str, ...]:
    """Return the warnings about the sources."""
    return tuple(warning for e in found.values() for warning in e.warnings)
