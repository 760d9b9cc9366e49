"""Replaces PIVOT by GROUP BY, and an aggregate with FILTER for each value.

    m PIVOT (SUM(v) FOR k IN (1 AS one, 2))    SELECT * EXCEPT (k, v),
                                                 SUM(v) FILTER (WHERE k <=> 1) AS one,
                                                 SUM(v) FILTER (WHERE k <=> 2) AS `2`
                                               FROM m GROUP BY (its columns but k and v)

Sound because Spark defines it so, in one of two ways. Where each aggregate is a number or a truth
value, it aggregates for each value of k first, so that a value without a row gives NULL, of a count
too: ``CASE WHEN COUNT(*) FILTER (WHERE k <=> 1) > 0 THEN … END``. Else it aggregates
``IF(k <=> 1, v, NULL)``, of which a count is 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.read.rows_of_columns import FreeAliases, unpivot
from tapestry.sql.read.spark_names import constant_name, spark_name
from tapestry.sql.work import NODE, size, spend

Resolve = Callable[[exp.Query], exp.Query]
"""A query with its names resolved and its expressions typed."""
_FIRST = frozenset(
    {exp.DType.BOOLEAN, exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT}
    | {exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL}
)
"""Types that Spark's PivotFirst takes."""
_TEXTS = (exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.CHAR)
_COMPARED = frozenset(
    {*_TEXTS, exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ}
    | {exp.DType.TIMESTAMPNTZ, *_FIRST} - {exp.DType.FLOAT, exp.DType.DOUBLE}
)
"""Types whose values both of Spark's ways compare alike."""
_NULL_OF_NOTHING = (
    *(exp.Sum, exp.Avg, exp.Min, exp.Max, exp.ArgMax, exp.ArgMin),
    *(exp.LogicalOr, exp.LogicalAnd, exp.AnyValue),
)
"""Aggregates that are NULL where there is no row."""
_NO_PLAIN = (exp.Window, exp.WithinGroup, exp.Query, exp.IgnoreNulls, exp.RespectNulls)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class _Input:
    """The input of a PIVOT: the columns that FOR or an aggregate uses; ``grouped``: it has others.

    ``kinds`` are the types of FOR's columns; where ``guarded``, a value without a row gives NULL
    whatever the aggregate.
    """

    grouped: bool
    used: list[str]
    kinds: list[exp.DataType]
    guarded: bool


def open_pivots(tree: exp.Query, resolve: Resolve) -> exp.Query:
    """The query without PIVOT and UNPIVOT; raises Refusal for what Spark would read otherwise."""
    if tree.find(exp.Pivot) is None:
        return tree
    tree = tree.copy()
    names = FreeAliases(tree)
    # A CTE is resolved by those after it, so that what it pivots comes first.
    for part in [*(cte.this for cte in tree.ctes), tree]:
        found = [one for one in part.find_all(exp.Pivot) if _is_relation(one.parent)]
        for relation in reversed(list({id(one.parent): one.parent for one in found}.values())):
            assert relation is not None
            _open(relation, names, resolve)
    return tree


def is_read(pivot: exp.Pivot) -> bool:
    """Return whether a PIVOT stands after one relation, or an UNPIVOT, even after a joined one."""
    relation = pivot.parent
    joined = relation is not None and isinstance(relation.parent, exp.Join)
    return _is_relation(relation) and (bool(pivot.args.get("unpivot")) or not joined)


def _is_relation(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Table | exp.Subquery)


def _open(relation: exp.Expr, names: FreeAliases, resolve: Resolve) -> None:
    """Replace the PIVOTs and UNPIVOTs of a relation, one after the other."""
    if not all(pivot.args.get("unpivot") for pivot in relation.args["pivots"]):
        _refuse_star_of(relation)
    pivots, joins = relation.args["pivots"], relation.args.get("joins")
    relation.set("pivots", None)
    relation.set("joins", None)
    for pivot in pivots:
        if pivot.args.get("unpivot"):
            made = unpivot(relation, pivot, names)
        else:
            made = _pivot(relation, pivot, names, resolve)
        relation.replace(made)
        relation = made
    relation.set("joins", joins)
    if not pivots[-1].args.get("unpivot"):
        _merge(relation)


def _merge(relation: exp.Expr) -> None:
    """Merge ``SELECT * FROM (SELECT …)`` into one block, whose groups can be kept as running
    states.
    """
    select, body = relation.parent_select, relation.this
    if select is None or select.args["from_"].this is not relation or relation.args.get("joins"):
        return
    clauses = {clause for clause, value in select.args.items() if value} - {"with_"}
    if clauses == {"expressions", "from_"} and select.expressions == [exp.Star()]:
        for clause in ("expressions", "from_", "group"):
            select.set(clause, body.args.get(clause))


