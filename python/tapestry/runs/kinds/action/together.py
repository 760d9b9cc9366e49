"""Decides whether one statement over many batches is equal to executing it for each, one by one.

    split      a query of the rows of many batches is the union of the queries of each
    apart      no two batches touch the same row of the target, nor a row that another one wrote

A query is *split* if it reads the bound rows once, row by row, or in groups (windows) by all
columns of `unique_on`: then no row of its answer comes of two batches. An INSERT needs no more. In
a MERGE, the ON has to equate the columns of `unique_on` with columns of the target, which it leaves
unchanged: then a batch touches rows with its own key only. What cannot be shown is taken as false.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tapestry.runs.kinds.action.statement import ActionStatement, names_said
from tapestry.sql.read.parse import table_name

_CHANCE = (exp.Rand, exp.Randn, exp.Uuid)
_CHANCE_NAMES = frozenset(
    {
        *("shuffle", "random", "randstr", "uniform", "monotonically_increasing_id"),
        *("spark_partition_id", "input_file_name"),
    }
)
_PLAIN = frozenset(
    ("expressions", "from_", "joins", "where", "group", "having", "laterals", "order", "hint")
)


@dataclass(frozen=True)
class OneStatement:
    """A statement may be executed over many batches at once.

    target
        The table that it writes.
    bound
        The bound table that it reads.
    equal
        Columns of the target, each with the column of `unique_on` that it is compared with: their
        types have to be the same.
    others
        What it reads besides: each has to be a table.
    """

    target: str
    bound: str
    equal: tuple[tuple[str, str], ...] = ()
    others: tuple[str, ...] = ()


class NotTogetherError(Exception):
    """The reason for which batches are executed one by one."""


@dataclass(frozen=True)
class Unit:
    """The unit of batches: bound tables that are split, all bound tables, and `unique_on`.

    single
        Each firing is a batch of its own.
    """

    split: Collection[str]
    bound: Collection[str]
    unique_on: tuple[str, ...] = ()
    single: bool = False


def together_of(parts: Sequence[ActionStatement], unit: Unit) -> OneStatement:
    """Decide it; raise NotTogetherError with the reason for executing batches one by one."""
    if len(parts) > 1 or parts[0].with_:
        raise NotTogetherError(
            "it has several statements" if len(parts) > 1 else "it begins with a WITH of its own"
        )
    if said := names_said(parts[0].text):
        raise NotTogetherError(f"it says batch('{said[0]}'), which differs from batch to batch")
    try:
        tree = sqlglot.parse_one(parts[0].text, read="spark")
    except SqlglotError:
        raise NotTogetherError("its statement cannot be read") from None
    if not isinstance(tree, exp.Merge | exp.Insert):
        raise NotTogetherError("only a MERGE or an INSERT may be one statement for many batches")
    for node in tree.walk():
        named = node.name.lower() if isinstance(node, exp.Anonymous) else ""
        if isinstance(node, _CHANCE) or named in _CHANCE_NAMES:
            raise NotTogetherError(f"{node.sql('spark')} differs from statement to statement")
        if isinstance(node, exp.TableSample | exp.Pivot):
            raise NotTogetherError("it reads a part of a table, or turns rows into columns")
    return _of_merge(tree, unit) if isinstance(tree, exp.Merge) else _of_insert(tree, unit)


def _of_insert(tree: exp.Insert, unit: Unit) -> OneStatement:
    if tree.args.get("overwrite") or tree.args.get("where"):
        raise NotTogetherError("it overwrites what an earlier batch has written")
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    query = tree.expression
    if not isinstance(target, exp.Table) or not isinstance(query, exp.Query):
        raise NotTogetherError("it inserts no rows of a query")
    found = _SplitQuery(unit)
    found.read(query)
    return OneStatement(table_name(target), found.bound, others=_others(tree, target, unit))


def _of_merge(tree: exp.Merge, unit: Unit) -> OneStatement:
    target, using = tree.this, tree.args["using"]
    if unit.single:
        raise NotTogetherError("each firing is a batch, and two of them may merge into one row")
    found = _SplitQuery(unit)
    outputs = found.item(using)
    mine, theirs = target.alias_or_name.lower(), using.alias_or_name.lower()
    pairs = dict(_compared(tree.args["on"], mine, theirs, outputs))
    lacks = [one for one in unit.unique_on if one.lower() not in pairs.values()]
    if lacks:
        raise NotTogetherError(
            f"its ON does not equate {lacks[0]}, as the source groups by it, with a column of"
            " the target"
        )
    sources = {
        column: frozenset(name for name, one in outputs.items() if one == key)
        for column, key in pairs.items()
    }
    for when in tree.args["whens"].expressions:
        _keeps_keys(when, sources, theirs)
    equal = tuple(sorted(pairs.items()))
    return OneStatement(table_name(target), found.bound, equal, _others(tree, target, unit))


def _compared(
    on: exp.Expr, mine: str, theirs: str, outputs: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield columns of the target with the columns of `unique_on` that ON equates them with."""
    for one in on.flatten() if isinstance(on, exp.And) else (on,):
        one = one.unnest()
        if not isinstance(one, exp.EQ | exp.NullSafeEQ):
            continue
        for left, right in ((one.this, one.expression), (one.expression, one.this)):
            if not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
                continue
            key = outputs.get(right.name.lower())
            if left.table.lower() == mine and right.table.lower() == theirs and key is not None:
                yield left.name.lower(), key


