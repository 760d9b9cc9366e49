"""Decides which uses of sources a run reads from memories, and why not the others.

The rows that a source got since its memory was written are read once an invocation, by all of its
models and the flush. Where they are not cached in memory each statement reads them from the source,
as the text of the memory's relation says. Sound: both are the same rows of pinned versions.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from tapestry.errors import ConfigurationError
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.memories import reasons
from tapestry.runs.memories.definition import MemoryDefinition, MemorySide
from tapestry.runs.memories.find import InPlace, find
from tapestry.runs.memories.log import MemoryLog
from tapestry.runs.memories.wider import present, wider_than
from tapestry.runs.model.model import Model
from tapestry.runs.query.holding import SMALL
from tapestry.runs.query.read_text import ReadText
from tapestry.runs.sources.describe import arrival_column
from tapestry.sql import Rewriting, Source, Window
from tapestry.sql.look.joined_uses import JoinedUse
from tapestry.sql.look.uses_of_sources import Use

MOST_SHARE = 0.1
"""A memory that is made because it pays holds at most such a part of its source."""
VARIABLE = "TAPESTRY_MEMORIES"
"""Environment: `off` lets runs read their sources, and build nothing."""


@dataclass(frozen=True)
class MemoryRequest:
    """A run's request to memories: in the place of a use of a source, or of two.

    uses
        One, or the two that are read joined as ``pair`` says.
    wanted
        The memory to read if it exists: that of the uses' own conditions, or one of more rows; None
        where there can be no memory.
    named
        The model names it: it is kept whether it pays or not.
    log
        The log in which runs have recorded the memories that they built.
    own
        The memory of its own conditions, where one of more rows is read.
    """

    model: str
    uses: tuple[Use, ...]
    wanted: MemoryDefinition | None
    named: bool
    found: InPlace
    window: Window
    rewriting: Rewriting = field(compare=False, repr=False)
    log: MemoryLog = field(compare=False, repr=False)
    pair: JoinedUse | None = None
    own: MemoryDefinition | None = None

    @property
    def use(self) -> Use:
        """The only use of the request; a request for a pair has no such use."""
        (only,) = self.uses
        return only

    @property
    def signature(self) -> str:
        """The signature of the memory that is wanted."""
        return "" if self.wanted is None else self.wanted.signature

    @property
    def aliases(self) -> tuple[str, ...]:
        """The aliases of the uses in the whole query."""
        return tuple(use.alias for use in self.uses)

    @property
    def told(self) -> tuple[str, str, tuple[str, ...]]:
        """Return a description for people: the aliases, the sources and the conditions."""
        sources = ", ".join(dict.fromkeys(use.source for use in self.uses))
        conditions = self.use.conditions if self.pair is None else self.pair.conditions
        return ", ".join(use.written for use in self.uses), sources, conditions


@dataclass(frozen=True)
class Asking:
    """A run of a model that makes requests: its query and its window.

    again
        It crashed, and is executed again with its former query, which may have other aliases than
        the model names today.
    later
        The query counts from a later begin than the model names.
    plain
        The query over sources no row of which has ended, where ``query`` is one over some that
        have: ``plain`` may join tables that ``query`` reads apart. None: ``query`` itself.
    """

    session: Session
    model: Model
    invocation: Invocation
    query: ReadText
    window: Window
    again: bool = False
    later: bool = False
    plain: ReadText | None = None

    @property
    def as_written(self) -> bool:
        """Return whether the query has the author's aliases, so that an unknown name is a mistake.

        Else a later begin, or rows that have ended, may have it evaluated at instants, where no
        memory stands for a table; the names stay right for a table that is built anew.
        """
        relations = self.query.relations.catalog.relations.values()
        ended = any(isinstance(one, Source) and one.ends for one in relations)
        return not (self.again or self.later or ended)

    @property
    def listed(self) -> tuple[str | tuple[str, str], ...]:
        """The aliases, and pairs of them, that the model names under ``memories``."""
        rule = self.model.config.memories
        return () if isinstance(rule, str) else rule

    @property
    def names(self) -> frozenset[str]:
        """The named aliases in lower case: each of a pair is kept by itself, too."""
        singles = [[one] if isinstance(one, str) else one for one in self.listed]
        return frozenset(name.lower() for names in singles for name in names)

    @property
    def log(self) -> MemoryLog:
        """The log of the schema in which its memories lie."""
        key = ("log of memories", self.schema)
        return self.invocation.remember(key, partial(MemoryLog, self.schema))

    @property
    def schema(self) -> str:
        """The schema in which its memories lie."""
        return self.invocation.state_table.rpartition(".")[0]

    def request(self, use: Use) -> MemoryRequest:
        """Return the request for one use."""
        mine, wanted = use.written.lower() in self.names, self.wanted(use)
        reason = self.reason(use, mine)
        if wanted is None:
            arrives = self.query.relations.arrival(use.source) is not None
            reason = reason or (reasons.COMMIT_TIMES if arrives else reasons.NO_ARRIVAL)
        there, own = InPlace(reason=reason), None
        if wanted is not None and not reason:
            there = self.look(wanted)
            if there.reason == reasons.NOT_BUILT_YET and not mine and (found := self.wider(wanted)):
                own, (wanted, there) = wanted, found
        return replace(self._request((use,), wanted, there), named=mine, own=own)

    def request_pair(
        self, pair: JoinedUse, wanted: MemoryDefinition | None, reason: str
    ) -> MemoryRequest:
        """Return the request for two uses; ``reason``: why no memory of theirs could be read."""
        off = self.reason(pair.left, True)
        there = InPlace(reason=off or (reasons.NO_ARRIVAL if wanted is None else ""))
        if wanted is not None and not off:
            there = self.look(wanted)
            if reason and there.reason not in reasons.SPOILT:  # that is dropped, whoever reads it
                there = InPlace(reason=reason)
        return replace(self._request((pair.left, pair.right), wanted, there), pair=pair)

    def _request(
        self, uses: tuple[Use, ...], wanted: MemoryDefinition | None, there: InPlace
    ) -> MemoryRequest:
        model, rewriting = self.model.relation, self.query.rewriting
        return MemoryRequest(model, uses, wanted, True, there, self.window, rewriting, self.log)

    def look(self, wanted: MemoryDefinition) -> InPlace:
        """Return the replacement of a source, or of two; an invocation looks once."""
        key = ("memory", self.invocation.id, wanted.signature, wanted.read_at)
        return self.invocation.remember(key, partial(find, self.session, wanted, self.log))

    def wider(self, wanted: MemoryDefinition) -> tuple[MemoryDefinition, InPlace] | None:
        """Return the smallest memory with all wanted rows, if it has few of its source's rows."""
        key = ("memories", self.invocation.id, wanted.schema)
        there = self.invocation.remember(key, partial(present, self.session, wanted.schema))
        looked = [(one, self.look(one)) for one in wider_than(wanted, there)]
        few = [
            (found.kept.size, one, found)
            for one, found in looked
            if found.relation and found.kept is not None
            if found.kept.size <= MOST_SHARE * wanted.side.table.size
        ]
        least = min(few, key=lambda each: each[0], default=None)
        return None if least is None else least[1:]

    def way_of_joining(
        self, one: Use, other: Use
    ) -> tuple[JoinedUse, MemoryDefinition | None] | None:
        """Return how two uses are joined, and the stored join that could be read for it.

        The sides have the same order whichever use is named first.
        """
        for query in (self.query, self.plain or self.query):
            rewriting = query.rewriting
            if not {one.alias, other.alias} <= {use.alias for use in rewriting.uses}:
                continue
            ways = [
                rewriting.pairing(one.alias, other.alias),
                rewriting.pairing(other.alias, one.alias),
            ]
            known = [(way, self._wanted_pair(way)) for way in ways if way is not None]
            known.sort(key=lambda way: "" if way[1] is None else way[1].signature)
            if known:
                return known[0]
        return None

    def wanted(self, use: Use) -> MemoryDefinition | None:
        """Return the memory that a use could be read from; None where there can be none."""
        relations, invocation = self.query.relations, self.invocation
        pinned, arrival = relations.tables[use.source], relations.arrival(use.source)
        if arrival is None or pinned.table.commits is not None:
            return None
        column = arrival_column(pinned.table, arrival)
        side = MemorySide(pinned.table, pinned.pin, column, use.conditions)
        session = (invocation.time_zone, *invocation.settings)
        return MemoryDefinition((side,), self.schema, session)

    def _wanted_pair(self, pair: JoinedUse) -> MemoryDefinition | None:
        """Return the stored join that two uses could be read from; None where there can be none."""
        left, right = self.wanted(pair.left), self.wanted(pair.right)
        return None if left is None or right is None else left.joined(right, pair.conditions)

    def reason(self, use: Use, mine: bool) -> str:
        """Return why no memory is requested; "" where one is."""
        if self.model.config.memories == "off" or os.environ.get(VARIABLE, "").lower() == "off":
            return reasons.OFF
        if self.model.relation in self.invocation.asked.distrusting:
            return reasons.DISTRUSTED
        if mine:
            return ""
        if not use.conditions:
            return reasons.NO_PREDICATE
        small = self.query.relations.tables[use.source].table.size <= SMALL
        return reasons.SMALL_SOURCE if small else ""


