"""Gives aliases to tables of one name in two schemas where columns are written with the schema.

``NOT EXISTS (SELECT 1 FROM b.m WHERE b.m.id = a.m.id)`` has two relations that are called m.
Behind this pass a column has one qualifier, by which the inner one would take both.

Sound: an alias that nobody else has changes nothing but what a relation is called, and every column
that is its own is renamed with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sqlglot import exp

from tapestry.sql.copies import copied
from tapestry.sql.facts.from_clause import relations_of


def tell_apart(tree: exp.Query) -> exp.Query:
    """A copy in which no column needs its schema.

    >>> from sqlglot import parse_one
    >>> sql = "SELECT id FROM a.m WHERE EXISTS(SELECT 1 FROM b.m WHERE b.m.id = a.m.id)"
    >>> tell_apart(parse_one(sql)).sql()
    'SELECT id FROM a.m AS m_1 WHERE EXISTS(SELECT 1 FROM b.m AS m_2 WHERE m_2.id = m_1.id)'
    """
    tree = copied(tree)
    if not any(column.args.get("db") for column in tree.find_all(exp.Column)):
        return tree
    counts = Counter(name.lower() for name in _names(tree))
    owners = [(column, _owner(column)) for column in tree.find_all(exp.Column)]
    aliases: dict[int, str] = {}
    for table in tree.find_all(exp.Table):
        name = table.name.lower()
        if table.db and not table.alias and counts[name] > 1:
            number = 1
            while counts[alias := f"{name}_{number}"]:
                number += 1
            counts[alias] += 1
            aliases[id(table)] = alias
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    for column, owner in owners:
        if owner is not None and id(owner) in aliases:
            column.set("table", exp.to_identifier(aliases[id(owner)]))
        if owner is not None and column.args.get("db"):
            column.set("db", None)
            column.set("catalog", None)
    return tree


def _names(tree: exp.Query) -> Iterator[str]:
    for relation in tree.find_all(exp.Table, exp.Subquery, exp.CTE):
        if relation.alias_or_name:
            yield relation.alias_or_name


def _owner(column: exp.Column) -> exp.Expr | None:
    """Return the relation of a qualified column: the innermost one with that name."""
    if not column.table:
        return None
    select = column.parent_select
    while select is not None:
        for relation in relations_of(select):
            if _is_called(relation, column):
                return relation
        select = select.parent_select
    return None


def _is_called(relation: exp.Expr, column: exp.Column) -> bool:
    if relation.alias_or_name.lower() != column.table.lower():
        return False
    if not column.args.get("db"):
        return True
    if not isinstance(relation, exp.Table) or relation.alias:
        return False
    wanted = (column.text("catalog").lower(), column.text("db").lower())
    catalogs = {wanted[0], relation.catalog.lower()} - {""}
    return relation.db.lower() == wanted[1] and len(catalogs) < 2
