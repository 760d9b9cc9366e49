"""Audit columns: items of the outermost select list that read the clock.

    SELECT m.id, now() AS loaded_at FROM m WHERE …

An answer begins at one instant, its ``_matched_at``, and there its audit columns are evaluated.
They say something of the answer and are no part of it: neither of what identifies it nor of what
the checks compare, for at the next instant the same answer has another value there.

An item reads the clock by itself, or through a column of a derived table, view or CTE that does.
Both the rewriting and the checks ask this of the resolved tree, as a part of reading a query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql import timing
from tapestry.sql.facts.from_clause import Ctes, leaves_in, opened_in, relations_of
from tapestry.sql.read.open_clauses import is_aggregate
from tapestry.sql.read.parse import table_name
from tapestry.sql.work import size, spend

PLACE = "_place"
"""Qualifies a column that stands for the item of the select list whose number is its name."""


def audit_places(tree: exp.Query) -> tuple[int, ...]:
    """The places of the select list, from 0, at which some arm of a query reads the clock.

    Raises Refusal where nothing else is listed.

    >>> from sqlglot import parse_one
    >>> audit_places(parse_one("SELECT m.id, q.at FROM m, (SELECT now() AS at) AS q"))
    (1,)
    """
    places = tuple(sorted(_Clocks().of(tree, {})))
    if places and len(places) == len(tree.selects):
        raise Refusal(
            "every column of the select list reads the clock: nothing says what an answer is",
            tree.sql("spark"),
            "list a column of the data, too: the key of the rows",
            code="only-audit-columns",
        )
    return places


def without_audit_columns(tree: exp.Query, places: tuple[int, ...]) -> exp.Query:
    """Return the query without its audit columns, so that it gives the answers alone."""
    if not places:
        return tree
    tree = tree.copy()
    for select, _ in list(leaves_in(tree, {})):
        _leave_groups(select)
        kept = [item for n, item in enumerate(select.expressions) if n not in places]
        select.set("expressions", kept)
    return tree


def values_alone(
    tree: exp.Query, places: tuple[int, ...]
) -> tuple[exp.Query, tuple[Mapping[int, exp.Expr], ...]]:
    """The query with NULLs for the audit columns of arms that count by value; and what they are.

    For each arm of the outermost UNION ALL: place -> the audit column over ``PLACE`` columns. Of an
    arm that counts by derivation nothing is said, for there it stands beside its rows. Sound:
    values beside a column that is always the same are told apart by themselves alone.

    Raises Refusal for an audit column that the values of an answer do not determine.
    """
    if not places:
        return tree, tuple({} for _ in _arms(tree, {}))
    tree, clocks = tree.copy(), _Clocks()
    found: list[Mapping[int, exp.Expr]] = []
    for arm, ctes in list(_arms(tree, {})):
        if not _by_value(arm):
            found.append({})
            continue
        leaves = list(leaves_in(arm, ctes))
        values = [[_over_values(leaf, n, places, clocks, seen) for n in places]
                  for leaf, seen in leaves]  # fmt: skip
        if any(one != values[0] for one in values):
            raise Refusal(
                "a column reads the clock in another way on one side of a set operation by value",
                arm.sql("spark"),
                "write the same expression on both sides, or UNION ALL",
                code="audit-column",
            )
        for leaf, _ in leaves:
            _leave_groups(leaf)
            _null_at(leaf, places)
        found.append(dict(zip(places, values[0], strict=True)))
    return tree, tuple(found)


@dataclass
class _Clocks:
    """Finds the columns of queries that read the clock; caches the result of each query."""

    known: dict[int, frozenset[int]] = field(default_factory=dict)

    def of(self, node: exp.Expr, ctes: Ctes) -> frozenset[int]:
        """The places of a query's select list that read the clock."""
        if id(node) not in self.known:
            self.known[id(node)] = frozenset(
                place
                for leaf, seen in leaves_in(node, ctes)
                for place, item in enumerate(leaf.selects)
                if self.reads(item, leaf, seen)
            )
        return self.known[id(node)]

    def reads(self, value: exp.Expr, select: exp.Select, ctes: Ctes) -> bool:
        """Return whether a value in a SELECT reads the clock, by itself or through a column."""
        spend(1 + size(value) // 16, "columns that may read the clock")
        for part in value.walk(prune=_of_several_rows):
            if _of_several_rows(part):
                continue  # what is counted or ranked is a value, whatever it counts
            if timing.is_now(part):
                return True
            if isinstance(part, exp.Column):
                inner = _origin(part, select, ctes)
                if inner is not None and inner[2] in self.of(inner[0], inner[1]):
                    return True
        return False


def _of_several_rows(node: exp.Expr) -> bool:
    return isinstance(node, exp.Query | exp.AggFunc | exp.Filter | exp.Window)


def _origin(
    column: exp.Column, select: exp.Select, ctes: Ctes
) -> tuple[exp.Expr, Ctes, int] | None:
    """The query that a column of a FROM clause comes from, and its place there."""
    for relation in relations_of(select):
        if relation.alias_or_name != column.table:
            continue
        body, seen = relation, ctes
        if isinstance(relation, exp.Table):
            if table_name(relation) not in ctes:
                return None
            body, seen = ctes[table_name(relation)]
        query, seen = opened_in(body, seen)
        if not isinstance(query, exp.Query):
            return None
        alias = relation.args.get("alias")
        listed = [one.name for one in alias.columns] if alias is not None else []
        names = [name.lower() for name in listed or query.named_selects]
        wanted = column.name.lower()
        return (query, seen, names.index(wanted)) if wanted in names else None
    return None


def _value_around(column: exp.Column) -> str:
    """Return the value of a group or window around a column, else the column: it can be listed."""
    value: exp.Expr = column
    around = column.parent
    while around is not None and not isinstance(around, exp.Query):
        if is_aggregate(around) or isinstance(around, exp.Window | exp.Filter | exp.WithinGroup):
            value = around
        around = around.parent
    return value.sql("spark")


def _over_values(
    leaf: exp.Select, place: int, places: tuple[int, ...], clocks: _Clocks, ctes: Ctes
) -> exp.Expr:
    """Return an audit column of a SELECT as an expression over the other items of its select
    list.
    """
    item = leaf.selects[place].unalias()
    numbers = {one.unalias(): n for n, one in enumerate(leaf.selects) if n not in places}

    def valued(node: exp.Expr) -> exp.Expr:
        if node in numbers:
            column = exp.column(str(numbers[node]), table=PLACE)
            column.type = node.type
            return column
        if not isinstance(node, exp.Column):
            return node
        origin = _origin(node, leaf, ctes)
        if origin is not None and origin[2] in clocks.of(origin[0], origin[1]):
            inner = origin[0]
            value = inner.selects[origin[2]].unalias() if isinstance(inner, exp.Select) else None
            if value is not None and value.find(exp.Column, exp.Query) is None:
                return value.copy()
        part = _value_around(node)
        raise Refusal(
            f"answers count by value here, and {part} beside the clock is no part of them",
            item.sql("spark"),
            f"list {part} as a column of its own, too, or leave it out here",
            code="audit-column",
        )

    if not clocks.reads(item, leaf, ctes):
        raise Refusal(
            "a column reads the clock in one arm, and in another one it is a value that counts",
            item.sql("spark"),
            "give the arms two columns, one for the clock, one for the value",
            code="audit-column",
        )
    over = item.copy().transform(valued, copy=False)
    over.type = item.type
    return over


def _null_at(select: exp.Select, places: tuple[int, ...]) -> None:
    for place in places:
        item = select.selects[place]
        null = exp.null()
        null.type = exp.DataType.build("null")
        select.expressions[place].replace(exp.alias_(null, item.alias_or_name, quoted=True))


def _leave_groups(select: exp.Select) -> None:
    """Remove from GROUP BY the items that read the clock; their columns are grouped by anyway."""
    group = select.args.get("group")
    if group is not None:
        kept = [one for one in group.expressions if not timing.contains_now(one)]
        group.set("expressions", kept)


def _by_value(arm: exp.Expr) -> bool:
    if isinstance(arm, exp.SetOperation):
        return True
    return bool(arm.args.get("distinct")) or arm.args.get("group") is not None


def _arms(node: exp.Expr, ctes: Ctes) -> Iterator[tuple[exp.Expr, Ctes]]:
    """The arms of nested UNION ALLs from left to right."""
    node, ctes = opened_in(node, ctes)
    if isinstance(node, exp.Union) and not node.args.get("distinct"):
        yield from _arms(node.this, ctes)
        yield from _arms(node.expression, ctes)
    else:
        yield node, ctes
