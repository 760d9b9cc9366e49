"""Refuse a query whose sources are all static: its answers would never change."""

from __future__ import annotations

from tapestry.errors import Refusal
from tapestry.sql.catalog import Source
from tapestry.sql.query_state import QueryState


def refuse_static(query: QueryState) -> QueryState:
    """The query itself; Refusal where no source that it names grows."""
    for name in query.named:
        relation = query.catalog.relations[name]
        if isinstance(relation, Source) and relation.arrival is not None:
            return query
    raise Refusal(
        "no source of this query grows: all are static",
        query.sql,
        "name the arrival column of one (loaded_at_field, or meta: {arrival: ts}), or use a table",
        code="only-static",
    )
