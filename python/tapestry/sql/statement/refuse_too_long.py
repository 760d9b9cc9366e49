"""How long the SQL of a run would be, reckoned from the standard form before a word is written.

Alternatives multiply: each way to form a row of FROM (two for an outer join of sources that grow)
is a block, each OR over time or subqueries a disjunct of it, and each lower bound and each start or
end of an inner row a select.  The reckoning follows the strategies, with every row late, and is not
exact: what counts is that no query is accepted whose rendering takes minutes, or whose text no
engine plans.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapestry.errors import Refusal
from tapestry.sql.branches.order import Order
from tapestry.sql.statement.render import Answers
from tapestry.sql.strategies.choose import strategy_for
from tapestry.sql.strategies.sizes import Sizes
from tapestry.sql.work import spend

LONGEST = 1_000_000
"""Characters of a run's SQL, by this reckoning."""
A_UNIT = 20
"""Characters that are written for a unit of work."""


def refuse_too_long(parts: Sequence[Answers], order: Order, sql: str) -> None:
    """Raise Refusal where the SQL of a run would be too long to be written, or planned."""
    characters = text_size(parts, order)
    spend(characters // A_UNIT, "characters of the SQL of a run")
    if characters <= LONGEST:
        return
    blocks = [block for part in parts for block in part.blocks]
    disjuncts = sum(len(block.disjuncts) for block in blocks)
    subqueries = sum(len(one.exists) for block in blocks for one in block.disjuncts)
    raise Refusal(
        f"the SQL of a run would be about {characters / 1e6:,.1f} million characters long (ways to"
        f" form a row of FROM: {len(blocks)}, alternatives in them: {disjuncts}, subqueries in"
        f" those: {subqueries})",
        sql,
        "write it as several models and a UNION ALL of them; use fewer ORs over now() and"
        " subqueries, fewer outer joins and UNIONs inside of joins",
    )


def text_size(parts: Sequence[Answers], order: Order) -> int:
    """About how many characters the longest SQL of a run has."""
    sizes = Sizes(order)
    return sum(
        strategy_for(block).size(block, sizes) * (2 if part.by_value else 1)
        for part in parts
        for block in part.blocks
    )