def ask_memories(asking: Asking, untimely: Untimely) -> tuple[MemoryRequest, ...]:
    """Return the requests for each use of a source, then for each pair, with their results.

    Raises ConfigurationError for a name under ``memories`` that the model's query does not have,
    and for two that it does not join.
    """
    uses = asking.query.rewriting.uses
    known = {use.written.lower(): use for use in reversed(uses)}
    unknown = sorted(asking.names - known.keys())
    if unknown and asking.as_written:
        listed, model = ", ".join(sorted(known)) or "none", asking.model
        raise ConfigurationError(
            f"memories: {unknown[0]} is no table that a memory can stand for in {model.name}",
            where=model.file,
            hint=f"those are, by their aliases: {listed}",
        )
    own = {use.alias: asking.request(use) for use in uses}
    requests = list(own.values())
    for pair in asking.listed:
        if isinstance(pair, str) or not {name.lower() for name in pair} <= known.keys():
            continue
        # Several arms of a UNION may have tables of these names.
        firsts, seconds = ([u for u in uses if u.written.lower() == n.lower()] for n in pair)
        ways = [asking.way_of_joining(one, other) for one in firsts for other in seconds]
        for way in ways:
            if way is not None:
                sides = [own[alias] for alias in way[0].aliases]
                requests.append(asking.request_pair(*way, untimely.reason(sides)))
        if asking.as_written and all(way is None for way in ways):
            raise _not_joined(asking.model, pair)
    return tuple(requests)


