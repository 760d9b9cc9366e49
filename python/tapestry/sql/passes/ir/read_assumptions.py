"""Read what the author says of the order of arrivals (semantics, section 2, "assume")."""

from __future__ import annotations

from dataclasses import replace

from tapestry.sql.branches.order import parse_assumptions
from tapestry.sql.catalog import Source
from tapestry.sql.facts.walk import source_tables
from tapestry.sql.query_state import QueryState


def read_assumptions(query: QueryState) -> QueryState:
    """The query with its assumptions: of tables that are in it, by the names that the author gave.

    Raises Refusal for one that cannot be read, or is about no arrivals of the query's tables.
    """
    arrivals: dict[str, set[str]] = {}
    for table in source_tables(query.arms):
        if table.appended:
            source = query.catalog.relations[table.source]
            assert isinstance(source, Source)
            assert source.arrival is not None
            arrivals.setdefault(table.written, set()).add(source.arrival.lower())
    assumptions = parse_assumptions(query.assume, arrivals, query.catalog.time_zone)
    return replace(query, assumptions=assumptions)
