"""A written-out query over one of two versions of its sources.

Every source has up to four relations: its rows of the old version and of the new one, and what the
two differ by as bags, ``minus`` and ``plus``. A version has an instant, at which the clock stands
and until which rows have arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.ir import SourceTable
from tapestry.sql.write import build


class Version(Enum):
    """The version at which the table was kept, or the one to which it is brought."""

    OLD = "old"
    NEW = "new"


VERSIONS = (Version.OLD, Version.NEW)


@dataclass(frozen=True)
class WrittenQuery:
    """A query that is written out.

    tables
        The uses of sources, by alias.
    zone
        The zone in which local times are instants.
    weights
        How large each source is, where that is known.
    """

    query: exp.Query
    tables: Mapping[str, SourceTable]
    zone: str
    weights: Mapping[str, int]

    @property
    def sources(self) -> list[str]:
        """The names of its sources."""
        return sources_in(self.tables)


def sources_in(tables: Mapping[str, SourceTable]) -> list[str]:
    """The names of the sources of these uses, each once, in order."""
    return sorted({table.source for table in tables.values()})


@dataclass
class TwoVersions:
    """The two versions of a query's sources; ``ctes`` are the relations made so far, in order.

    tables
        The uses of sources, by alias.
    moved
        The sources whose rows differ, and which of their versions has rows of its own.
    instants
        What now() is in each version.
    weights
        How large each source is, where that is known.
    hold
        Computes a query at once and says what its relation is called; None: nobody does.
    """

    tables: Mapping[str, SourceTable]
    moved: Mapping[str, frozenset[Version]]
    instants: Mapping[Version, exp.Expr]
    zone: str
    ctes: list[tuple[str, exp.Query]] = field(default_factory=list)
    weights: Mapping[str, int] = field(default_factory=dict)
    hold: Callable[[exp.Query], str] | None = None

    def name(self, source: str, what: str) -> str:
        """Return the name of a source's relation in the texts: old | new | minus | plus."""
        return f"_{what}_{sources_in(self.tables).index(source) + 1}"

    def relation(self, alias: str, version: Version) -> exp.Table:
        """A use of a source in a version."""
        source = self.tables[alias].source
        # One that is the same in both is read by one name, so that it is read once.
        what = "old" if version is Version.OLD and source in self.moved else "new"
        return build.table(self.name(source, what), alias)

    def difference(self, alias: str, version: Version) -> exp.Table:
        """The rows of a use that are in this version alone."""
        source = self.tables[alias].source
        return build.table(self.name(source, "minus" if version is Version.OLD else "plus"), alias)

    def moves(self, alias: str) -> bool:
        """Return whether the rows of a use differ."""
        return self.tables[alias].source in self.moved

    def apart(self, alias: str) -> list[Version]:
        """Return the versions in which a use may have rows that the other one lacks."""
        found = self.moved.get(self.tables[alias].source, frozenset())
        return [version for version in VERSIONS if version in found]

    def keep(self, query: exp.Query, wanted: str) -> str:
        """Add a query under a free name, by which later ones read it; return the name."""
        name = f"_{wanted}_{len(self.ctes) + 1}_"
        self.ctes.append((name, query))
        return name

    def keep_computed(self, query: exp.Query, wanted: str) -> str:
        """Add a query, computed at once where ``hold`` can, as it is read several times."""
        return self.keep(query, wanted) if self.hold is None else self.hold(query)

    def at(self, node: exp.Expr, version: Version) -> exp.Expr:
        """Return a copy of an expression over uses of sources, over this version of them."""
        copy = timing.as_of(node, self.instants[version])
        if isinstance(copy, exp.Table) and copy.name in self.tables:
            return self.relation(copy.name, version)
        for table in list(copy.find_all(exp.Table)):
            if table.name in self.tables and not table.args.get("db"):
                table.replace(self.relation(table.name, version))
        return copy

    def query_at(self, query: exp.Query, version: Version) -> exp.Query:
        """A query over this version of its sources."""
        copy = self.at(query, version)
        assert isinstance(copy, exp.Query)
        return copy

    def passed(self, bounds: Sequence[exp.Expr]) -> exp.Expr:
        """Return the condition that one of the bounds lies between the two instants."""
        low, high = (self.instants[version] for version in VERSIONS)
        together: exp.Expr | None = None
        for bound in map(timing.wrapped, bounds):
            after = exp.GT(this=bound, expression=low.copy())
            until = exp.LTE(this=bound.copy(), expression=high.copy())
            one = exp.Paren(this=exp.And(this=after, expression=until))
            together = one if together is None else exp.Or(this=together, expression=one)
        return exp.Paren(this=together)