def _pivot(
    relation: exp.Expr, pivot: exp.Pivot, names: FreeAliases, resolve: Resolve
) -> exp.Subquery:
    group, alias = _refuse_odd(pivot), relation.alias_or_name or names.new()
    keys = _parts(group.this.unnest())
    bare = relation.copy()
    named = bare.args.get("alias") or exp.TableAlias()
    named.set("this", exp.to_identifier(alias))
    bare.set("alias", named)
    found = _input(relation, bare, keys, [one.unalias() for one in pivot.expressions], resolve)
    gone = [exp.to_identifier(name, quoted=True) for name in found.used]
    star = exp.Column(this=exp.Star(except_=gone), table=exp.to_identifier(alias))
    body = exp.Select(expressions=[], from_=exp.From(this=bare))
    if found.grouped:
        body.set("expressions", [star])
        body.set("group", exp.Group(all=True))
    spend(NODE * size(pivot) * (len(group.expressions) + 1), "the values of PIVOT")
    seen: set[exp.Expr] = set()
    for values, name in _values(group, len(keys)):
        conditions = map(_is_value, keys, values, found.kinds)
        condition = exp.and_(*conditions, copy=False)
        if condition in seen:
            raise Refusal(
                "PIVOT with two values that are equal",
                pivot.sql("spark"),
                "leave one of them out",
                code="odd-pivot",
            )
        seen.add(condition)
        for item in pivot.expressions:
            column = f"{name}_{_suffix(item, alias)}" if len(pivot.expressions) > 1 else name
            made = _filtered(item.unalias(), condition, found.guarded)
            body.append("expressions", exp.alias_(made, column, quoted=True))
    return exp.Subquery(this=body, alias=exp.TableAlias(this=exp.to_identifier(alias)))


# -- what is read ---------------------------------------------------------------------------------
def _refuse_odd(pivot: exp.Pivot) -> exp.In:
    """Return the FOR of a PIVOT; raise Refusal for forms that Spark reads differently or not."""
    if pivot.args.get("alias") is not None:
        raise Refusal(
            "a name behind PIVOT, which Spark does not read",
            pivot.sql("spark"),
            "put it into a derived table: (SELECT * FROM … PIVOT (…)) AS p",
            code="odd-pivot",
        )
    group: exp.In = pivot.args["fields"][0]
    more = pivot.args["fields"][1:]
    keys = _parts(group.this.unnest())
    if more or not all(isinstance(key, exp.Column) and not key.table for key in keys):
        raise Refusal(
            "PIVOT FOR something else than names of columns",
            pivot.sql("spark"),
            "name each without its table",
            code="odd-pivot",
        )
    for item in pivot.expressions:
        if item.find(exp.AggFunc) is None or item.find(*_NO_PLAIN) is not None:
            raise Refusal(
                "PIVOT of this expression",
                item.sql("spark"),
                "write an aggregate for each column: sum(v) FILTER (WHERE c = 'a') AS a … GROUP"
                " BY k",
                code="odd-pivot",
            )
    return group


def _refuse_star_of(relation: exp.Expr) -> None:
    """Raise Refusal for ``q.*`` of ``q PIVOT (…)``, which means only the groups to Spark."""
    select, name = relation.parent_select, relation.alias_or_name.lower()
    for node in select.walk(prune=lambda n: n is relation) if select is not None else ():
        if not (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            continue
        if name and node.table.lower() == name:
            raise Refusal(
                "a star over one relation that is pivoted",
                node.sql("spark"),
                "list the columns",
                code="odd-pivot",
            )


def _input(
    relation: exp.Expr,
    bare: exp.Expr,
    keys: list[exp.Expr],
    aggregates: list[exp.Expr],
    resolve: Resolve,
) -> _Input:
    """Return the input of a PIVOT, found by resolving the names of its parts over the relation."""
    parts = [*keys, *aggregates]
    items = [exp.alias_(part.copy(), f"_p{n}", quoted=True) for n, part in enumerate(parts)]
    inner = exp.Select(expressions=[exp.Star(), *items], from_=exp.From(this=bare.copy()))
    # In a derived table: what may be no column of the model may be one of what is pivoted.
    around = exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("_pivoted")))
    probe = exp.Select(expressions=[exp.Literal.number(1)], from_=exp.From(this=around))
    root, cte = relation.root(), relation.find_ancestor(exp.CTE)
    with_ = root.args.get("with_")
    before = [] if with_ is None else with_.expressions[: None if cte is None else cte.index]
    if before:
        probe.set("with_", exp.With(expressions=[one.copy() for one in before]))
    spend(NODE * size(probe), "what PIVOT turns")
    resolved = resolve(probe).args["from_"].this.this.selects
    columns = [one.alias_or_name for one in resolved[: -len(parts)]]
    found = [one.unalias() for one in resolved[-len(parts) :]]
    used = {column.name for one in found for column in one.find_all(exp.Column)}
    kinds = [one.type or exp.DataType.build("unknown") for one in found]
    for key, kind in zip(keys, kinds, strict=False):
        if kind.this not in _COMPARED:
            raise Refusal(
                f"PIVOT FOR a column of type {kind.sql('spark')}",
                key.sql("spark"),
                "cast it in a derived table, to STRING or DECIMAL",
                code="odd-pivot",
            )
    return _Input(
        not used.issuperset(columns),
        [name for name in columns if name in used],
        kinds[: len(keys)],
        _guarded(aggregates, kinds[len(keys) :]),
    )


