"""The query of a derived table over chosen versions of its sources."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from tapestry.errors import Refusal
from tapestry.quoting import relation_name
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.derived.at_rest import NothingToCompareError
from tapestry.runs.kinds.derived.config import key_among
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import ALL_STATIC, Relations, in_session, read_relations
from tapestry.runs.sources.earlier_pins import AsRead
from tapestry.runs.sources.pins import Pin, Pinned
from tapestry.runs.tables.target import commits_after
from tapestry.runs.tables.writers import ANYTHING
from tapestry.sql import static_answer, timing
from tapestry.sql.catalog import Column
from tapestry.sql.read.read_query import read


@dataclass(frozen=True)
class DerivedQuery:
    """A derived model's text and its table."""

    session: Session
    model: Model
    invocation: Invocation

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the table."""
        described = columns_of_table(self.session, self.model.relation)
        return tuple(Column(name, kind) for name, kind in described)

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The columns of `key` (``key_among``)."""
        return key_among(self.model, [column.name for column in self.columns])

    @cached_property
    def now(self) -> Relations:
        """The sources, as this invocation sees them."""
        return self.at({})

    def at(self, pins: Mapping[str, Pin]) -> Relations:
        """Return the sources, some of them at other versions."""
        then = AsRead(self.invocation.pins, pins)
        zone = self.invocation.time_zone
        return read_relations(self.session, self.model.sql, self.model, then, zone, ALL_STATIC)

    def answer(self, pins: Mapping[str, Pin]) -> str:
        """Return a SELECT of the answer over these versions."""
        relations, t = self.at(pins), self.invocation.clock.instant
        return static_answer(self.model.sql, relations.catalog, t, relations.scans())

    @property
    def table(self) -> str:
        """The name of its table, quoted."""
        return relation_name(self.model.relation)

    def pinned(self, name: str) -> Pinned:
        """Return a table that it reads, or that only a rule looks at."""
        found = self.now.tables.get(name) or self.invocation.pins.of(self.session, name)
        if not isinstance(found, Pinned):
            raise NothingToCompareError(f"{name} is no table any more")
        return found

    def looks_at(self, watched: Collection[str], reads: Collection[str]) -> bool:
        """Return whether statements reading these relations read watched tables, even by a view."""
        for name in map(in_session, reads):
            if name in watched or name == ANYTHING:
                return True
            try:
                if not isinstance(self.invocation.pins.of(self.session, name), Pinned):
                    return True
            except Refusal:
                return True
        return False

    def unwatched(self, built: Mapping[str, Pin], watched: Mapping[str, Pin]) -> list[str]:
        """Return the sources that changed since the table was built, and that no rule looks at."""
        found = []
        for name, one in self.now.tables.items():
            was = built.get(name)
            if name in watched or was is None or was == one.pin:
                continue
            commits = commits_after(self.session, name, was.version)
            if was.table_id != one.pin.table_id or not all(c.harmless for c in commits):
                found.append(name)
        if timing.contains_now(read(self.model.sql, self.now.catalog).tree):
            found.append("now()")
        return sorted(found)
