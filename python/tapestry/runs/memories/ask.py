"""Which uses of sources a run reads from memories, and why it reads the others from the source."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from tapestry.errors import ConfigurationError
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.memories.look import Found, find
from tapestry.runs.memories.wanted import Wanted
from tapestry.runs.model.model import Model
from tapestry.runs.query.holding import SMALL
from tapestry.runs.query.query import Query
from tapestry.runs.sources.describe import arrival_column
from tapestry.runs.sources.examine import Examination
from tapestry.runs.window.new_answers import UseScan
from tapestry.sql.look.uses_of_sources import Use

VARIABLE = "TAPESTRY_MEMORIES"
"""Environment: `off` lets runs read their sources, and build nothing."""
OFF = "OFF"
SMALL_SOURCE = "SMALL_SOURCE"
NO_PREDICATE = "NO_PREDICATE"
COMMIT_TIMES = "COMMIT_TIMES"
DISTRUSTED = "DISTRUSTED"
"""Why no memory is asked for: the user says so; reading the source costs less; the query needs
all of its rows; its rows arrive with their commits, which a copy has others of; a run that read
memories failed."""


@dataclass(frozen=True)
class Wish:
    """What one run asked for one use of a source.

    named
        The model names it: it is kept whether it pays or not.
    """

    model: str
    use: Use
    wanted: Wanted | None
    named: bool
    found: Found


def ask_memories(
    session: Session,
    model: Model,
    invocation: Invocation,
    query: Query,
    found: Mapping[str, Examination],
) -> tuple[Wish, ...]:
    """What stands in the place of each use of a source, or why nothing does.

    Raises ConfigurationError for a name under ``memories`` that the query does not have.
    """
    uses = query.rewriting.uses
    _refuse_unknown(model, uses)
    return tuple(_wishes(session, model, invocation, query, found))


def _wishes(
    session: Session,
    model: Model,
    invocation: Invocation,
    query: Query,
    found: Mapping[str, Examination],
) -> Iterator[Wish]:
    names = named(model)
    for use in query.rewriting.uses:
        mine = use.written.lower() in names
        wanted = wanted_of(invocation, query, use)
        reason = _reason(model, invocation, query, use, mine)
        if wanted is None or found[use.source].reading is None:
            yield Wish(model.relation, use, None, mine, Found(reason=reason or COMMIT_TIMES))
        elif reason:
            yield Wish(
                model.relation, use, None if reason == OFF else wanted, mine, Found(reason=reason)
            )
        else:
            key = ("memory", invocation.id, wanted.signature, wanted.pin.version)
            there = invocation.remember(key, partial(find, session, wanted))
            yield Wish(model.relation, use, wanted, mine, there)


def wanted_of(invocation: Invocation, query: Query, use: Use) -> Wanted | None:
    """The memory that a use could be read from; None where there can be none."""
    pinned, arrival = query.relations.tables[use.source], query.relations.arrival(use.source)
    if arrival is None or pinned.table.commits is not None:
        return None
    return Wanted(
        pinned.table,
        pinned.pin,
        arrival_column(pinned.table, arrival),
        use.conditions,
        invocation.state_table.rpartition(".")[0],
        (invocation.time_zone, *invocation.settings),
    )


def _reason(model: Model, invocation: Invocation, query: Query, use: Use, mine: bool) -> str:
    """Why no memory is asked for; "" where one is."""
    if model.config.memories == "off" or os.environ.get(VARIABLE, "").lower() == "off":
        return OFF
    if model.relation in invocation.distrusting:
        return DISTRUSTED
    if mine:
        return ""
    if not use.conditions:
        return NO_PREDICATE
    small = query.relations.tables[use.source].table.size <= SMALL
    return SMALL_SOURCE if small else ""


def named(model: Model) -> frozenset[str]:
    """The aliases that a model names under ``memories``, in lower case."""
    rule = model.config.memories
    return frozenset() if isinstance(rule, str) else frozenset(one.lower() for one in rule)


def _refuse_unknown(model: Model, uses: tuple[Use, ...]) -> None:
    known = {use.written.lower() for use in uses}
    unknown = sorted(named(model) - known)
    if unknown:
        listed = ", ".join(sorted(known)) or "none"
        raise ConfigurationError(
            f"memories: {unknown[0]} is no table that a memory can stand for in {model.name}",
            where=model.file,
            hint=f"those are, by their aliases: {listed}",
        )


def scans_of_uses(
    wishes: tuple[Wish, ...], found: Mapping[str, Examination]
) -> Mapping[str, UseScan]:
    """How the uses are read for which there is a memory, by alias."""
    scans: dict[str, UseScan] = {}
    for wish in wishes:
        reading = found[wish.use.source].reading
        if wish.wanted is None or reading is None or not wish.found.relation:
            continue
        table = replace(wish.wanted.table, remembered=wish.found.relation)
        use = wish.use
        scans[use.alias] = UseScan(use.source, use.conditions, reading.of(table))
    return scans
