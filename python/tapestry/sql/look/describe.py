"""Standard form as readable SQL: with now() as the author compared it, or with ``s`` solved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from sqlglot import exp, parse_one

from tapestry.sql.branches.frame import Frame, at_most, less
from tapestry.sql.branches.order import Order
from tapestry.sql.branches.selects import Reads, valid_at, where
from tapestry.sql.ir import ATOM, Block, Conjunction, SourceTable, Table
from tapestry.sql.write import build


class Part(Protocol):
    """Blocks whose answers count by derivation, or by value."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The arm's blocks."""

    @property
    def by_value(self) -> bool:
        """Do its answers count by value?"""


S = exp.column("s")
NOW = exp.Anonymous(this="now", expressions=[])


def describe(parts: Sequence[Part], columns: tuple[str, ...], clock: exp.Expr | None = S) -> str:
    """One SELECT for each disjunct; ``UNION ALL`` stands between arms, ``OR`` between disjuncts.

    ``clock`` is the instant that the bounds are compared with; None: the comparisons with now()
    stand as they were before they were solved.
    """
    texts = []
    for part in parts:
        for block in part.blocks:
            alternatives = [
                _select(block, conjunction, columns, clock).sql("spark", pretty=True)
                for conjunction in block.disjuncts
            ]
            texts.append("\n-- OR, for the same derivation\n".join(alternatives))
    union = "\nUNION -- by value\n" if any(part.by_value for part in parts) else "\nUNION ALL\n"
    return union.join(texts)


def _select(
    block: Block, conjunction: Conjunction, columns: tuple[str, ...], clock: exp.Expr | None
) -> exp.Select:
    # sql: only shown, to people
    reads = Reads({name: name for name in _source_names(conjunction)})
    listed = [exp.alias_(v.copy(), n) for v, n in zip(block.select, columns, strict=True)]
    frame = Frame(None, clock or NOW, Order({}, {}, frozenset(), (), "UTC"))
    select = reads.from_clause(build.select(listed), conjunction.tables, frame)
    described = where(select, _conditions(conjunction, reads, frame, clock))
    named = described.transform(_dotted, copy=False)
    assert isinstance(named, exp.Select)
    build.quote(named)
    return named


def _dotted(node: exp.Expr) -> exp.Expr:
    """Where a strategy would name a CTE: the source's own name, in its parts."""
    if isinstance(node, exp.Table) and "." in node.name:
        return exp.to_table(node.name, dialect="spark", alias=node.alias)
    return node


def _conditions(
    conjunction: Conjunction, reads: Reads, frame: Frame, clock: exp.Expr | None
) -> Iterable[exp.Expr]:
    yield from conjunction.conditions
    if clock is None:
        yield from _as_written(conjunction)
    else:
        yield from valid_at(conjunction, clock)
    for exists in conjunction.exists:
        inner = exists.inner
        select = reads.from_clause(build.select_one(), inner.tables, frame)
        node: exp.Expr = exp.Exists(this=where(select, _conditions(inner, reads, frame, clock)))
        yield exp.Not(this=node) if exists.negated else node


def _as_written(conjunction: Conjunction) -> Iterable[exp.Expr]:
    """The time conditions before they were solved; where none is known, the bound and now()."""
    for low in conjunction.lowers:
        yield _atom(low) or at_most(low, NOW)
    for high in conjunction.uppers:
        yield _atom(high) or less(NOW, high)


def _atom(bound: exp.Expr) -> exp.Expr | None:
    text = bound.meta.get(ATOM)
    return None if text is None else parse_one(str(text), dialect="spark")


def _source_names(conjunction: Conjunction) -> Iterable[str]:
    tables: list[Table] = list(conjunction.tables)
    for exists in conjunction.exists:
        yield from _source_names(exists.inner)
    for table in tables:
        if isinstance(table, SourceTable):
            yield table.source
        else:
            for arm in table.universe:
                yield from (t.source for t in arm.tables if isinstance(t, SourceTable))