def _guarded(aggregates: list[exp.Expr], kinds: list[exp.DataType]) -> bool:
    """Return whether a value without a row gives NULL where an aggregate of no rows is not NULL."""
    if all(map(_is_null_of_nothing, aggregates)):
        return False  # it does not matter
    firsts = [kind.this in _FIRST for kind in kinds]
    for aggregate, kind in zip(aggregates, kinds, strict=True):
        if kind.this == exp.DType.UNKNOWN:
            raise Refusal(
                "PIVOT of an aggregate whose type is not known: Spark gives NULL or 0 for a value"
                " without a row, which depends on it",
                aggregate.sql("spark"),
                "cast it: CAST(… AS BIGINT)",
                code="odd-pivot",
            )
    return all(firsts)


def _is_null_of_nothing(aggregate: exp.Expr) -> bool:
    inner = aggregate.this if isinstance(aggregate, exp.Filter) else aggregate
    return isinstance(inner, _NULL_OF_NOTHING)


# -- what is made ---------------------------------------------------------------------------------
def _values(group: exp.In, width: int) -> Iterator[tuple[list[exp.Expr], str]]:
    """Yield the values of the IN list, each with its name: its alias, or its text."""
    for one in group.expressions:
        called = one.args["alias"] if isinstance(one, exp.PivotAlias) else None
        value = one.this if isinstance(one, exp.PivotAlias) else one
        parts = _parts(value)
        odd = called is not None and not isinstance(called, exp.Identifier)
        if odd or len(parts) != width or not all(map(_is_constant, parts)):
            raise Refusal(
                "a value of PIVOT that is no constant",
                one.sql("spark"),
                "write literals: 1, 'a', NULL",
                code="odd-pivot",
            )
        name = called.name if called is not None else _text(value)
        if name is None:
            raise Refusal(
                "a value of PIVOT whose text is not certain",
                one.sql("spark"),
                f"{one.sql('spark')} AS name",
                code="odd-pivot",
            )
        yield parts, name


def _is_constant(node: exp.Expr) -> bool:
    if isinstance(node, exp.Cast | exp.Neg | exp.Paren):
        return _is_constant(node.this)
    return isinstance(node, exp.Literal | exp.Boolean | exp.Null)


def _text(value: exp.Expr) -> str | None:
    """Return a value as Spark casts it to STRING, None if that is not known."""
    if isinstance(value, exp.Null):
        return "null"
    if isinstance(value, exp.Cast) and value.to.is_type("date"):
        day = value.this.name if isinstance(value.this, exp.Literal) else ""
        return day if _DAY.fullmatch(day) else None
    return constant_name(value)


def _suffix(item: exp.Expr, alias: str) -> str:
    """Return the suffix of a column's name for this aggregate, where there are several."""
    name = item.alias or spark_name(item, {alias.lower()})
    if name is None:
        raise Refusal(
            "an aggregate of PIVOT without a name, which the names of its columns are made of",
            item.sql("spark"),
            f"give it one: {item.sql('spark')} AS name",
            code="odd-pivot",
        )
    return name


def _is_value(key: exp.Expr, value: exp.Expr, kind: exp.DataType) -> exp.Expr:
    if isinstance(value, exp.Null):
        return exp.Is(this=key.copy(), expression=exp.null())
    text = isinstance(value, exp.Literal) and value.is_string
    if not (text and kind.this in _TEXTS):
        value = exp.cast(value.copy(), kind.copy())
    return exp.NullSafeEQ(this=key.copy(), expression=value.copy())


def _filtered(aggregate: exp.Expr, condition: exp.Expr, guarded: bool) -> exp.Expr:
    """Return the aggregate over the rows of one value."""
    holder = exp.Paren(this=aggregate.copy())
    for call in list(holder.find_all(exp.AggFunc)):
        around = call.parent
        if isinstance(around, exp.Filter):
            where = around.expression
            both = exp.and_(condition.copy(), where.this, copy=False)
            where.set("this", both)
            continue
        call.replace(_filter(call.copy(), condition))
    made: exp.Expr = holder.this
    if not guarded or _is_null_of_nothing(made):
        return made
    rows = _filter(exp.Count(this=exp.Star(), big_int=True), condition)
    there = exp.GT(this=rows, expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=there, true=made)])


def _filter(call: exp.Expr, condition: exp.Expr) -> exp.Filter:
    return exp.Filter(this=call, expression=exp.Where(this=condition.copy()))


def _parts(node: exp.Expr) -> list[exp.Expr]:
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node]
