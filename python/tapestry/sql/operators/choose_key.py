"""Chooses the key by which a query is maintained: columns that partition its rows (maintained, 2).

    GROUP BY, PARTITION BY, DISTINCT    what all of them name
    set operations                      all columns
    filter, project, join               all columns that are read of the largest table of FROM whose
                                        rows no outer join may leave out
    FULL JOIN … ON a.k = b.k            coalesce(a.k, b.k), which GROUP BY has to name so
    LIMIT, a global aggregate           none

An author's `unique_key` comes before these (``wanted_key``).

A component whose uses cannot be cut to its values (``cover`` has none) is right as well: then only
what comes out is cut. Never a column that an outer join may fill with NULL: a row that loses its
match goes over to the NULL key, which no changed row names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.branches.selects import aliases_of
from tapestry.sql.facts.from_clause import opened
from tapestry.sql.facts.grouping import is_limited
from tapestry.sql.facts.keys_that_commute import Covered, Finder, equalities
from tapestry.sql.ir import SourceTable
from tapestry.sql.operators.block import SelectBlock
from tapestry.sql.operators.wanted_key import is_told_apart, lists_of, wanted_key
from tapestry.sql.write import build

Reached = Mapping[str, tuple[tuple[int, exp.Expr], ...]]


@dataclass(frozen=True)
class Key:
    """A key that commutes.

    parts
        Its components, over the FROM clause of the query; of a set operation over its columns.
    cover
        By the alias of a use of a source: which components reach it, and what carries them there.
    outputs
        The components are columns of the query's select list.
    """

    parts: tuple[exp.Expr, ...]
    cover: Reached
    outputs: bool = False

    def whole(self, alias: str) -> tuple[exp.Expr, ...] | None:
        """Return all components over a use that all of them reach; None for another use."""
        found = dict(self.cover.get(alias, ()))
        if len(found) < len(self.parts):
            return None
        return tuple(found[place] for place in range(len(self.parts)))


def choose_key(
    query: exp.Expr,
    tables: Mapping[str, SourceTable],
    wanted: Sequence[int] = (),
    weights: Mapping[str, int] | None = None,
) -> Key | None:
    """Return the key by which a query is maintained; None if it has none.

    ``wanted`` are places of its select list (``unique_key``); raises Refusal for one that it cannot
    be kept by. ``weights``: how large the sources are.
    """
    finder = Finder(tables)
    tree = opened(query)
    named = wanted_key(tree, wanted)
    if isinstance(tree, exp.SetOperation):
        return _of_set(tree, finder, wanted)
    if not isinstance(tree, exp.Select):
        return None
    block = SelectBlock(tree)
    if is_limited(tree):
        return None
    if any(one.side == "FULL" for one in block.relations):
        return _of_full_join(block, finder)
    candidates = named or list(_candidates(block, _Sizes(tables, weights or {})))
    parts = tuple(dict.fromkeys(one for one in candidates if _may_be(one, block)))
    covered = [finder.commuting(tree, part) for part in parts]
    return Key(parts, _reached(covered)) if parts else None


def _of_set(query: exp.SetOperation, finder: Finder, wanted: Sequence[int]) -> Key | None:
    if is_limited(query):
        return None
    names = names_of(query)
    places = wanted or range(len(names))
    covered = [finder.output(query, place) for place in places]
    return Key(tuple(build.column(names[place]) for place in places), _reached(covered), True)


def _of_full_join(block: SelectBlock, finder: Finder) -> Key | None:
    """Take the value that the rows of both sides are joined by (aggregates, 2.5).

    A row that finds no partner has it from its own side, one that finds one from either. Another
    outer join might fill that of both with NULL.
    """
    joins = [one for one in block.relations if one.side or one.looked_at]
    if len(joins) > 1:
        return None
    lists, parts, covered = list(lists_of(block)), [], []
    for pair in (pair for one in joins[0].on for pair in equalities(one)):
        if joins[0].alias not in {one.table for one in pair} or pair[0].table == pair[1].table:
            continue
        orders = (pair, pair[::-1])
        values = (exp.Coalesce(this=a.copy(), expressions=[b.copy()]) for a, b in orders)
        named = [one for one in values if all(one in listed for listed in lists)]
        if named:
            parts.append(named[0])
            covered.append({use: one for side in pair for use, one in finder.of(block.node, side)})
    return Key(tuple(parts), _reached(covered)) if parts else None


def names_of(query: exp.Query) -> list[str]:
    """The columns of a query, as its first SELECT names them."""
    return list(query.named_selects)


@dataclass(frozen=True)
class _Sizes:
    tables: Mapping[str, SourceTable]
    weights: Mapping[str, int]

    def of(self, node: exp.Expr) -> int:
        """Return the size of what a relation reads."""
        used = (self.tables.get(one.name) for one in node.find_all(exp.Table))
        return sum(self.weights.get(table.source, 0) for table in used if table is not None)


def _candidates(block: SelectBlock, sizes: _Sizes) -> Iterator[exp.Expr]:
    """Yield values that every construct which takes rows of the block together tells apart."""
    lists = list(lists_of(block))
    if not lists:
        yield from _driving(block, sizes)
        return
    for one in lists[0]:
        if all(one in other for other in lists[1:]):
            yield one


def _driving(block: SelectBlock, sizes: _Sizes) -> Iterator[exp.Expr]:
    """Yield the columns read of the largest relation that no outer join may leave out.

    Its rows are the finest: a change reaches few of them.
    """
    for relation in sorted(block.relations, key=lambda one: -sizes.of(one.node)):
        if relation.alias in block.supplied:
            continue
        found = [
            column
            for column in block.node.find_all(exp.Column)
            if column.table == relation.alias and is_told_apart(column)
        ]
        if found:
            yield from dict.fromkeys(found)
            return


def _may_be(value: exp.Expr, block: SelectBlock) -> bool:
    """Return whether a value is independent of joined rows and of a type that tells rows apart."""
    if value.find(exp.Query, exp.AggFunc, exp.Window) or timing.contains_now(value):
        return False
    used = aliases_of(value)
    if not used or used & block.supplied or not used <= block.aliases | block.generated:
        return False
    return is_told_apart(value)


def _reached(covered: Sequence[Covered | None]) -> Reached:
    """Return, by use, the components that reach it, from what each component covers."""
    found: dict[str, tuple[tuple[int, exp.Expr], ...]] = {}
    for place, one in enumerate(covered):
        for alias, value in (one or {}).items():
            found[alias] = (*found.get(alias, ()), (place, value))
    return found
