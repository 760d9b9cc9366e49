"""Replaces QUALIFY by a WHERE over a derived table that has the window functions.

    SELECT k, v + 1 AS x FROM m QUALIFY rank() OVER (ORDER BY v) <= 3
    SELECT q._q1 AS k, q._q2 + 1 AS x
    FROM (SELECT k AS _q1, v AS _q2, rank() OVER (ORDER BY v) AS _q3 FROM m) AS q WHERE q._q3 <= 3

Spark has no QUALIFY. Sound because that is its definition: it filters after the window functions,
before DISTINCT and LIMIT.
"""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.read.outer_block import OuterBlock
from tapestry.sql.read.parse import parse

ALIAS = "_qualified"


def open_qualify(tree: exp.Query) -> exp.Query:
    """The query without QUALIFY; a copy where there is one. Its names are resolved.

    >>> from sqlglot import parse_one
    >>> text = "SELECT m.k AS k FROM m QUALIFY RANK() OVER (ORDER BY m.v) = 1"
    >>> print(open_qualify(parse_one(text, dialect="spark")).sql("spark"))
    SELECT _qualified._q1 AS k FROM (SELECT m.k AS _q1, RANK() OVER (ORDER BY m.v) AS _q2 FROM m) \
AS _qualified WHERE _qualified._q2 = 1
    """
    if tree.find(exp.Qualify) is None:
        return tree
    tree = tree.copy()
    for select in reversed(list(tree.find_all(exp.Select))):
        qualify = select.args.get("qualify")
        if qualify is None:
            continue
        opened = OuterBlock(select, ALIAS, subqueries=True).block(qualify.this)
        if select is tree:
            tree = opened
        else:
            select.replace(opened)
    return tree


def without_qualify(sql: str) -> str:
    """The text with the same columns for Spark to analyse: QUALIFY leaves rows out, no column.

    A text without the clause, or one that cannot be read, stays as it is.

    >>> without_qualify("select * from m qualify rank() over (order by v) = 1 order by v")
    'SELECT * FROM m ORDER BY v'
    >>> without_qualify("select qualify  from m")
    'select qualify  from m'
    """
    if "qualify" not in sql.lower():
        return sql
    try:
        tree = parse(sql)
    except Refusal:
        return sql
    clauses = list(tree.find_all(exp.Qualify))
    for clause in clauses:
        clause.pop()
    return tree.sql("spark") if clauses else sql
