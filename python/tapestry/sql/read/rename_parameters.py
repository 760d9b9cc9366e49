"""Tells the parameters of lambdas from columns and relations.

    SELECT transform(a, X -> x + 1) FROM m          transform(a, X -> X + 1)
    SELECT transform(a, q -> q + v) FROM m AS q     transform(a, q_1 -> q_1 + q.v)

Spark reads a parameter in upper and lower case alike, and before any column; the parser's library
takes the one in another case for a column. Columns are written with the relation that they are of;
inside the lambda ``q.v`` would be a field of the parameter, so one that is called like a relation
gets another name. Sound: a parameter's name is its own, and the new one stands nowhere else.
"""

from __future__ import annotations

from itertools import count

from sqlglot import exp

from tapestry.sql.copies import copied


def rename_parameters(tree: exp.Query) -> exp.Query:
    """The query in which no parameter hides a relation; a copy where one did.

    >>> from sqlglot import parse_one
    >>> text = "SELECT FILTER(a, (q, i) -> q.q + struct(i AS q).q > q AND v) FROM m AS q"
    >>> rename_parameters(parse_one(text, dialect="spark")).sql("spark")
    'SELECT FILTER(a, (q_1, i) -> q_1.q + STRUCT(i AS q).q > q_1 AND v) FROM m AS q'
    """
    tree = _in_one_case(tree)
    relations = tree.find_all(exp.Table, exp.Subquery, exp.CTE, exp.Lateral)
    called = {relation.alias_or_name.lower() for relation in relations}
    hiding = {name.lower() for node in tree.find_all(exp.Lambda) for name in _parameters(node)}
    hiding &= called
    if not hiding:
        return tree
    tree = copied(tree)
    taken = {identifier.name.lower() for identifier in tree.find_all(exp.Identifier)}
    new = {
        name: next(other for n in count(1) if (other := f"{name}_{n}") not in taken)
        for name in sorted(hiding)
    }
    for node in tree.find_all(exp.Lambda):
        mine = {name for name in _parameters(node) if name.lower() in hiding}
        for identifier in list(node.find_all(exp.Identifier)) if mine else ():
            if identifier.name in mine and _is_parameter(identifier):
                identifier.set("this", new[identifier.name.lower()])
    return tree


def _in_one_case(tree: exp.Query) -> exp.Query:
    """Return the query with every use of a parameter in the case of its definition; a copy."""
    if not any(_uses(node) for node in tree.find_all(exp.Lambda)):
        return tree
    tree = copied(tree)
    for node in reversed(list(tree.find_all(exp.Lambda))):  # the innermost first: it binds closest
        for column, name in _uses(node):
            first, *fields = column.parts
            first.set("this", name)
            column.replace(exp.Dot.build([first, *fields]) if fields else first)
    return tree


def _uses(node: exp.Lambda) -> list[tuple[exp.Column, str]]:
    """Columns in a lambda that are its parameters, with the names that these have."""
    given = {name.lower(): name for name in _parameters(node)}
    columns = node.this.find_all(exp.Column)
    return [(one, given[name]) for one in columns if (name := one.parts[0].name.lower()) in given]


def _parameters(node: exp.Lambda) -> list[str]:
    return [one.name for one in node.expressions]


def _is_parameter(identifier: exp.Identifier) -> bool:
    """Return whether a name is a parameter, defined or used, and no column, field or relation."""
    parent, place = identifier.parent, identifier.arg_key
    if isinstance(parent, exp.Dot):
        return place == "this"
    if isinstance(parent, exp.PropertyEQ):
        return place == "expression"
    named = exp.Column | exp.ColumnDef | exp.Table | exp.TableAlias | exp.DataType
    return not isinstance(parent, named) and place != "alias"
