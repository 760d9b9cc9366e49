"""The query of a maintained model as a run executes it, and whether it is kept by keys."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from tapestry.quoting import Sql, identifier, remark
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_query, sql_type
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.maintained.declared import NOTHING_DECLARED, Declared, declared
from tapestry.runs.kinds.maintained.how_kept import HowKept, how_kept, refuse
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import ALL_STATIC, STATIC, Relations, read_relations
from tapestry.runs.query.settings import settings_line
from tapestry.runs.sources.contents import canonical
from tapestry.runs.sources.describe import refuse_reserved
from tapestry.runs.sources.difference import ReadSource
from tapestry.runs.sources.pins import Pin, Pins
from tapestry.sql import static_answer, timing
from tapestry.sql.catalog import Column
from tapestry.sql.operators.compare_versions import read_columns
from tapestry.sql.operators.run_stamps import Stamp, apart_from_stamps
from tapestry.sql.operators.steady import unsteady_places
from tapestry.sql.operators.texts import Between, SourceVersions
from tapestry.sql.read.read_query import ReadQuery


@dataclass(frozen=True)
class MaintainedQuery:
    """A text over the sources as they are pinned now.

    read
        The query, without the columns that say when a row was written.
    columns
        The columns of the answer, with Spark's names of their types.
    kept
        The ways to follow a change of its sources.
    unsteady
        Columns whose values are not the same each time they are computed from the same rows.
    declared
        The author's declarations about its rows.
    shown
        The columns of the table: those of the answer, and of ``stamps`` those that say when a row
        was written.
    """

    read: ReadQuery
    relations: Relations
    canonical: str
    columns: tuple[Column, ...]
    kept: HowKept
    unsteady: frozenset[str] = frozenset()
    declared: Declared = NOTHING_DECLARED
    shown: tuple[Column, ...] = ()
    stamps: tuple[Stamp, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(column.name for column in self.columns)

    @property
    def written(self) -> tuple[str, ...]:
        """The names of the columns of the table."""
        return tuple(column.name for column in self.shown)

    @property
    def stamp_names(self) -> tuple[str, ...]:
        """The names of the columns that say when a row was written."""
        return tuple(self.written[one.place] for one in self.stamps)

    def stamped(self, select: str, t: datetime) -> str:
        """Return rows of the answer as a run at t writes them."""
        if not self.stamps:
            return select
        stamps, listed = {one.place: one for one in self.stamps}, []
        for place, column in enumerate(self.shown):
            name = identifier(column.name)
            stamp = stamps.get(place)
            if stamp is not None:
                name = Sql(f"CAST({stamp.at(t)} AS {sql_type(column.type)}) AS {name}")
            listed.append(name)
        return f"SELECT {', '.join(listed)} FROM (\n{select}\n)"

    @property
    def unique(self) -> tuple[str, ...]:
        """The columns of `unique_key`."""
        return tuple(self.names[place] for place in self.declared.unique)

    @property
    def pins(self) -> dict[str, Pin]:
        """This invocation's pin of every table that it reads."""
        return {name: one.pin for name, one in self.relations.tables.items()}

    @property
    def size(self) -> int:
        """The size in bytes of the tables that it reads."""
        return self.relations.size

    def size_of(self, sources: Collection[str]) -> int:
        """Return the size in bytes of some of its sources."""
        return sum(self.relations.tables[name].table.size for name in sources)

    def now(self, t: datetime) -> Between:
        """Return its sources at their pins, with rows that arrived by t, as both versions."""
        found = {}
        for name, one in self.sources.items():
            found[name] = SourceVersions("", one.rows(self.pins[name].version, t), "", "")
        return Between((t, t), found)

    @property
    def uncomparable(self) -> str:
        """Return a column of the answer whose values are not compared; '' for none."""
        odd = (c for c in self.columns if canonical("e", c.type) != "e")
        return next((f"{c.name} {c.type}" for c in odd), "")

    @cached_property
    def arrives(self) -> bool:
        """Whether rows of a source may arrive after they were added."""
        return any(self.relations.arrival(name) for name in self.relations.tables)

    @cached_property
    def reads_clock(self) -> bool:
        """Whether its answer may change while nothing is written."""
        return timing.contains_now(self.read.tree)

    def answer(self, t: datetime) -> str:
        """Return Q(t), by the definition."""
        return static_answer(self.read.sql, self.relations.catalog, t, self.relations.scans())

    @cached_property
    def sources(self) -> Mapping[str, ReadSource]:
        """Its sources, each with the columns that it reads."""
        assert self.kept.written is not None
        found, wanted = {}, read_columns(self.kept.written)
        for name in self.kept.written.sources:
            table, names = self.relations.tables[name].table, wanted[name]
            columns = tuple(c for c in table.columns if c.name.lower() in names)
            columns = columns or table.columns[:1]  # count(*) reads none
            found[name] = ReadSource(table, columns, self.relations.arrives(name))
        return found


def read_query(
    session: Session,
    model: Model,
    invocation: Invocation,
    sql: str = "",
    pins: Pins | None = None,
) -> MaintainedQuery:
    """Read a model's text, or another one, over the present tables, or as ``pins`` have them.

    Raises Refusal for a query that cannot be kept exactly, or not by its `unique_key`,
    ConfigurationError for an expectation or a key that does not fit its columns.
    """
    sql, pins, zone = sql or model.sql, pins or invocation.pins, invocation.time_zone
    relations = read_relations(session, sql, model, pins, zone, ALL_STATIC)
    whole = refuse(sql, relations.catalog)
    shown = _columns(session, invocation, whole, relations)
    refuse_reserved(model.name, shown, ())
    query, stamps = apart_from_stamps(whole)
    places = {one.place for one in stamps}
    columns = tuple(column for place, column in enumerate(shown) if place not in places)
    unsteady = unsteady_places(query.tree, query.catalog)
    names = frozenset(columns[place].name for place in unsteady or ())
    said = declared(session, model, invocation, columns, shown)
    weights = {name: one.table.size for name, one in relations.tables.items()}
    kept = how_kept(query, unsteady is None, weights, said.unique)
    text = _canonical(whole, relations, invocation, said.lines(columns))
    found = MaintainedQuery(query, relations, text, columns, kept, names, said)
    return replace(found, shown=shown, stamps=stamps)


def _columns(
    session: Session, invocation: Invocation, query: ReadQuery, relations: Relations
) -> tuple[Column, ...]:
    answer = static_answer(
        query.sql, relations.catalog, invocation.clock.instant, relations.scans()
    )
    key = ("columns of an answer", query.sql, relations.catalog)
    described = invocation.remember(key, lambda: columns_of_query(session, answer))
    named = zip(query.columns, described, strict=True)
    return tuple(Column(name, kind.lower()) for name, (_, kind) in named)


def _canonical(
    query: ReadQuery, relations: Relations, invocation: Invocation, said: Iterable[str]
) -> str:
    arrivals = (f"{n}: {relations.arrival(n) or STATIC}" for n in sorted(relations.tables))
    lines = [query.canonical, *(f"-- arrival of {remark(text)}" for text in arrivals), *said]
    return "\n".join([*lines, settings_line(invocation.settings)])
