"""Evaluates aggregates, LIMIT and grouping sets at many instants, each by itself.

GROUP BY k, HAVING      GROUP BY k, _s
ROLLUP (k)              ROLLUP (k), _s: over no rows no set has a row, ``()`` neither (Spark)
aggregates of all rows  from the instants: FROM instants LEFT JOIN rows ON _s GROUP BY _s, every
                        aggregate with FILTER (WHERE the row is there), so that an instant
                        without rows has the row that SQL gives
OVER (PARTITION BY p)   OVER (PARTITION BY p, _s)
LIMIT n OFFSET o        row_number() OVER (PARTITION BY _s ORDER BY …) in (o, o + n]
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tapestry.sql.facts.from_clause import relations_of
from tapestry.sql.facts.identifiers import identifier
from tapestry.sql.read.groups_of_nothing import GROUPING_SETS
from tapestry.sql.read.open_clauses import is_aggregate, parts
from tapestry.sql.write import build
from tapestry.verification.from_clause import AT, INSTANTS, PROBES
from tapestry.verification.restriction import Restriction, has_id
from tapestry.verification.rows import joined

THERE = "_a0"
"""Is true in a row that is there; NULL in what an outer join fills in."""


def under(query: exp.Query, alias: str, names: Sequence[str]) -> exp.Subquery:
    """Return ``(query) AS alias(names)``, generated names, as the author's may be repeated."""
    columns = [exp.to_identifier(name) for name in names]
    return exp.Subquery(
        this=query, alias=exp.TableAlias(this=exp.to_identifier(alias), columns=columns)
    )


def numbered_names(letter: str, count: int) -> list[str]:
    """Return generated names of columns."""
    return [f"_{letter}{number}" for number in range(1, count + 1)]


def named_again(names: Sequence[str], alias: str) -> list[exp.Expr]:
    """The columns ``_c1, _c2, …`` under the author's names, and ``_s``."""
    own = numbered_names("c", len(names))
    listed: list[exp.Expr] = [
        exp.alias_(exp.column(mine, table=alias), identifier(name))
        for mine, name in zip(own, names, strict=True)
    ]
    return [*listed, exp.column(AT, table=alias)]


# -- LIMIT ------------------------------------------------------------------------------------
def without_limit(node: exp.Expr) -> tuple[exp.Expr, list[exp.Ordered]]:
    """A query without LIMIT, OFFSET and order, and its order over ``_c1, …`` and ``_o1, …``.

    The latter are items that are added to the select list; of a set operation and with DISTINCT
    there are none: there an order is over what is selected.
    """
    bare = node.copy()
    for clause in ("limit", "offset", "order"):
        bare.set(clause, None)
    order = node.args.get("order")
    values = [item.unalias() for item in node.selects] if isinstance(node, exp.Select) else []
    names = [name.lower() for name in node.named_selects] if isinstance(node, exp.Query) else []
    ordered: list[exp.Ordered] = []
    extra: list[exp.Expr] = []
    for one in order.expressions if order is not None else []:
        key, again = one.this, one.copy()
        if key in values:
            place = f"_c{values.index(key) + 1}"
        elif isinstance(key, exp.Column) and not key.table and key.name.lower() in names:
            place = f"_c{names.index(key.name.lower()) + 1}"
        else:
            extra.append(key.copy())
            place = f"_o{len(extra)}"
        again.set("this", exp.column(place))
        ordered.append(again)
    for number, key in enumerate(extra, start=1):
        bare.append("expressions", exp.alias_(key, f"_o{number}"))
    return bare, ordered


def first_rows(
    rows: exp.Query, node: exp.Expr, ordered: Sequence[exp.Ordered], alias: str
) -> exp.Select:
    """Return the rows of each instant that LIMIT and OFFSET keep, under the author's names."""
    assert isinstance(node, exp.Query)
    names = node.named_selects
    extra = sum(str(one.this.name).startswith("_o") for one in ordered)
    own = [*numbered_names("c", len(names)), *numbered_names("o", extra), AT]
    place = exp.Window(
        this=exp.RowNumber(),
        partition_by=[exp.column(AT)],
        order=exp.Order(expressions=[one.copy() for one in ordered] or [exp.column(AT)]),
        over="OVER",
    )
    placed = build.add_from(build.select_all(), under(rows, alias, own))
    placed.append("expressions", exp.alias_(place, "_n"))
    outer = alias + "n"
    query = build.select(named_again(names, outer))
    build.add_from(
        query,
        exp.Subquery(this=placed, alias=exp.TableAlias(this=exp.to_identifier(outer))),
    )
    number: exp.Expr = exp.column("_n", table=outer)
    conditions: list[exp.Expr] = []
    if node.args.get("offset") is not None:
        skipped = exp.Paren(this=node.args["offset"].expression.copy())
        conditions.append(exp.GT(this=number.copy(), expression=skipped))
        number = exp.Paren(this=exp.Sub(this=number, expression=skipped.copy()))
    if node.args.get("limit") is not None:
        most = exp.Paren(this=node.args["limit"].expression.copy())
        conditions.append(exp.LTE(this=number, expression=most))
    return build.add_where(query, conditions)


