"""Drop the blocks that have no disjunct: their condition is true at no instant."""

from __future__ import annotations

from dataclasses import replace

from tapestry.errors import Refusal
from tapestry.sql.arms import AtInstants, Lifted
from tapestry.sql.query_state import QueryState


def drop_impossible(query: QueryState) -> QueryState:
    """The query without what can never hold. Sound: an OR of nothing is false for every row.

    Raises Refusal where nothing is left.
    """
    arms = tuple(
        arm
        if isinstance(arm, AtInstants)
        else replace(arm, blocks=tuple(block for block in arm.blocks if block.disjuncts))
        for arm in query.arms
    )
    kept = tuple(arm for arm in arms if isinstance(arm, Lifted) or arm.blocks)
    if not kept:
        raise Refusal(
            "the query can never have an answer",
            query.sql,
            "check its conditions",
            code="no-answer",
        )
    return query.with_arms(kept)
