"""Standard form as readable SQL with ``s`` for the instant: what ``explain`` and people read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from sqlglot import exp

from tapestry.sql import build
from tapestry.sql.frame import Frame
from tapestry.sql.ir import Block, Conjunction, SourceTable, Table
from tapestry.sql.order import Order
from tapestry.sql.selects import Reads, valid_at, where


class Part(Protocol):
    """Blocks whose answers count by derivation, or by value."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The arm's blocks."""

    @property
    def by_value(self) -> bool:
        """Do its answers count by value?"""


def describe(parts: Sequence[Part], columns: tuple[str, ...]) -> str:
    """One SELECT for each disjunct; ``UNION ALL`` stands between arms, ``OR`` between disjuncts."""
    texts = []
    for part in parts:
        for block in part.blocks:
            alternatives = [
                _select(block, conjunction, columns).sql("spark", pretty=True)
                for conjunction in block.disjuncts
            ]
            texts.append("\n-- OR, for the same derivation\n".join(alternatives))
    union = "\nUNION -- by value\n" if any(part.by_value for part in parts) else "\nUNION ALL\n"
    return union.join(texts)


def _select(block: Block, conjunction: Conjunction, columns: tuple[str, ...]) -> exp.Select:
    reads = Reads({name: name for name in _source_names(conjunction)})
    listed = [exp.alias_(v.copy(), n) for v, n in zip(block.select, columns, strict=True)]
    frame = Frame(None, exp.column("s"), Order({}, {}, frozenset(), (), "UTC"))
    select = reads.from_clause(build.select(listed), conjunction.tables, frame)
    return where(select, _conditions(conjunction, reads, frame))


def _conditions(conjunction: Conjunction, reads: Reads, frame: Frame) -> Iterable[exp.Expr]:
    yield from conjunction.conditions
    yield from valid_at(conjunction, exp.column("s"))
    for exists in conjunction.exists:
        inner = exists.inner
        select = reads.from_clause(build.select_one(), inner.tables, frame)
        node: exp.Expr = exp.Exists(this=where(select, _conditions(inner, reads, frame)))
        yield exp.Not(this=node) if exists.negated else node


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