# -- aggregates of all rows -------------------------------------------------------------------
def rows_of(node: exp.Select) -> tuple[exp.Select, dict[exp.Expr, str]]:
    """The rows that a SELECT aggregates, with the columns that it uses and ``THERE``."""
    own = {relation.alias_or_name for relation in relations_of(node)}
    own |= {lateral.alias for lateral in node.args.get("laterals") or []}
    clauses = [*node.selects, node.args.get("having"), node.args.get("order")]
    found = [c for clause in clauses if clause is not None for c in clause.find_all(exp.Column)]
    used = dict.fromkeys(column for column in found if column.table in own)
    names: dict[exp.Expr, str] = {column: f"_a{n}" for n, column in enumerate(used, start=1)}
    listed: list[exp.Expr] = [exp.alias_(column.copy(), name) for column, name in names.items()]
    rows = build.select([*listed, exp.alias_(exp.true(), THERE)])
    for clause in ("from_", "joins", "laterals", "where"):
        value = node.args.get(clause)
        if value is not None:
            copied = [v.copy() for v in value] if isinstance(value, list) else value.copy()
            rows.set(clause, copied)
    return rows, names


def over_rows(node: exp.Expr, names: dict[exp.Expr, str], alias: str) -> exp.Expr:
    """Return an item or condition over the rows ``alias``; aggregates count existing rows only."""
    node = node.copy()
    holder = exp.Paren(this=node)
    for part in list(parts(node)):
        if is_aggregate(part) and not isinstance(part, exp.Filter):
            _only_there(part, alias)
    for column in list(holder.find_all(exp.Column)):
        if column in names:
            ours = exp.column(names[column], table=alias)
            ours.type = column.type
            column.replace(ours)
    changed = holder.this
    assert isinstance(changed, exp.Expr)
    return changed


def _only_there(aggregate: exp.Expr, alias: str) -> None:
    whole = aggregate
    while isinstance(whole.parent, exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        whole = whole.parent
    there = exp.column(THERE, table=alias)
    if isinstance(whole.parent, exp.Filter):
        where = whole.parent.expression
        both = exp.And(this=there, expression=exp.Paren(this=where.this))
        where.set("this", both)
        return
    filtered = exp.Filter()
    filtered.type = whole.type
    whole.replace(filtered)
    filtered.set("this", whole)
    filtered.set("expression", exp.Where(this=there))


def from_instants(rows: exp.Query, alias: str, instants: str) -> exp.Select:
    """``SELECT FROM instants LEFT JOIN rows ON _s``."""
    query = build.add_from(exp.Select(), build.table(INSTANTS, instants))
    same = exp.EQ(this=exp.column(AT, table=alias), expression=exp.column(AT, table=instants))
    derived = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(alias)))
    query.append("joins", joined(derived, "LEFT", [same]))
    return query


# -- groups and windows -----------------------------------------------------------------------
def partitioned(node: exp.Expr, instant: exp.Expr) -> exp.Expr:
    """Partition the window functions in an item or condition by the instant, in place."""
    for window in [part for part in parts(node) if isinstance(part, exp.Window)]:
        window.set("partition_by", [*(window.args.get("partition_by") or []), instant.copy()])
    return node


def one_by_one(node: exp.Expr) -> exp.Expr:
    """``grouping_id(a, b)`` as ``grouping(a) * 2 + grouping(b)``: ``_s`` is grouped by as well."""

    def replace(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.GroupingId):
            return part
        total: exp.Expr = exp.Literal.number(0)
        for column in part.expressions:
            bit = exp.cast(exp.Grouping(expressions=[column.copy()]), "bigint")
            total = exp.Add(
                this=exp.Paren(this=exp.Mul(this=total, expression=exp.Literal.number(2))),
                expression=bit,
            )
        return exp.Paren(this=total)

    return node.transform(replace, copy=False)


def has_sets(select: exp.Expr) -> bool:
    """Return whether a SELECT groups by grouping sets."""
    group = select.args.get("group")
    return group is not None and group.find(*GROUPING_SETS) is not None


# -- what of the answers is looked at ---------------------------------------------------------
def narrowed(
    query: exp.Query, names: Sequence[str], restriction: Restriction, alias: str
) -> exp.Query:
    """Return the rows with ``_s`` that a check covers, chosen after they are computed."""
    if not restriction.matching and not restriction.ids:
        return query
    own = numbered_names("c", len(names))
    values: list[exp.Expr] = [exp.column(name, table=alias) for name in own]
    chosen = build.add_from(
        build.select(named_again(names, alias)), under(query, alias, [*own, AT])
    )
    conditions: list[exp.Expr] = []
    if restriction.ids:
        conditions.append(has_id(values, restriction.ids))
    if restriction.matching:
        probe = alias + "p"
        same: list[exp.Expr] = [
            exp.EQ(this=exp.column(AT, table=alias), expression=exp.column(AT, table=probe))
        ]
        same += [
            exp.NullSafeEQ(this=value, expression=exp.column(f"_v{number}", table=probe))
            for number, value in enumerate(values, start=1)
        ]
        chosen.append("joins", joined(build.table(PROBES, probe), "", same))
    return build.add_where(chosen, conditions)
