"""Chooses a strategy for finding the first instant of an answer, the cheapest exact one first.

Everything that depends on the choice asks ``strategy_for``, so that what is shown, reckoned and
rendered is the same. Semantics, section 2, "First instant".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from tapestry.sql.arms import AtInstants, Evaluated, KeptGroups
from tapestry.sql.branches.edges import edges
from tapestry.sql.branches.place import Rendered, RenderPlace
from tapestry.sql.cumulative.remember import groups_of
from tapestry.sql.ir import Block
from tapestry.sql.lifted.render_lifted import render_lifted
from tapestry.sql.strategies.bounds import fits_bounds, select_by_bounds, size_by_bounds
from tapestry.sql.strategies.candidates import CandidatePlan, size_by_candidates
from tapestry.sql.strategies.chain import is_chain
from tapestry.sql.strategies.least import select_by_least, size_by_least, without_subqueries
from tapestry.sql.strategies.sizes import Sizes, readings_of
from tapestry.sql.strategies.stages import StagePlan, size_by_stages

SPLIT = (
    "max(lower bounds) lies in (tau, t] iff exactly one bound is the first to do so: the"
    " branches are disjoint, together complete, and each reads a narrow range of one table."
)
MANY = 5
"""From so many disjuncts on it is too long to compare each with each other."""


_E = TypeVar("_E")


@dataclass(frozen=True)
class Strategy(Generic[_E]):
    """A way to find the first instants of a block's derivations, or of an arm's answers.

    why
        Why it is exact for those that it ``fits``, of a kind ``of``; ``window``: why it is in one
        window.
    render
        The SQL at a place; ``size``: about how many characters that has; ``readings``: how often
        its plan reads tables, where that grows faster than the text.
    own_rows
        Nothing but a derivation's own rows says when it holds.
    at_bounds
        A derivation begins where a disjunct's latest lower bound lies, or never.
    by_branches
        Each branch reads one table's rows of the window: what is measured of them is of use.
    """

    of: type[_E]
    name: str
    why: str
    fits: Callable[[_E], bool]
    render: Callable[[_E, RenderPlace], Rendered]
    size: Callable[[_E, Sizes], int]
    readings: Callable[[_E, Sizes], int] = lambda one, sizes: 0
    own_rows: bool = False
    at_bounds: bool = False
    by_branches: bool = False
    window: str = SPLIT


def _few(block: Block) -> bool:
    return len(block.disjuncts) < MANY


def _only_ends(block: Block) -> bool:
    """Return whether subqueries let a disjunct begin only where an inner row ends."""
    return all(
        edge.rises_at_end and len(edge.chain) == 1
        for conjunction in block.disjuncts
        for edge in edges(conjunction)
    )


def _by_bounds(block: Block, place: RenderPlace) -> Rendered:
    return Rendered(tuple(select_by_bounds(block, place.columns, place.frame, place.reads)))


def _by_least(block: Block, place: RenderPlace) -> Rendered:
    return Rendered(tuple(select_by_least(block, place.columns, place.frame, place.reads)))


def _by_stages(block: Block, place: RenderPlace) -> Rendered:
    plan = StagePlan(block, place.columns, place.frame, place.reads, place.prefix)
    select = plan.select()
    return Rendered((select,), tuple(plan.ctes))


def _by_candidates(block: Block, place: RenderPlace) -> Rendered:
    plan = CandidatePlan(block, place.columns, place.frame, place.reads, place.prefix)
    select = plan.select()
    return Rendered((select,), tuple(plan.ctes))


BOUNDS = Strategy(
    Block,
    "bounds",
    "Without subqueries an answer holds from the latest of its lower bounds on: that is its first"
    " instant, if no upper bound was reached before.",
    lambda block: without_subqueries(block) and _few(block) and not is_chain(block),
    _by_bounds,
    size_by_bounds,
    own_rows=True,
    at_bounds=True,
    by_branches=True,
)
LEAST = Strategy(
    Block,
    "least",
    "Each of many alternatives without subqueries holds from the latest of its lower bounds on, or"
    " never: the least of those instants is the first one, computed for each row.",
    lambda block: without_subqueries(block) and not is_chain(block),
    _by_least,
    size_by_least,
    own_rows=True,
    at_bounds=True,
)
ANTI_JOIN = Strategy(
    Block,
    "anti_join",
    "A NOT EXISTS whose inner rows never expire stays false once it is: an answer begins at the"
    " latest of its lower bounds, or never.",
    lambda block: fits_bounds(block) and _few(block) and not is_chain(block),
    _by_bounds,
    size_by_bounds,
    at_bounds=True,
    by_branches=True,
)
STAGES = Strategy(
    Block,
    "stages",
    "A LEFT JOIN makes of a row, which holds for a time, one with each match while both hold, and"
    " one with NULLs in between: many are evaluated one after the other, and an answer begins where"
    " its row first does.",
    is_chain,
    _by_stages,
    size_by_stages,
    window="Where an answer begins, a bound lies: of a row that is always there, or of a match."
    " Only rows that a bound in (tau, t] is about are taken, and kept if their first start lies"
    " there.",
)
GAPS = Strategy(
    Block,
    "gaps",
    "A NOT EXISTS whose inner rows expire can become true when one does: an answer begins at the"
    " latest of its lower bounds or at the end of an inner row, whichever holds first.",
    _only_ends,
    _by_candidates,
    size_by_candidates,
    readings_of,
    by_branches=True,
)
CANDIDATES = Strategy(
    Block,
    "candidates",
    "With EXISTS and nested subqueries an answer can begin only at a lower bound, or where an inner"
    " row starts or ends: each of these is tried, the earliest that holds counts.",
    lambda block: True,
    _by_candidates,
    size_by_candidates,
    readings_of,
    by_branches=True,
)
CUMULATIVE = Strategy(
    KeptGroups,
    "cumulative",
    "A group is known by what is kept of it: how many rows and values it has, their sums and"
    " extremes, or its first rows. The rows that begin or end in the window change that, instant"
    " by instant.",
    lambda arm: True,
    lambda arm, place: groups_of(arm, place).rendered(),
    lambda arm, sizes: sum(size_by_bounds(block, sizes) for block in arm.blocks),
    window="What begins or ends in (tau, t] is added to what a group has at tau, which history or"
    " the model's memory says; an answer is new if the table does not hold it.",
)
INSTANTS = Strategy(
    AtInstants,
    "instants",
    "What is grouped, ranked or limited is evaluated at every instant at which something of it may"
    " change: between two of them the answer stays as it is.",
    lambda arm: True,
    render_lifted,
    lambda arm, sizes: 0,
    window="Only instants in (tau, t] are looked at, for the groups in which something may change"
    " there; an answer is new if it was none before.",
)
AnyStrategy: TypeAlias = Strategy[Any]
STRATEGIES: tuple[AnyStrategy, ...] = (
    *(BOUNDS, LEAST, ANTI_JOIN, STAGES, GAPS, CANDIDATES),
    *(CUMULATIVE, INSTANTS),
)
"""From the cheapest to the costliest; the first that fits is taken."""


def strategy_for(one: Evaluated) -> AnyStrategy:
    """Return the cheapest exact strategy of a block, or of an arm by itself."""
    return next(each for each in STRATEGIES if isinstance(one, each.of) and each.fits(one))
