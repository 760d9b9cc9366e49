"""The counts and sums that a maintained model keeps of its groups, in the state of its table.

A change is added to or taken off them, and the answer is read from them: no unchanged row of a
source is read again. They are kept where groups are few, and stand in the state row of the run that
they belong to: the table and its sums are of one run or neither is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cached_property, partial
from typing import Any

from tapestry.quoting import Sql
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_query
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.maintained.query import MaintainedQuery
from tapestry.runs.kinds.maintained.rows_as_text import (
    are_exact,
    as_text,
    is_exact,
    select_of,
)
from tapestry.runs.kinds.maintained.source_versions import SourcesCompared
from tapestry.runs.query.holding import SMALL
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql.operators.changed_rows import SIGN
from tapestry.sql.operators.read_sums import over_sums, sums_apart, sums_at
from tapestry.sql.operators.sums import SummedBlock, SummedQuery
from tapestry.sql.operators.texts import Between

OWN = "sums"
"""Their name in the state row."""
MANY = "many"
"""Stands there where they are too many to be kept."""
LONGEST = 90_000
"""So many characters have the counts and sums of a model, at most."""
_ROWS = 20_000
"""So many rows are read of them."""
_BIGINT = Decimal(2**63)
_WIDE = Context(prec=120, rounding=ROUND_HALF_UP)

Group = tuple[str | None, ...]
Sums = tuple[Decimal, ...]
Groups = dict[Group, Sums]


@dataclass(frozen=True)
class KeptSums:
    """The groups of every block of a query, with the types of its columns.

    types
        By block: its columns and their types, those of averages behind the others.
    """

    summed: SummedQuery
    types: tuple[tuple[tuple[str, str], ...], ...]
    groups: tuple[Groups, ...]

    @property
    def own(self) -> dict[str, Any]:
        """Return the groups in the form of the state row."""
        return {
            OWN: [
                [[*group, *map(str, sums)] for group, sums in sorted(groups.items(), key=repr)]
                for groups in self.groups
            ]
        }

    def answer(self, now: Between, columns: Sequence[str]) -> str:
        """Return the SELECT of the query's answer, which reads these groups."""
        texts = [
            _relation(block, types, groups)
            for block, types, groups in zip(
                self.summed.blocks, self.types, self.groups, strict=True
            )
        ]
        return over_sums(self.summed, texts, now, columns)


@dataclass(frozen=True)
class SumsOfRun:
    """The counts and sums of a query in one run.

    ``asked``: they are kept wherever they can be, not only where that costs less than the answer.
    """

    session: Session
    invocation: Invocation
    query: MaintainedQuery
    asked: bool

    def first(self, last: StateRow | None = None) -> KeptSums | None:
        """Compute the sums over the present sources; None: they are not kept.

        If those of the ``last`` run were too many, they are still taken to be.
        """
        summed = self.summed
        if last is not None and last.after.own.get(OWN) == MANY:
            return None
        if summed is None or (types := self._types(summed)) is None:
            return None
        found = []
        for block, of in zip(summed.blocks, types, strict=True):
            text = sums_at(summed, block, self.query.now(self.t))
            groups = _added({}, _read(self.session, block, of, text, "1"), block)
            if groups is None:
                return None
            found.append(groups)
        return _bounded(KeptSums(summed, types, tuple(found)))

    def anew(self, last: StateRow) -> KeptSums | None:
        """Compute the sums over the present sources if the last run had no reason to keep any."""
        return self.first() if OWN not in last.after.own else None

    def go_on(self, last: StateRow) -> bool:
        """Return whether the last run left sums to which a change can be added."""
        return self.summed is not None and isinstance(last.after.own.get(OWN), list)

    def own(self, sums: KeptSums | None) -> dict[str, Any]:
        """Return an object for the state row of the run."""
        if sums is not None:
            return sums.own
        return {} if self.summed is None else {OWN: MANY}

    def later(
        self, last: StateRow, sources: SourcesCompared, hold: Callable[[Sql], str]
    ) -> KeptSums | None:
        """Return those of the last run with a change added; None: they are not kept.

        ``hold`` computes a SELECT at once and returns its relation's name.
        """
        summed, kept = self.summed, last.after.own.get(OWN)
        if summed is None or not isinstance(kept, list) or len(kept) != len(summed.blocks):
            return None
        if (types := self._types(summed)) is None:
            return None
        between, found = Between((last.after.t, self.t), sources.versions), []
        for block, of, rows in zip(summed.blocks, types, kept, strict=True):
            text = sums_apart(summed, block, between, hold=hold)
            changed = _read(self.session, block, of, text, SIGN) if text else ()
            groups = _added(_kept(block, rows), changed, block)
            if groups is None:
                return None
            found.append(groups)
        return _bounded(KeptSums(summed, types, tuple(found)))

    def answer(self, sums: KeptSums) -> str:
        """Return the SELECT of the query's answer, which reads these groups."""
        return sums.answer(self.query.now(self.t), self.query.names)

    @property
    def t(self) -> datetime:
        """The instant of the run."""
        return self.invocation.clock.instant

    @cached_property
    def summed(self) -> SummedQuery | None:
        """The query over its blocks, if only these take long to read."""
        found = self.query.kept.summed
        if found is None or self.query.size_of(found.beside) > SMALL:
            return None
        return found if self.asked or (self.query.size > SMALL and found.by_rows) else None

    def _types(self, summed: SummedQuery) -> tuple[tuple[tuple[str, str], ...], ...] | None:
        """Return types by block; None where a group's values are not written exactly."""
        found = []
        for block in summed.blocks:
            key = ("columns of counts and sums", block.typed().sql(), self.query.relations.catalog)
            columns = self.invocation.remember(key, partial(self._described, summed, block))
            if not all(is_exact(kind) for _, kind in columns[: len(block.groups)]):
                return None
            found.append(tuple((name, kind.lower()) for name, kind in columns))
        return tuple(found)

    def _described(self, summed: SummedQuery, block: SummedBlock) -> tuple[tuple[str, str], ...]:
        now = self.query.now(self.t)
        return columns_of_query(self.session, sums_at(summed, block, now, means=True))


