"""Which answers a check looks at: a range of one FROM table, or the values of given rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.catalog import Column
from tapestry.verification.scopes import Ctes, relation_of

Range = tuple[datetime, datetime]
"""``[low, high)`` of an arrival column as it is written (a late row's ts, not its arrival)."""


@dataclass(frozen=True)
class Restriction:
    """What of ``Q(s)`` is computed.

    ranges
        Only derivations whose row of the driving table has its arrival column in one of these; ()
        is no restriction. Tables in subqueries stay whole.
    matching
        Only answers with the values of a row of the CTE ``probes``, each at its own instants.
    """

    ranges: tuple[Range, ...] = ()
    matching: bool = False

    @property
    def unranged(self) -> Restriction:
        """Without the ranges: for a side whose missing rows would make answers (EXCEPT's right)."""
        return Restriction((), self.matching)


WHOLE = Restriction()


def preserved(select: exp.Select) -> list[exp.Expr]:
    """The relations of a FROM clause that have a row in every derivation.

    A restriction of one of them leaves out derivations and changes none; a restriction of the null
    side of an outer join would make up rows without a match.
    """
    from_ = select.args.get("from_")
    if from_ is None:
        return []
    kept = _inside(from_.this)
    for join in select.args.get("joins") or []:
        if join.side in ("RIGHT", "FULL"):
            kept = []
        if join.side in ("", "RIGHT"):
            kept = kept + _inside(join.this)
    return kept


def _inside(node: exp.Expr) -> list[exp.Expr]:
    nested = isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table)
    return [] if nested or node.args.get("joins") else [node]


def driving(select: exp.Select, ctes: Ctes, appended: frozenset[str]) -> exp.Table | None:
    """The first preserved table with an arrival: the one whose rows take turns."""
    for node in preserved(select):
        if isinstance(node, exp.Table) and relation_of(node, ctes) in appended:
            return node
    return None


def in_ranges(alias: str, column: Column, ranges: tuple[Range, ...]) -> exp.Expr:
    """The table's arrival column lies in one of the ranges: file statistics leave out the rest."""
    reference: exp.Expr = exp.column(column.name.lower(), table=alias)
    if column.type != "timestamp":
        reference = exp.cast(reference, "timestamptz")
    parts = [
        exp.And(
            this=exp.GTE(this=reference.copy(), expression=timing.literal(low)),
            expression=exp.LT(this=reference.copy(), expression=timing.literal(high)),
        )
        for low, high in ranges
    ]
    together: exp.Expr = parts[0]
    for part in parts[1:]:
        together = exp.Or(this=together, expression=part)
    return exp.Paren(this=together)
