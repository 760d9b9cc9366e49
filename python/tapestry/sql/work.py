"""Bounds the work that a query's text may cost: one budget for all that is derived from it.

Nothing in SQL bounds what a short text stands for: CTEs that use the one before twice double it,
comparisons of conditions double their alternatives. So whoever makes many of something says so
*before* it is made (``spend``), and a text that would cost more is refused with what grew. What is
counted are nodes of trees, not seconds: a text is accepted on every machine or on none. A model of
one's own may take a while, which is said; texts of strangers are judged within ``of_strangers``.

The budget is a context variable, not an argument: it belongs to the text, not to a pass, and would
pass through a hundred functions that have no other use for it. ``bounded`` alone sets it; what it
calls shares the budget of the outermost one.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from time import monotonic
from typing import Any, Generic, ParamSpec, TypeVar

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.copies import copied

logger = logging.getLogger(__name__)

STRANGERS = 250_000
"""Units of work for one text of strangers: one takes three to ten microseconds."""
MOST = 20 * STRANGERS
"""Units of work for one text of one's own."""
PATIENCE = 3.0
"""Seconds after which it is said what takes long."""
FRAMES = 6_000
"""Python calls inside of each other, which a tree of ``DEEPEST`` levels needs at most."""
NODE = 6
"""Units for a node that all passes up to the names go over."""
DEEPEST = 500
"""Levels of a query's tree."""
_HINT = (
    "write steps that are used several times as models, and several models with a UNION ALL of"
    " them; use fewer ORs, comparisons of conditions, and tables in one query"
)
REMEMBERED = 32
"""So many texts keep their trees: one is read a few times in a row, by several that work on it."""
_P = ParamSpec("_P")
_T = TypeVar("_T")
_R = TypeVar("_R")
_Q = TypeVar("_Q", bound=exp.Expr)


@dataclass
class _Work:
    """The cost of one text so far, by kind of things made, and its limit."""

    sql: str
    most: int
    begun: float = field(default_factory=monotonic)
    told: bool = False
    done: Counter[str] = field(default_factory=Counter)
    total: int = 0
    spare: Counter[str] = field(default_factory=Counter)
    """The units of optional work, which could have been left out, by the things made."""
    parts: set[tuple[object, object]] = field(default_factory=set)
    """The parts of readings that it has paid for."""

    def shares(self) -> str:
        """Return the kinds of work that cost most, with their shares."""
        most = self.done.most_common(3)
        return ", ".join(f"{kind}: {n / self.total:.0%}" for kind, n in most)


_work: ContextVar[_Work | None] = ContextVar("work", default=None)
_most: ContextVar[int | None] = ContextVar("most", default=None)
_kept: ContextVar[dict[str, list[Any]] | None] = ContextVar("kept", default=None)
"""Text -> its tree and cost, where all texts keep their trees."""


@contextmanager
def of_strangers() -> Iterator[None]:
    """Bound each text in here as one of strangers: it costs some two seconds, or is refused."""
    token = _most.set(STRANGERS)
    try:
        yield
    finally:
        _most.reset(token)


def spend(units: int, what: str, where: str = "") -> None:
    """Note that so much work comes next.

    Raises Refusal where it is more than a text may cost; ``what`` says of what there are so many.
    """
    work = _work.get()
    if work is None:
        return
    work.done[what] += units
    work.total += units
    if work.total > work.most:
        most = ", ".join(f"{kind}: {n / work.most:.0%}" for kind, n in work.done.most_common(3))
        raise Refusal(
            f"the query stands for too much to be rewritten in time ({most} of what is allowed)",
            where or work.sql,
            _HINT,
            code="too-costly",
        )
    if not work.told and monotonic() - work.begun > PATIENCE:
        work.told = True
        first = next((line.strip() for line in work.sql.splitlines() if line.strip()), "")
        logger.warning(
            "rewriting the query `%s …` takes long (so far %s); %s",
            first[:60],
            work.shares(),
            _HINT,
        )


def afford(units: int, what: str, most: int) -> bool:
    """Note optional work, up to ``most`` units of a kind; return False to leave it out.

    It is no part of what a text may cost: none is refused because of it.
    """
    work = _work.get()
    if work is None:
        return True
    if work.spare[what] + units > most:
        return False
    work.spare[what] += units
    return True


