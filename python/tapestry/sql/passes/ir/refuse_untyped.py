"""Refuse a column that has no type: Delta cannot read such a column again."""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.query_state import QueryState


def refuse_untyped(query: QueryState) -> QueryState:
    """The query itself; Refusal where a column is NULL in every block."""
    for place, name in enumerate(query.columns):
        arms = [arm for arm in query.arms if place not in arm.audit]
        values = [one[place].unalias() for arm in arms for one in arm.select_lists]
        if values and all(isinstance(value, exp.Null) for value in values):
            raise Refusal(
                f"the column {name} has no type",
                values[0].sql("spark"),
                f"give it one: CAST(NULL AS STRING) AS {name}",
                code="untyped-column",
            )
    return query
