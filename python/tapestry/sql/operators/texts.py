"""Two versions of the sources as SELECTs, and a query over them as a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlglot import exp

from tapestry.quoting import Sql
from tapestry.sql import timing
from tapestry.sql.operators.versions import TwoVersions, Version, WrittenQuery, sources_in
from tapestry.sql.write.dialects import for_dialect


@dataclass(frozen=True)
class SourceVersions:
    """SELECTs of a source: its rows in each version, and those only in one ("": none)."""

    old: str
    new: str
    minus: str
    plus: str


@dataclass(frozen=True)
class Between:
    """Two versions of all sources.

    instants
        What now() is in the old one and in the new one.
    sources
        By the name of each source. Of one that is the same in both, ``new`` alone is read.
    """

    instants: tuple[datetime | str, datetime | str]
    sources: Mapping[str, SourceVersions]

    @property
    def moved(self) -> dict[str, frozenset[Version]]:
        """The sources whose rows differ, with the versions that have rows of their own."""
        found = {}
        for name, one in self.sources.items():
            sides = ((Version.OLD, one.minus), (Version.NEW, one.plus))
            if apart := frozenset(version for version, text in sides if text):
                found[name] = apart
        return found


def two_versions(
    query: WrittenQuery, between: Between, hold: Callable[[Sql], str] | None = None
) -> TwoVersions:
    """Return the versions that a query reads.

    ``hold`` computes a text at once and says what its relation is called.
    """
    old, new = map(timing.literal, between.instants)
    instants = {Version.OLD: old, Version.NEW: new}
    found = TwoVersions(query.tables, between.moved, instants, query.zone, weights=query.weights)
    if hold is not None:

        def held(query: exp.Query) -> str:
            # sql: a tree's text
            return hold(Sql(text_of(query, found.ctes, sources_of(found, between))))

        found.hold = held
    return found


def sources_of(versions: TwoVersions, between: Between) -> list[tuple[str, str]]:
    """Relations of the sources: what each is called in texts, and its SELECT."""
    found = []
    for name in sources_in(versions.tables):
        one = between.sources[name]
        texts = {"new": one.new}
        if name in versions.moved:
            texts |= {"old": one.old, "minus": one.minus, "plus": one.plus}
        texts = {what: text for what, text in texts.items() if text}
        found += [(versions.name(name, what), text) for what, text in texts.items()]
    return found


def text_of(
    query: exp.Query,
    made: Sequence[tuple[str, exp.Query]],
    sources: Sequence[tuple[str, str]],
    dialect: str = "spark",
) -> str:
    """A query behind the relations that were made for it, and those of the sources it reads."""
    trees = [query, *(one for _, one in made)]
    used = {table.name for tree in trees for table in tree.find_all(exp.Table)}
    last, *texts = [for_dialect(tree.copy(), dialect).sql(dialect) for tree in trees]
    named = [(name, text) for name, text in sources if name in used]
    named += [(name, text) for (name, _), text in zip(made, texts, strict=True)]
    ctes = ",\n".join(f"{name} AS (\n{text}\n)" for name, text in named)
    return f"WITH {ctes}\n{last}" if ctes else last