@contextmanager
def bounded(sql: str) -> Iterator[None]:
    """Bound the work on a text; inside of another one it belongs to that.

    Raises Refusal, too, where the text is nested more deeply than Python's calls can be.
    """
    if _work.get() is not None:
        yield
        return
    # Raised for good: another thread may be in the middle of a deep tree.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), FRAMES))
    token = _work.set(_Work(sql, _most.get() or MOST))
    try:
        yield
    except RecursionError:
        raise too_deep(sql) from None
    finally:
        _work.reset(token)


@contextmanager
def unbounded() -> Iterator[None]:
    """Count work for no text, as that of a text which was counted before."""
    token = _work.set(None)
    try:
        yield
    finally:
        _work.reset(token)


def bounded_by_text(made: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return the function with its work bounded; its first argument is the query's text."""

    @wraps(made)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        with bounded(str(args[0] if args else kwargs.get("sql", ""))):
            return made(*args, **kwargs)

    return wrapper


@contextmanager
def keeping_trees() -> Iterator[None]:
    """Let each text that is parsed be parsed once, however many there are, until the end."""
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def remembered(parsed: Callable[[str], _Q]) -> Callable[[str], _Q]:
    """Cache a function from a text to its tree: the last texts, their trees and costs.

    Whoever asks again gets a copy and spends the same units, so that a text is accepted whether it
    was asked before or not. A text that is refused is not remembered.
    """

    @lru_cache(maxsize=REMEMBERED)
    def place(sql: str) -> list[tuple[_Q, Counter[str]]]:
        return []

    @wraps(parsed)
    def wrapper(sql: str) -> _Q:
        kept = _kept.get()
        known = place(sql) if kept is None else kept.setdefault(sql, [])
        if known:
            tree, cost = known[0]
            for what, units in cost.items():
                spend(units, what)
            return copied(tree)
        work = _work.get()
        before = Counter() if work is None else work.done.copy()
        tree = parsed(sql)
        if work is not None:
            known.append((copied(tree), work.done - before))
        return tree

    return wrapper


class ReadPart(Generic[_T]):
    """A part of the reading of a text, ``owner.sql``: a property that is made once.

    Each text in work that asks for it spends what it cost, once, and what those cost that it is
    made of: a text is accepted whether it was read before or not. A refusal is not remembered.
    """

    def __init__(self, made: Callable[[Any], _T], before: ReadPart[Any] | None = None) -> None:
        self._made, self._before, self.__doc__ = made, before, made.__doc__
        self._name = f"_{made.__name__}"

    @staticmethod
    def behind(before: ReadPart[Any]) -> Callable[[Callable[[Any], _R]], ReadPart[_R]]:
        """Return a decorator for a part that is computed from another one."""
        return lambda made: ReadPart(made, before)

    def __get__(self, owner: Any, kind: type[Any]) -> _T:
        with bounded(owner.sql):
            work = _work.get()
            assert work is not None
            if self._before is not None:
                self._before.__get__(owner, kind)
            known: tuple[_T, Counter[str]] | None = vars(owner).get(self._name)
            if known is None:
                before = work.done.copy()
                made = self._made(owner)
                known = vars(owner)[self._name] = (made, work.done - before)
            elif (owner, self) not in work.parts:
                for what, units in known[1].items():
                    spend(units, what)
            work.parts.add((owner, self))
            return known[0]


def too_deep(where: str) -> Refusal:
    """Return the refusal of a text that is nested too deeply."""
    return Refusal(
        "the query is nested too deeply",
        where,
        "unite fewer queries at once, or put steps into models of their own",
        code="nested-too-deeply",
    )


def spent() -> int:
    """Return the units that the text in work has cost so far; 0 outside of ``bounded``."""
    work = _work.get()
    return 0 if work is None else work.total


def size(node: exp.Expr) -> int:
    """Return the number of nodes of a tree."""
    return sum(1 for _ in node.walk())


def spend_tree(tree: exp.Expr, what: str) -> None:
    """Spend what the passes up to the names cost a query; raise Refusal for one too deep.

    A pass that looks up from each node climbs as many levels as there are above it.
    """
    count = levels = literals = 0
    left = [(tree, 1)]
    while left:
        node, depth = left.pop()
        count += 1
        literals += isinstance(node, exp.Literal)
        levels += depth
        if depth > DEEPEST:
            work = _work.get()
            raise too_deep(tree.key.upper() if work is None else work.sql)
        left += [(child, depth + 1) for child in node.iter_expressions()]
    spend(NODE * (count - literals) + 2 * literals + levels // 20, what)
