"""The query of a model as a run executes it: rewritten over what it reads now."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from tapestry.errors import QueryChanged, Refusal
from tapestry.names import MATCHED_AT
from tapestry.quoting import remark
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.instants import show
from tapestry.runs.engine.session import Session
from tapestry.runs.expectations.of_model import expected
from tapestry.runs.expectations.validate import Prepared
from tapestry.runs.model.model import Model
from tapestry.runs.query.holding import SMALL
from tapestry.runs.query.relations import Relations, read_relations
from tapestry.runs.query.settings import settings_line, without_unsaid
from tapestry.runs.sources.pins import Pin, Pins
from tapestry.sql import Catalog, Rewriting, Source, rewrite


@dataclass(frozen=True)
class Query:
    """The current query of a model, rewritten over what it reads now."""

    rewriting: Rewriting
    relations: Relations
    canonical: str
    expected: tuple[Prepared, ...] = ()
    sql: str = ""
    begin: datetime | None = None

    @property
    def pins(self) -> dict[str, Pin]:
        """This invocation's pin of every table that the query reads."""
        return {name: self.relations.tables[name].pin for name in self.rewriting.sources}

    @property
    def commits(self) -> list[datetime]:
        """When the tables that the query reads had their newest commits, as far as is known."""
        tables = [self.relations.tables[name].table for name in self.rewriting.sources]
        return [table.changed for table in tables if table.changed is not None]

    @property
    def sizes(self) -> list[int]:
        """Bytes of the tables that the query reads."""
        return [self.relations.tables[name].table.size for name in self.rewriting.sources]

    @property
    def little(self) -> bool:
        """Are all the tables small enough to be held?"""
        return max(self.sizes, default=0) <= SMALL


def read_query(
    session: Session,
    model: Model,
    invocation: Invocation,
    sql: str,
    begin: datetime | None,
    pins: Pins | None = None,
) -> Query:
    """Rewrite a query over the tables and views as they are now, or as ``pins`` have them.

    Raises Refusal for a query that cannot be kept exactly, ConfigurationError for an expectation
    that does not fit its columns.
    """
    pins = pins or invocation.pins
    relations = read_relations(session, sql, model, pins, invocation.time_zone)
    rewriting = _rewritten(sql, relations.catalog, model, invocation, begin)
    if MATCHED_AT in (column.lower() for column in rewriting.columns):
        raise Refusal(
            f"the select list has a column {MATCHED_AT}, which every continuous model adds itself",
            where=model.file,
            hint=f"over another continuous model write select * except ({MATCHED_AT}), or list the"
            f" columns and rename it: {MATCHED_AT} as seen_at",
            code="own-column",
        )
    arrivals = (f"{n}: {relations.arrival(n) or 'static'}" for n in sorted(rewriting.sources))
    canonical = "\n".join(
        [rewriting.canonical, *(f"-- arrival of {remark(text)}" for text in arrivals)]
    )
    if model.config.begin is not None:
        canonical += f"\n-- begin {show(model.config.begin)}"
    canonical += f"\n{settings_line(invocation.settings)}"
    wanted = expected(session, model, invocation, sql, rewriting.columns)
    return Query(rewriting, relations, canonical, wanted, sql, begin)


def over_ended(names: Collection[str], query: Query, model: Model, invocation: Invocation) -> Query:
    """The query over sources with rows that were deleted: each row is there until it ends.

    An end is known late, but not too late: up to the run that finds it, the row was there.
    """
    if not names:
        return query
    relations = dict(query.relations.catalog.relations)
    for name in names:
        source = relations[name]
        assert isinstance(source, Source)
        relations[name] = replace(source, ends=True)
    catalog = replace(query.relations.catalog, relations=relations)
    rewriting = _rewritten(query.sql, catalog, model, invocation, query.begin)
    return replace(query, rewriting=rewriting, relations=replace(query.relations, catalog=catalog))


def _rewritten(
    sql: str, catalog: Catalog, model: Model, invocation: Invocation, begin: datetime | None
) -> Rewriting:
    known = tuple(sorted(catalog.relations.items(), key=lambda item: item[0]))
    settings = (catalog.time_zone, catalog.deterministic_functions)
    key = (sql, known, settings, begin, model.config.assume)
    rewriting = invocation.memory.rewriting(key)
    if rewriting is None:
        rewriting = rewrite(sql, catalog, assume=model.config.assume, begin=begin)
        invocation.memory.note_rewriting(key, rewriting)
    return rewriting


def query_changed(model: Model, old: str, query: Query) -> QueryChanged:
    """The error, with the first lines that differ from ``old``, the canonical text so far."""
    new = without_unsaid(query.canonical, old)
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
    # The first two name the texts; a comment that went begins like them.
    changes = [line for line in [*lines][2:] if not line.startswith("@@")]
    shown = " ".join(f"{line[0]} {' '.join(line[1:].split())}" for line in changes[:4])
    return QueryChanged(
        f"{model.name} is not the query that its table was grown with: {shown[:300]}",
        where=model.file,
        hint="on_query_change: continue (new text from now on) or refresh (all of history again),"
        " or run with --full-refresh",
    )
