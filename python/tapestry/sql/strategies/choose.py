"""How the first instant of a derivation is found: the strategies, in the order they are tried.

Everything that depends on the choice asks ``strategy_for``, so that what is shown, reckoned and
rendered is the same. Semantics, section 2, "First instant".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from tapestry.sql.branches.edges import edges
from tapestry.sql.branches.frame import Frame
from tapestry.sql.branches.selects import Reads
from tapestry.sql.ir import Block
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
Ctes = tuple[tuple[str, exp.Query], ...]


@dataclass(frozen=True)
class RenderPlace:
    """Where a block is rendered: over which window, from which reads; ``prefix`` names its CTEs."""

    columns: tuple[str, ...]
    frame: Frame
    reads: Reads
    prefix: str


@dataclass(frozen=True)
class Rendered:
    """Disjoint selects of the derivations whose first instant lies in the window, and their CTEs.

    The select list is the block's, with ``_matched_at``.
    """

    selects: tuple[exp.Select, ...]
    ctes: Ctes = ()


@dataclass(frozen=True)
class Strategy:
    """A way to find the first instants of a block's derivations.

    why
        Why it is exact for the blocks that it ``fits``; ``window``: why it is in one window.
    render
        The SQL of a block at a place; ``size``: about how many characters that has; ``readings``:
        how often its plan reads tables, where that grows faster than the text.
    own_rows
        Nothing but a derivation's own rows says when it holds.
    at_bounds
        A derivation begins where a disjunct's latest lower bound lies, or never.
    by_branches
        Each branch reads one table's rows of the window: what is measured of them is of use.
    """

    name: str
    why: str
    fits: Callable[[Block], bool]
    render: Callable[[Block, RenderPlace], Rendered]
    size: Callable[[Block, Sizes], int]
    readings: Callable[[Block, Sizes], int] = lambda block, sizes: 0
    own_rows: bool = False
    at_bounds: bool = False
    by_branches: bool = False
    window: str = SPLIT


def _few(block: Block) -> bool:
    return len(block.disjuncts) < MANY


def _only_ends(block: Block) -> bool:
    """Is every instant at which a subquery may let a disjunct begin the end of an inner row?"""
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
    "candidates",
    "With EXISTS and nested subqueries an answer can begin only at a lower bound, or where an inner"
    " row starts or ends: each of these is tried, the earliest that holds counts.",
    lambda block: True,
    _by_candidates,
    size_by_candidates,
    readings_of,
    by_branches=True,
)
INSTANTS = Strategy(
    "instants",
    "What is grouped, ranked or limited is evaluated at every instant at which something of it may"
    " change: between two of them the answer stays as it is.",
    lambda block: False,
    _by_candidates,
    size_by_candidates,
    window="Only instants in (tau, t] are looked at, for the groups in which something may change"
    " there; an answer is new if it was none before.",
)
"""Of an arm by itself, not of a block (``tapestry.sql.lifted``)."""
CUMULATIVE = Strategy(
    "cumulative",
    "A group is known by what is kept of it: how many rows and values it has, their sums and"
    " extremes, or its first rows. The rows that begin or end in the window change that, instant"
    " by instant.",
    lambda block: False,
    _by_candidates,
    size_by_candidates,
    window="What begins or ends in (tau, t] is added to what a group has at tau, which history or"
    " the model's memory says; an answer is new if the table does not hold it.",
)
"""Of an arm whose groups have running states (``tapestry.sql.cumulative``)."""
STRATEGIES = (BOUNDS, LEAST, ANTI_JOIN, STAGES, GAPS, CANDIDATES)
"""From the cheapest to the costliest; the first that fits a block is taken."""


def strategy_for(block: Block) -> Strategy:
    """The cheapest exact strategy of a block."""
    return next(strategy for strategy in STRATEGIES if strategy.fits(block))
