"""Rewrites VALUES, ``stack`` and UNPIVOT, which make rows of constants or columns, as
``inline``.
"""

from __future__ import annotations

from itertools import count

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.work import spend

MANY_VALUES = 1_000
"""So many rows may VALUES have: each run's statement holds them all."""


class FreeAliases:
    """Generates aliases that no relation of a query has."""

    def __init__(self, tree: exp.Query) -> None:
        self.taken = {name.name.lower() for name in tree.find_all(exp.Identifier)}
        self.numbers = count(1)

    def new(self) -> str:
        """Return the next free alias."""
        return next(name for n in self.numbers if (name := f"_l{n}") not in self.taken)


def lateral_view(
    call: exp.Expr, alias: str, columns: list[str], outer: bool = False
) -> exp.Lateral:
    """Return ``LATERAL VIEW call alias AS columns``."""
    names = [exp.to_identifier(name, quoted=True) for name in columns]
    table = exp.TableAlias(this=exp.to_identifier(alias, quoted=True), columns=names)
    return exp.Lateral(this=call, view=True, outer=outer, alias=table)


def derived(call: exp.Expr, name: str, columns: list[str], names: FreeAliases) -> exp.Subquery:
    """Return ``(SELECT columns FROM one row LATERAL VIEW call) AS name``."""
    inner, one = names.new(), names.new()
    items: list[exp.Expr] = []
    for column in columns:
        value = exp.column(exp.to_identifier(column, quoted=True), table=inner)
        items.append(exp.alias_(value, column, quoted=True))
    body = exp.Select(expressions=items)
    row = exp.Select(expressions=[exp.alias_(exp.Literal.number(1), "one")])
    alias = exp.TableAlias(this=exp.to_identifier(one))
    body.set("from_", exp.From(this=exp.Subquery(this=row, alias=alias)))
    body.set("laterals", [lateral_view(call, inner, columns)])
    return exp.Subquery(this=body, alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)))


def stacked(call: exp.Expr, columns: list[str]) -> exp.Array:
    """Return the rows of ``stack(n, …)``, missing values being NULL."""
    values = [value.copy() for value in call.expressions]
    values += [exp.null()] * (-len(values) % len(columns))
    rows = [values[n : n + len(columns)] for n in range(0, len(values), len(columns))]
    return array(rows, columns)


def array(rows: list[list[exp.Expr]], columns: list[str]) -> exp.Array:
    """Return rows as an array of structs with these fields."""
    spend(4 * len(rows) * len(columns), "rows of constants")
    elements: list[exp.Expr] = []
    for row in rows:
        fields = [
            exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=value.copy())
            for name, value in zip(columns, row, strict=True)
        ]
        elements.append(exp.Struct(expressions=fields))
    return exp.Array(expressions=elements)


def values(table: exp.Values, names: FreeAliases) -> None:
    """Replace VALUES by a derived table whose rows are always there."""
    rows = [
        list(one.expressions) if isinstance(one, exp.Tuple) else [one.unnest()]
        for one in table.expressions
    ]
    if len(rows) > MANY_VALUES or len({len(row) for row in rows}) > 1:
        raise Refusal(
            f"an inline table (VALUES) of {len(rows)} rows",
            table.sql("spark"),
            f"give each row as many values; make more than {MANY_VALUES} rows a seed with"
            " meta: {arrival: static}",
            code="inline-table",
        )
    alias = table.args.get("alias")
    listed = [column.name for column in alias.columns] if alias is not None else []
    columns = listed or [f"col{n}" for n, _ in enumerate(rows[0], start=1)]
    if len(columns) != len(rows[0]):
        raise Refusal(
            f"an inline table gives {len(columns)} names to {len(rows[0])} columns",
            table.sql("spark"),
            "name all of them, or none",
            code="uneven-columns",
        )
    name = alias.name if alias is not None and alias.name else names.new()
    call = exp.Inline(this=array(rows, columns))
    made = derived(call, name, columns, names)
    made.set("joins", table.args.get("joins"))
    table.replace(made)


def unpivot(relation: exp.Expr, pivot: exp.Pivot, names: FreeAliases) -> exp.Subquery:
    """Return ``m UNPIVOT (v FOR n IN (a AS x, b))``: one row for each column that is not NULL."""
    (group,) = pivot.args["fields"]
    values = [one.name for value in pivot.expressions for one in _parts(value)]
    inner, alias = names.new(), relation.alias_or_name or names.new()
    rows: list[list[exp.Expr]] = []
    gone: list[str] = []
    for item in group.expressions:
        called = item.args["alias"].name if isinstance(item, exp.PivotAlias) else ""
        parts = list(_parts(item.this if isinstance(item, exp.PivotAlias) else item))
        gone += [part.name for part in parts]
        text = called or "_".join(part.name for part in parts)
        columns = [exp.column(part.this.copy(), table=alias) for part in parts]
        rows.append([exp.Literal.string(text), *columns])
    listed = [group.this.name, *values]
    lateral = lateral_view(exp.Inline(this=array(rows, listed)), inner, listed)
    star = exp.Star(except_=[exp.to_identifier(name, quoted=True) for name in dict.fromkeys(gone)])
    items: list[exp.Expr] = [exp.Column(this=star, table=exp.to_identifier(alias))]
    found = [exp.column(exp.to_identifier(name, quoted=True), table=inner) for name in listed]
    items += [exp.alias_(one.copy(), one.name, quoted=True) for one in found]
    body = exp.Select(expressions=items)
    bare = relation.copy()
    bare.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    body.set("from_", exp.From(this=bare))
    body.set("laterals", [lateral])
    if not pivot.args.get("include_nulls"):
        some = [exp.Not(this=exp.Is(this=one, expression=exp.null())) for one in found[1:]]
        body.set("where", exp.Where(this=exp.or_(*some, copy=False)))
    given = pivot.args.get("alias")
    name = given.this.copy() if given is not None and given.this else exp.to_identifier(alias)
    return exp.Subquery(this=body, alias=exp.TableAlias(this=name))


def _parts(value: exp.Expr) -> list[exp.Expr]:
    return list(value.expressions) if isinstance(value, exp.Tuple) else [value]