def read_memories(asking: Asking, untimely: Untimely) -> tuple[MemoryRequest, ...]:
    """Execute ``ask_memories`` for a run; rows since a memory may be cached in views."""
    return tuple(_shared(asking, one) for one in ask_memories(asking, untimely))


def _shared(asking: Asking, request: MemoryRequest) -> MemoryRequest:
    wanted, found = request.wanted, request.found
    if wanted is None or not found.new or found.new_bytes(wanted.read_at) > SMALL:
        return request
    listed, shared = wanted.copied, asking.invocation.shared
    key = ("new part", wanted.signature, found.since, wanted.read_at)
    # sql: conditions that sqlglot wrote
    view = shared.shared_view(asking.session, key, f"SELECT {listed} FROM ({found.new})")
    if not view:
        return request
    relation = f"({found.main} UNION ALL SELECT {listed} FROM {view})"
    return replace(request, found=replace(found, relation=relation, view=view))


def _not_joined(model: Model, pair: tuple[str, str]) -> ConfigurationError:
    return ConfigurationError(
        f"memories: {pair[0]} and {pair[1]} are not joined where {model.name} could read a stored"
        " join",
        where=model.file,
        hint="a pair needs an equality between the two in the FROM and WHERE of a plain join;"
        f" each by itself can be kept: [{pair[0]}, {pair[1]}]",
    )


@dataclass(frozen=True)
class Untimely:
    """The sources of which rows came late, and those of which rows have ended."""

    late: frozenset[str] = frozenset()
    ended: frozenset[str] = frozenset()

    def reason(self, sides: Iterable[MemoryRequest]) -> str:
        """Return why no stored join of these two uses can be read; "" where one can."""
        names = {side.use.source for side in sides}
        if names & self.ended:
            return reasons.ENDED_ROWS
        unread = not all(side.found.relation for side in sides)
        return reasons.LATE_ROWS if names & self.late and unread else ""