def _bounded(sums: KeptSums) -> KeptSums | None:
    """Return the sums; None where they are too long, or a total does not fit its type.

    Spark's result then (an error, NULL, another number) is left to the whole answer.
    """
    for block, types, groups in zip(sums.summed.blocks, sums.types, sums.groups, strict=True):
        kinds = [dict(types)[name] for name in block.columns[len(block.groups) :]]
        for values in groups.values():
            if any(abs(one) >= _end(kind) for one, kind in zip(values, kinds, strict=True)):
                return None
    return sums if len(json.dumps(sums.own)) <= LONGEST else None


def _end(kind: str) -> Decimal:
    """Return the least number beyond a type of counts or sums."""
    if not kind.startswith("decimal"):
        return _BIGINT
    precision, scale = map(int, kind.removeprefix("decimal(").rstrip(")").split(","))
    return Decimal(1).scaleb(precision - scale)


def _read(
    session: Session, block: SummedBlock, types: Sequence[tuple[str, str]], text: str, sign: str
) -> Sequence[Sequence[Any]] | None:
    """Return signs, groups and their counts and sums as texts; None: too many, or not exact."""
    listed = [as_text(name, kind) for name, kind in types[: len(block.columns)]]
    rows = session.rows(f"SELECT {sign}, {', '.join(listed)} FROM ({text}\n) LIMIT {_ROWS + 1}")
    exact = all(are_exact(row[1 : 1 + len(block.groups)]) for row in rows)
    return rows if len(rows) <= _ROWS and exact else None


def _added(
    groups: Groups, rows: Sequence[Sequence[Any]] | None, block: SummedBlock
) -> Groups | None:
    """Return the groups with these counts and sums added; None where those are too many."""
    if rows is None:
        return None
    found, many = dict(groups), len(block.groups)
    nothing = (Decimal(0),) * (1 + len(block.counts) + len(block.sums))
    if block.is_global:
        found.setdefault((), nothing)
    for sign, *values in rows:
        group = tuple(values[:many])
        if _overflowed(values[many:], block):
            return None
        more = (_WIDE.multiply(Decimal(sign), Decimal(one or 0)) for one in values[many:])
        old = found.get(group, nothing)
        found[group] = tuple(_WIDE.add(a, b) for a, b in zip(old, more, strict=True))
    return {group: sums for group, sums in found.items() if sums[0] or block.is_global}


def _overflowed(values: Sequence[Any], block: SummedBlock) -> bool:
    """Return whether a sum is NULL although it has values: an overflow without ANSI mode."""
    counts, sums = values[1 : 1 + len(block.counts)], values[1 + len(block.counts) :]
    pairs = zip(sums, block.sums, strict=True)
    return any(one is None and int(counts[place]) > 0 for one, (_, place) in pairs)


def _kept(block: SummedBlock, rows: Iterable[Sequence[Any]]) -> Groups:
    many = len(block.groups)
    return {tuple(row[:many]): tuple(Decimal(one) for one in row[many:]) for row in rows}


def _relation(block: SummedBlock, types: Sequence[tuple[str, str]], groups: Groups) -> str:
    """Return a SELECT of the groups, with the types that Spark gives them."""
    return select_of(types, [_values(block, group, sums, types) for group, sums in groups.items()])


def _values(
    block: SummedBlock, group: Group, sums: Sums, types: Sequence[tuple[str, str]]
) -> list[str | None]:
    """Return the values of a group's row: a sum or an average of no values is NULL."""
    counts = sums[1 : 1 + len(block.counts)]
    totals = sums[1 + len(block.counts) :]
    shown: list[str | None] = [str(sums[0]), *map(str, counts)]
    for total, (_, place) in zip(totals, block.sums, strict=True):
        shown.append(format(total, "f") if counts[place] else None)
    kinds = dict(types)
    for place in block.means:
        number = counts[block.sums[place][1]]
        kind = kinds[f"_m{place}"]
        shown.append(_mean(totals[place], number, kind) if number else None)
    return [*group, *shown]


def _mean(total: Decimal, number: Decimal, kind: str) -> str:
    """Return an average as Spark divides: to 38 places, and then to those of the type, half up."""
    places = int(kind.rstrip(")").rpartition(",")[2])
    wide = _WIDE.divide(total, number).quantize(Decimal(1).scaleb(-38), context=_WIDE)
    return format(wide.quantize(Decimal(1).scaleb(-places), context=_WIDE), "f")
