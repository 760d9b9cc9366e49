"""Bring every arm to a disjunction of conjunctions (semantics, section 2, "Standard form")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapestry.errors import Refusal
from tapestry.sql.arms import AtInstants
from tapestry.sql.ir import Arm, Block
from tapestry.sql.normalize.standard_form import StandardForms
from tapestry.sql.query_state import QueryState

ALTERNATIVES = 1_024
"""So many disjuncts may an arm of the outermost UNION ALL have, all its blocks together."""


def to_standard_form(query: QueryState) -> QueryState:
    """The query as blocks, those of its tables by value and subqueries included.

    Sound because a WHERE keeps a row iff its condition is true, and in three-valued logic OR is
    true iff some part is, AND iff all parts are; and a row counts from its arrival on.

    Raises Refusal for more than 64 disjuncts of an arm, or 1,024 of all of a UNION ALL's arm.
    """
    forms = StandardForms()
    arms = (
        outer
        if isinstance(outer, AtInstants)
        else replace(outer, arms=(), blocks=tuple(_blocks(outer.arms, forms, query.sql)))
        for outer in query.arms
    )
    with query.as_place():
        return query.with_arms(tuple(arms))


def _blocks(arms: tuple[Arm, ...], forms: StandardForms, sql: str) -> Iterator[Block]:
    disjuncts = 0
    for arm in arms:
        block = forms.of(arm)
        disjuncts += len(block.disjuncts)
        if disjuncts > ALTERNATIVES:
            raise Refusal(
                f"the query has more than {ALTERNATIVES} alternatives: {len(arms)} ways to form a"
                " row of FROM (outer joins, UNION ALL), times the ORs over now() and subqueries",
                sql,
                "write it as several models and a UNION ALL of them, fewer ORs and outer joins",
                code="too-many-alternatives",
            )
        yield block
