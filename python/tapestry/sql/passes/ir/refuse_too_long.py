"""How long the SQL of a run would be, reckoned from the standard form before a word is written.

Alternatives multiply: each way to form a row of FROM (two for an outer join of sources that grow)
is a block, each OR over time or subqueries a disjunct of it, and each lower bound and each start or
end of an inner row a select.  The reckoning follows the strategies, with every row late, and is not
exact: what counts is that no query is accepted whose rendering takes minutes, or whose text no
engine plans.
"""

from __future__ import annotations

from tapestry.errors import Refusal
from tapestry.sql.branches.order import order_of
from tapestry.sql.query_state import QueryState
from tapestry.sql.strategies.choose import strategy_for
from tapestry.sql.strategies.sizes import Sizes
from tapestry.sql.work import spend

LONGEST = 1_000_000
"""Characters of a run's SQL, by this reckoning."""
A_UNIT = 20
"""Characters that are written for a unit of work."""


def refuse_too_long(query: QueryState) -> QueryState:
    """The query itself; Refusal where the SQL of a run is too long to be written, or planned."""
    characters = text_size(query)
    spend(characters // A_UNIT, "characters of the SQL of a run")
    if characters <= LONGEST:
        return query
    blocks = [block for part in query.parts for block in part.blocks]
    disjuncts = sum(len(block.disjuncts) for block in blocks)
    subqueries = sum(len(one.exists) for block in blocks for one in block.disjuncts)
    raise Refusal(
        f"the SQL of a run would be about {characters / 1e6:,.1f} million characters long (ways to"
        f" form a row of FROM: {len(blocks)}, alternatives in them: {disjuncts}, subqueries in"
        f" those: {subqueries})",
        query.sql,
        "write it as several models and a UNION ALL of them; use fewer ORs over now() and"
        " subqueries, fewer outer joins and UNIONs inside of joins",
        code="too-long",
    )


def text_size(query: QueryState) -> int:
    """About how many characters the longest SQL of a run has: that over late rows of everything."""
    late = frozenset(query.catalog.relations)
    sizes = Sizes(order_of(query.parts, query.catalog, late, query.assumptions))
    return sum(
        strategy_for(block).size(block, sizes) * (2 if part.by_value else 1)
        for part in query.parts
        for block in part.blocks
    )
