"""Refuses a query whose SQL in a run would be too long, estimated before it is rendered.

Alternatives multiply: each way to form a row of FROM (two for an outer join of sources that grow)
is a block, each OR over time or subqueries a disjunct of it, and each lower bound and each start or
end of an inner row a select.  The reckoning follows the strategies, with every row late, and is not
exact: what counts is that no query is accepted whose rendering takes minutes, or whose text no
engine plans.
"""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.arms import evaluated
from tapestry.sql.branches.order import order_of
from tapestry.sql.catalog import Source
from tapestry.sql.choose_strategy import strategy_for
from tapestry.sql.query_state import QueryState
from tapestry.sql.read.parse import table_name
from tapestry.sql.strategies.sizes import Sizes
from tapestry.sql.work import spend

LONGEST = 1_000_000
"""Characters of a run's SQL, by this reckoning."""
MOST_READINGS = 20_000
"""Tables in the plan of a run: 14,000 took Spark 20 s and most of 1 GB to plan."""
A_UNIT = 20
"""Characters that are written for a unit of work."""

FEWER = (
    "write it as several models and a UNION ALL of them; use fewer ORs over now() and subqueries,"
    " fewer outer joins and UNIONs inside of joins"
)
OUTER_JOINS = (
    "join in several models, the later ones reading the earlier ones, or write JOIN where a match"
    " is certain; many LEFT JOINs make no more ways where each is to one table, by an ON without a"
    " subquery or an OR over now(), and no EXISTS, IN or DISTINCT stands beside them"
)


def refuse_too_long(query: QueryState) -> QueryState:
    """The query itself; Refusal where the SQL of a run is too long to be written, or planned."""
    characters = text_size(query)
    spend(characters // A_UNIT, "characters of the SQL of a run")
    if characters <= LONGEST:
        _refuse_many_readings(query)
        return query
    blocks = [block for arm in query.arms for block in arm.blocks]
    disjuncts = sum(len(block.disjuncts) for block in blocks)
    subqueries = sum(len(one.exists) for block in blocks for one in block.disjuncts)
    outer = _outer_joins(query)
    triples = f"; each of {', '.join(outer)} about triples it" if outer else ""
    raise Refusal(
        f"the SQL of a run would be about {characters / 1e6:,.1f} million characters long (ways to"
        f" form a row of FROM: {len(blocks)}, alternatives in them: {disjuncts}, subqueries in"
        f" those: {subqueries}{triples})",
        query.sql,
        OUTER_JOINS if outer else FEWER,
        code="too-long",
    )


def _refuse_many_readings(query: QueryState) -> None:
    """Raise Refusal for a short text that is a huge plan: Spark writes out every CTE in it."""
    sizes = _sizes_of(query)
    blocks = [block for arm in query.arms for block in arm.blocks]
    each = [one for arm in query.arms for one in evaluated(arm)]
    readings = sum(strategy_for(one).readings(one, sizes) for one in each)
    if readings <= MOST_READINGS:
        return
    disjuncts = sum(len(block.disjuncts) for block in blocks)
    raise Refusal(
        f"the plan of a run would read tables about {readings:,} times, more than"
        f" {MOST_READINGS:,} (alternatives: {disjuncts}; each is tried at every instant at which a"
        " subquery may change, and each of those against all of them)",
        query.sql,
        FEWER,
        code="too-long",
    )


def _outer_joins(query: QueryState) -> list[str]:
    """The outer joins that make two ways of each: not those to look-up tables alone."""
    found = []
    for join in query.written.find_all(exp.Join):
        known = None
        if isinstance(join.this, exp.Table):
            known = query.catalog.relations.get(table_name(join.this))
        static = isinstance(known, Source) and known.arrival is None
        if join.side and not (static and join.side == "LEFT"):
            found.append(f"{join.side} JOIN {join.alias_or_name}")
    return found


def text_size(query: QueryState) -> int:
    """About how many characters the longest SQL of a run has: that over late rows of everything."""
    sizes = _sizes_of(query)
    return sum(
        strategy_for(one).size(one, sizes) * (2 if arm.by_value else 1)
        for arm in query.arms
        for one in evaluated(arm)
    )


def _sizes_of(query: QueryState) -> Sizes:
    late = frozenset(query.catalog.relations)
    return Sizes(order_of(query.arms, query.catalog, late, query.assumptions))
