"""Which uses of sources a run reads from memories, and why it reads the others from the source."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from tapestry.errors import ConfigurationError
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.memories.look import InPlace, find
from tapestry.runs.memories.reasons import (
    COMMIT_TIMES,
    DISTRUSTED,
    NO_ARRIVAL,
    NO_PREDICATE,
    OFF,
    SMALL_SOURCE,
)
from tapestry.runs.memories.wanted import Wanted
from tapestry.runs.model.model import Model
from tapestry.runs.query.holding import SMALL
from tapestry.runs.query.query import Query
from tapestry.runs.sources.describe import arrival_column
from tapestry.runs.sources.examine import Examination
from tapestry.runs.window.new_answers import UseScan
from tapestry.sql import Rewriting, Window
from tapestry.sql.look.uses_of_sources import Use

VARIABLE = "TAPESTRY_MEMORIES"
"""Environment: `off` lets runs read their sources, and build nothing."""


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
    found: InPlace
    rewriting: Rewriting = field(compare=False, repr=False)
    window: Window


@dataclass(frozen=True)
class Asking:
    """A run of a model that asks: which query, over which window.

    again
        It crashed, and is executed again with the query of then, which may have other aliases than
        the model names today.
    """

    session: Session
    model: Model
    invocation: Invocation
    query: Query
    window: Window
    again: bool = False

    @property
    def names(self) -> frozenset[str]:
        """The aliases that the model names under ``memories``, in lower case."""
        rule = self.model.config.memories
        return frozenset() if isinstance(rule, str) else frozenset(one.lower() for one in rule)

    def wish(self, use: Use) -> Wish:
        """What it asks for one use."""
        mine, wanted = use.written.lower() in self.names, self.wanted(use)
        reason = self.reason(use, mine)
        if wanted is None:
            arrives = self.query.relations.arrival(use.source) is not None
            reason = reason or (COMMIT_TIMES if arrives else NO_ARRIVAL)
        there = InPlace(reason=reason)
        if wanted is not None and not reason:
            key = ("memory", self.invocation.id, wanted.signature, wanted.pin.version)
            there = self.invocation.remember(key, partial(find, self.session, wanted))
        rewriting = self.query.rewriting
        return Wish(self.model.relation, use, wanted, mine, there, rewriting, self.window)

    def wanted(self, use: Use) -> Wanted | None:
        """The memory that a use could be read from; None where there can be none."""
        relations, invocation = self.query.relations, self.invocation
        pinned, arrival = relations.tables[use.source], relations.arrival(use.source)
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

    def reason(self, use: Use, mine: bool) -> str:
        """Why no memory is asked for; "" where one is."""
        if self.model.config.memories == "off" or os.environ.get(VARIABLE, "").lower() == "off":
            return OFF
        if self.model.relation in self.invocation.distrusting:
            return DISTRUSTED
        if mine:
            return ""
        if not use.conditions:
            return NO_PREDICATE
        small = self.query.relations.tables[use.source].table.size <= SMALL
        return SMALL_SOURCE if small else ""


def ask_memories(asking: Asking) -> tuple[Wish, ...]:
    """What stands in the place of each use of a source, or why nothing does.

    Raises ConfigurationError for a name under ``memories`` that the model's query does not have.
    """
    uses = asking.query.rewriting.uses
    known = {use.written.lower() for use in uses}
    unknown = sorted(asking.names - known)
    if unknown and not asking.again:
        listed, model = ", ".join(sorted(known)) or "none", asking.model
        raise ConfigurationError(
            f"memories: {unknown[0]} is no table that a memory can stand for in {model.name}",
            where=model.file,
            hint=f"those are, by their aliases: {listed}",
        )
    return tuple(asking.wish(use) for use in uses)


def scans_of_uses(
    wishes: tuple[Wish, ...], found: Mapping[str, Examination]
) -> Mapping[str, UseScan]:
    """How the uses are read for which there is a memory, by alias."""
    scans: dict[str, UseScan] = {}
    for wish in wishes:
        reading = found[wish.use.source].reading
        if wish.wanted is None or reading is None or not wish.found.relation:
            continue
        kept, table = wish.found.kept, wish.wanted.table
        table = replace(table, remembered=wish.found.relation, size=kept.size if kept else 0)
        use = wish.use
        scans[use.alias] = UseScan(use.source, use.conditions, reading.of(table))
    return scans