def _keeps_keys(when: exp.When, sources: Mapping[str, frozenset[str]], theirs: str) -> None:
    """Raise where a clause changes a row's key, or is about rows of other batches."""
    if when.args.get("source"):
        raise NotTogetherError("NOT MATCHED BY SOURCE is about the rows of all other batches")
    then, condition = when.args["then"], when.args.get("condition")
    if any(part is not None and part.find(exp.Query) for part in (then, condition)):
        raise NotTogetherError("a WHEN has a subquery")
    if isinstance(then, exp.Update):
        assigned = dict(_assigned(then.expressions))
    elif isinstance(then, exp.Insert):
        columns, values = then.this, then.expression
        if isinstance(columns, exp.Star):
            assigned = {"*": columns}
        elif isinstance(columns, exp.Tuple) and isinstance(values, exp.Tuple):
            into = (one.name.lower() for one in columns.expressions)
            assigned = dict(zip(into, values.expressions, strict=False))
        else:
            raise NotTogetherError("a WHEN inserts no columns that are named")
        missing = [one for one in sources if "*" not in assigned and one not in assigned]
        if missing:
            raise NotTogetherError(f"a WHEN inserts rows without {missing[0]}, their key")
    else:
        return
    for column, names in sources.items():
        value = assigned.get(column)
        whole = "*" in assigned and column in names
        own = (
            isinstance(value, exp.Column)
            and value.table.lower() == theirs
            and value.name.lower() in names
        )
        if not (whole or own or (value is None and "*" not in assigned)):
            raise NotTogetherError(f"a WHEN gives {column} another value than the key")


def _assigned(pairs: Sequence[exp.Expr]) -> Iterator[tuple[str, exp.Expr]]:
    for one in pairs:
        if isinstance(one, exp.Star):
            yield "*", one
        elif isinstance(one, exp.EQ) and isinstance(one.this, exp.Column):
            yield one.this.name.lower(), one.expression
        else:
            raise NotTogetherError("a WHEN assigns what cannot be read")


def _others(tree: exp.Expr, target: exp.Table, unit: Unit) -> tuple[str, ...]:
    """Return the other tables that a statement reads; raise where one is the target."""
    read = [one for one in tree.find_all(exp.Table) if one is not target]
    if any(not isinstance(one.this, exp.Identifier) for one in read):
        raise NotTogetherError("it reads a function as a table")
    names = {table_name(one) for one in read if not _is_bound(one, unit)}
    if table_name(target) in names:
        raise NotTogetherError(f"it reads {table_name(target)}, which it writes")
    return tuple(sorted(names))


def _is_bound(table: exp.Table, unit: Unit) -> bool:
    bound = {name.lower() for name in unit.bound}
    return not table.db and isinstance(table.this, exp.Identifier) and table.name.lower() in bound


