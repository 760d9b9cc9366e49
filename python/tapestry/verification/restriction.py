"""Restricts a check to some answers: by a range of one FROM table, or by values of given rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.catalog import Catalog, Column, Source
from tapestry.sql.facts import keys
from tapestry.sql.facts.from_clause import Ctes
from tapestry.verification.rows import is_nested
from tapestry.verification.scopes import arms, by_value, gathers_at_depth, relation_of

Range = tuple[datetime, datetime]
"""``[low, high)`` of an arrival column as it is written (a late row's ts, not its arrival)."""


@dataclass(frozen=True)
class Restriction:
    """The part of ``Q(s)`` that is computed.

    ranges
        Only derivations whose row of the driving table has its arrival column in one of these; ()
        is no restriction. Tables in subqueries stay whole.
    matching
        Only answers with the values of a row of the CTE ``probes``, each at its own instants.
    ids
        Only answers with these values (``keys.of_values``).
    few
        The rows in the ranges are few enough to be sent to every task of a join.
    turn_rows
        A relation that has the driving table's rows in the ranges, and no others (``Definition.
        turn_rows``); '' where the table itself is read.
    """

    ranges: tuple[Range, ...] = ()
    matching: bool = False
    ids: tuple[str, ...] = ()
    few: bool = False
    turn_rows: str = ""

    @property
    def unranged(self) -> Restriction:
        """Without ranges, for a side whose missing rows would make answers (EXCEPT's right)."""
        return Restriction((), self.matching, self.ids)

    @property
    def only_ranges(self) -> Restriction:
        """The ranges alone, for a driving derived table: its values are not the answer's."""
        return Restriction(self.ranges)


WHOLE = Restriction()


@dataclass(frozen=True)
class Driver:
    """The relation of a FROM clause whose rows take turns, to which ranges are applied.

    alias
        Its name in the FROM clause; ``depth`` derived tables further down is ``source``.
    first
        Is it the first relation at every depth, so that its row id can be read in a key?
    """

    alias: str
    source: str
    depth: int
    first: bool


def driver(select: exp.Expr, ctes: Ctes, appended: frozenset[str]) -> Driver | None:
    """Return the first relation that has a row in every derivation, and an arrival.

    Restricting it leaves out derivations and changes none; a restriction of the null side of an
    outer join would make up rows without a match, and one of what is aggregated, ranked or limited
    other values.
    """
    if not isinstance(select, exp.Select) or gathers_at_depth(select, ctes):
        return None
    for position, node in enumerate(_preserved(select)):
        is_first = position == 0 and node is select.args["from_"].this
        if isinstance(node, exp.Table) and (source := relation_of(node, ctes)):
            if source in appended:
                return Driver(node.alias_or_name, source, 0, is_first)
            continue
        body, seen = ctes[node.name.lower()] if isinstance(node, exp.Table) else (node, ctes)
        inside = list(arms(body, seen))
        found = [None if by_value(arm, its) else driver(arm, its, appended) for arm, its in inside]
        if found and (one := found[0]) is not None and None not in found:
            first = is_first and one.first and len(found) == 1
            return Driver(node.alias_or_name, one.source, one.depth + 1, first)
    return None


def _preserved(select: exp.Select) -> list[exp.Expr]:
    """The relations of a FROM clause that have a row in every derivation."""
    from_ = select.args.get("from_")
    kept = [] if from_ is None or is_nested(from_.this) else [from_.this]
    for join in select.args.get("joins") or []:
        if join.side in ("RIGHT", "FULL"):
            kept = []
        if join.side in ("", "RIGHT") and not is_nested(join.this):
            kept.append(join.this)
    return kept


def arrival_column(catalog: Catalog, source: str) -> Column:
    """The column that a source's arrival is written in."""
    relation = catalog.relations[source]
    assert isinstance(relation, Source)
    assert relation.arrival is not None
    wanted = relation.arrival.lower()
    columns = (*relation.columns, *relation.hidden)
    return next(column for column in columns if column.name.lower() == wanted)


def in_ranges(alias: str, column: Column, ranges: Sequence[Range]) -> exp.Expr:
    """Return the condition that the arrival is in one of the ranges; files are skipped by it."""
    reference: exp.Expr = exp.column(column.name.lower(), table=alias)
    if column.type != "timestamp":
        reference = exp.cast(reference, "timestamptz")
    if column.unordered:  # the cast is not to be unwrapped: see ``describe.arrival_sql``
        nothing = exp.Interval(this=exp.Literal.string("0"), unit=exp.var("SECOND"))
        reference = exp.Paren(this=exp.Add(this=reference, expression=nothing))
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


def has_id(values: Sequence[exp.Expr], ids: Sequence[str]) -> exp.Expr:
    """Return the condition that a row of these values is one of the wanted ones."""
    listed = [exp.Literal.string(one) for one in ids]
    return exp.In(this=keys.of_values(values), expressions=listed)
