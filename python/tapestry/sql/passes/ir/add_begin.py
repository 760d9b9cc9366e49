"""Adds the instant from which a disjunct may hold: the model's begin, or the earliest arrival."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.arms import with_blocks
from tapestry.sql.facts.arrivals import TIME_BEGINS, arrivals
from tapestry.sql.ir import Block, Conjunction
from tapestry.sql.query_state import QueryState


def add_begin(query: QueryState) -> QueryState:
    """Every disjunct bounded from below: by the model's begin, by the begin of time.

    Sound because the instants of interest begin there: before the first arrival there is no row.
    """
    begin = None if query.begin is None else timing.literal(query.begin)
    bounded = partial(_bounded, begin=begin)
    return query.with_arms(tuple(with_blocks(arm, bounded) for arm in query.arms))


def _bounded(block: Block, begin: exp.Expr | None) -> Block:
    disjuncts = []
    for conjunction in block.disjuncts:
        lowers = conjunction.lowers
        if begin is not None:
            lowers += (begin.copy(),)
        elif not _arrives(conjunction):
            # Only static tables: valid since ever, but time begins at the earliest arrival.
            lowers += (TIME_BEGINS.copy(),)
        disjuncts.append(replace(conjunction, lowers=lowers))
    return replace(block, disjuncts=tuple(disjuncts))


def _arrives(conjunction: Conjunction) -> bool:
    """Return whether the conjunction needs a row of an append-only source to be true."""
    if arrivals(conjunction.tables):
        return True
    return any(not one.negated and _arrives(one.inner) for one in conjunction.exists)