@dataclass
class _SplitQuery:
    """Reads a query that is to be split; ``bound`` is the bound table that it reads."""

    unit: Unit
    bound: str = field(default="", init=False)

    def read(self, query: exp.Expr) -> dict[str, str]:
        """Return the columns of its answer that are columns of `unique_on`, by their names."""
        query = query.unnest() if isinstance(query, exp.Subquery) else query
        if query.args.get("with_"):
            raise NotTogetherError("its query has a WITH of its own")
        if isinstance(query, exp.Union) and not query.args.get("distinct"):
            if any(query.args.get(one) for one in ("limit", "offset", "by_name")):
                raise NotTogetherError("it takes some of the rows of a UNION")
            left, right = self.read(query.this), self.read(query.expression)
            return left if left == right else {}
        if not isinstance(query, exp.Select):
            raise NotTogetherError("its query compares the rows of different batches")
        odd = [one for one, value in query.args.items() if value and one not in _PLAIN]
        if odd:
            raise NotTogetherError(f"its query has {odd[0].strip('_').upper()}, over all batches")
        inner, alias = self.source(query)
        self.aggregated(query, inner, alias)
        return dict(self.outputs(query, inner, alias))

    def source(self, query: exp.Select) -> tuple[dict[str, str], str]:
        """Return the columns and the alias of the item of FROM that has the bound rows."""
        first = query.args.get("from_")
        joins = query.args.get("joins") or []
        items = [] if first is None else [(first.this, None)]
        items += [(join.this, join) for join in joins]
        holding = [(item, join) for item, join in items if self.count(item)]
        if len(holding) != 1 or self.count(query) != 1:
            raise NotTogetherError("its query does not read a bound table exactly once")
        item, of = holding[0]
        for join in joins:
            side = f"{join.args.get('side') or ''}".upper()
            kind = f"{join.args.get('kind') or ''}".upper()
            if side not in ("", "LEFT") or (join is of and (side or kind in ("SEMI", "ANTI"))):
                raise NotTogetherError(
                    "its query has rows that no row of a batch has brought: an outer join"
                )
        return self.item(item), item.alias_or_name.lower()

    def count(self, tree: exp.Expr) -> int:
        """Return how often bound tables are read in a part of a statement."""
        return sum(_is_bound(one, self.unit) for one in tree.find_all(exp.Table))

    def item(self, item: exp.Expr) -> dict[str, str]:
        """Return the columns of `unique_on` among an item's in FROM, by their names there."""
        if isinstance(item, exp.Subquery):
            alias = item.args.get("alias")
            if item.args.get("joins") or (alias is not None and alias.columns):
                raise NotTogetherError("its query renames the columns of a subquery, or joins it")
            return self.read(item.this)
        if not isinstance(item, exp.Table) or not _is_bound(item, self.unit):
            raise NotTogetherError("its source is no query of a bound table")
        alias = item.args.get("alias")
        if item.args.get("joins") or (alias is not None and alias.columns):
            raise NotTogetherError("its query renames the columns of a bound table, or joins it")
        name = item.name.lower()
        if self.unit.unique_on and name not in {one.lower() for one in self.unit.split}:
            raise NotTogetherError(f"{item.name} goes whole to each batch")
        self.bound = name
        return {one.lower(): one.lower() for one in self.unit.unique_on}

    def aggregated(self, query: exp.Select, inner: Mapping[str, str], alias: str) -> None:
        """Raise where groups or windows go across batches."""
        nodes = list(query.walk(prune=lambda one: isinstance(one, exp.Query) and one is not query))
        windows = [one for one in nodes if isinstance(one, exp.Window)]
        for one in windows:
            self.covers(one.args.get("partition_by") or [], inner, alias, "a window")
        over = {id(one.this) for one in windows}
        group = query.args.get("group")
        if group is not None:
            if any(group.args.get(name) for name in ("all", "rollup", "cube", "grouping_sets")):
                raise NotTogetherError("its GROUP BY does not name its columns one by one")
            self.covers(list(_listed(group, query)), inner, alias, "GROUP BY")
            return
        if query.args.get("having"):
            raise NotTogetherError("HAVING without GROUP BY is about the rows of all batches")
        for node in nodes:
            known = isinstance(node, exp.AggFunc) and id(node) not in over
            if known or isinstance(node, exp.Anonymous | exp.AnonymousAggFunc | exp.Any):
                raise NotTogetherError(
                    f"{node.sql('spark')} may be an aggregate over the rows of all batches"
                )

    def covers(
        self, values: Sequence[exp.Expr], inner: Mapping[str, str], alias: str, what: str
    ) -> None:
        """Raise where values are not by all columns of `unique_on`."""
        if self.unit.single:
            raise NotTogetherError(f"{what} puts rows of several firings together")
        there = {_key(value, inner, alias) for value in values}
        lacks = [one for one in self.unit.unique_on if one.lower() not in there]
        if lacks:
            raise NotTogetherError(f"{what} is not by {lacks[0]}, which tells batches apart")

    def outputs(
        self, query: exp.Select, inner: Mapping[str, str], alias: str
    ) -> Iterator[tuple[str, str]]:
        """Yield the columns of the select list that are columns of `unique_on`."""
        for one in query.expressions:
            star = isinstance(one, exp.Star) and not any(one.args.values())
            if star or (isinstance(one, exp.Column) and isinstance(one.this, exp.Star)):
                if star or one.table.lower() == alias:
                    yield from inner.items()
                continue
            value = one.this if isinstance(one, exp.Alias) else one
            if (key := _key(value, inner, alias)) is not None:
                yield one.alias_or_name.lower(), key


def _listed(group: exp.Group, query: exp.Select) -> Iterator[exp.Expr]:
    """Yield the values of GROUP BY; a number stands for a place in the select list."""
    for one in group.expressions:
        if isinstance(one, exp.Literal) and not one.is_string and one.name.isdecimal():
            place = int(one.name) - 1
            if place < len(query.expressions):
                found = query.expressions[place]
                yield found.this if isinstance(found, exp.Alias) else found
        else:
            yield one


def _key(value: exp.Expr, inner: Mapping[str, str], alias: str) -> str | None:
    """Return the column of `unique_on` that a value is; None: it is none."""
    if not isinstance(value, exp.Column) or isinstance(value.this, exp.Star):
        return None
    if value.table and value.table.lower() != alias:
        return None
    return inner.get(value.name.lower())
