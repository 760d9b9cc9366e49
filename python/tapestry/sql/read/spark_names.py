"""The name that Spark gives to a column without an alias: the text of its expression.

Known for columns, constants, operators and the plain aggregates. Of other functions the parser has
lost how they were called (``ucase`` and ``upper`` are one to it), so that their names are not said.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from sqlglot import exp

from tapestry.sql.facts.from_clause import relations_of
from tapestry.sql.read.generators import kind_of

_MADE = "as Spark names it"
_NUMBER = re.compile(r"(0|[1-9]\d*)(\.\d+)?")
_FORMS: dict[type[exp.Expr], str] = {
    **{exp.Add: "({} + {})", exp.Sub: "({} - {})", exp.Mul: "({} * {})", exp.Div: "({} / {})"},
    **{exp.EQ: "({} = {})", exp.LT: "({} < {})", exp.LTE: "({} <= {})", exp.GT: "({} > {})"},
    **{exp.GTE: "({} >= {})", exp.NEQ: "(NOT ({} = {}))", exp.Mod: "({} % {})"},
}
"""Operators of two sides."""
_CALLS: dict[type[exp.Expr], str] = {
    **{exp.Count: "count", exp.Sum: "sum", exp.Min: "min", exp.Max: "max", exp.Avg: "avg"},
}
"""Aggregates that Spark has under one name."""


def name_items(tree: exp.Query) -> exp.Query:
    """The query with Spark's names for items without one; the tree itself is changed.

    Two items of one name in a block stay without: nothing could speak of them.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT ((a)), -1, b + 1, sum(t.c), f(a) FROM t", dialect="spark")
    >>> name_items(tree).sql("spark")
    'SELECT a, -1 AS `-1`, b + 1 AS `(b + 1)`, SUM(t.c) AS `sum(c)`, F(a) FROM t'
    """
    for select in tree.find_all(exp.Select):
        for item in select.expressions:
            value = item.unnest()
            if isinstance(value, exp.Column) and value is not item:
                item.replace(value)
        relations = relation_names_of(select)
        named = [(item, _made(item, relations)) for item in select.expressions]
        taken = [name.lower() for item, made in named if (name := made or item.output_name)]
        for item, name in named:
            if name and taken.count(name.lower()) == 1:
                alias = exp.to_identifier(name, quoted=True)
                alias.meta[_MADE] = True
                item.replace(exp.Alias(this=item.copy(), alias=alias))
    return tree


def made_name(item: exp.Expr) -> str | None:
    """Return the name of an item of a select list if Spark, not the author, gave it."""
    alias = item.args.get("alias")
    if isinstance(alias, exp.Identifier) and alias.meta_get(_MADE):
        return str(alias.name)
    return None


def as_written(node: exp.Expr) -> str:
    """Return the text of an expression without the names that Spark gives."""
    shown = node.copy()
    for alias in list(shown.find_all(exp.Alias)):
        if made_name(alias) and alias is not shown:
            alias.replace(alias.this)
    return shown.sql("spark")


def has_own_name(item: exp.Expr, relations: Collection[str]) -> bool:
    """Return whether Spark and the parser give an item of a select list the same name."""
    if isinstance(item, exp.Alias | exp.Aliases) or item.is_star or kind_of(item):
        return True
    value = item.unnest()
    if isinstance(value, exp.Cast):  # of a column; that of a field is called CAST(st.f AS INT)
        column = value.this
        own = isinstance(column, exp.Column) and not column.args.get("db")
        return own and column.table.lower() in {"", *relations}
    return isinstance(value, exp.Column) or _is_path(value) or constant_name(value) is not None


def relation_names_of(select: exp.Expr) -> set[str]:
    """Return the names of the relations in a FROM clause, in lower case."""
    relations = [*relations_of(select), *(select.args.get("laterals") or [])]
    return {one.alias_or_name.lower() for one in relations}


def _is_path(node: exp.Expr) -> bool:
    """Return whether a node is ``m.st.a.b.c``, a field reached by dots alone."""
    while isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        node = node.this
    return isinstance(node, exp.Column)


def _made(item: exp.Expr, relations: Collection[str]) -> str | None:
    """Return Spark's name of an item if it differs from the parser's."""
    if isinstance(item, exp.Alias | exp.Aliases) or item.is_star or kind_of(item):
        return None
    if _is_path(item.unnest()):
        return None
    name = spark_name(item, relations)
    return None if name == item.output_name else name


def spark_name(node: exp.Expr, relations: Collection[str]) -> str | None:
    """Spark's text of an expression over some relations; None where that is not certain.

    >>> from sqlglot import parse_one
    >>> texts = ("count(*)", "max(distinct m.a)", "-st.f * 2", "l[0] is null", "upper(a)")
    >>> [spark_name(parse_one(text, dialect="spark"), {"m"}) for text in texts]
    ['count(1)', 'max(DISTINCT a)', '((- st.f) * 2)', '(l[0] IS NULL)', None]
    """
    node = node.unnest()
    if isinstance(node, exp.Column):
        if node.is_star or node.args.get("db"):
            return None
        known = node.table.lower() in {"", *relations}
        return node.name if known else f"{node.table}.{node.name}"
    form, nodes = _form(node)
    if not form:
        return constant_name(node)
    names = [spark_name(one, relations) for one in nodes]
    return None if None in names else form.format(*names)


def _form(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    """Return the format of an operator or a call, and its operands; '' for others."""
    kind, inner = type(node), node.this
    if kind in _FORMS:
        return _FORMS[kind], [inner, node.expression]
    if kind is exp.Not and _is_null(inner):
        return "({} IS NOT NULL)", [inner.this]
    if kind is exp.Not:
        return "(NOT {})", [inner]
    if _is_null(node):
        return "({} IS NULL)", [inner]
    if kind is exp.Neg and not isinstance(inner, exp.Literal):
        return "(- {})", [inner]
    if kind is exp.Bracket and len(node.expressions) == 1:
        key = node.expressions[0]  # a text: of a struct it is a field's name
        plain = isinstance(key, exp.Literal) and not key.is_string
        return ("{}[{}]", [inner, key]) if plain else ("", [])
    if kind is exp.Dot and isinstance(node.expression, exp.Identifier):
        field = node.expression.name
        return ("{}." + field, [inner]) if not set("{}") & set(field) else ("", [])
    return _call(node) if kind in _CALLS else ("", [])


def _is_null(node: exp.Expr) -> bool:
    return isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)


def _call(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    """Return the format of an aggregate and its arguments; COUNT(*) counts ones."""
    name = _CALLS[type(node)]
    if isinstance(node.this, exp.Star):
        return ("", []) if node.this.args.get("except_") else (f"{name}(1)", [])
    distinct = isinstance(node.this, exp.Distinct)
    arguments = [*(node.this.expressions if distinct else [node.this]), *node.expressions]
    places = ", ".join(["{}"] * len(arguments))
    return f"{name}({'DISTINCT ' * distinct}{places})", arguments


def constant_name(node: exp.Expr) -> str | None:
    """Spark's text of a constant; None where that is not certain."""
    if isinstance(node, exp.Neg):
        number = constant_name(node.this) if isinstance(node.this, exp.Literal) else None
        return None if number is None or node.this.is_string else f"-{number}"
    if isinstance(node, exp.Boolean):
        return str(bool(node.this)).lower()
    if isinstance(node, exp.Null):
        return "NULL"
    if isinstance(node, exp.Literal) and (node.is_string or _NUMBER.fullmatch(node.name)):
        return node.name
    return None
