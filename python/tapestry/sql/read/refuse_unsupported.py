"""Refuses constructs outside the theory, generators in a select list, and a FROM clause too wide.

A FROM clause is too wide if its rows can be formed in too many ways.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.read.functions import user_defined
from tapestry.sql.read.generators import kind_of
from tapestry.sql.read.pivots import is_read

GENERATORS = frozenset({"inline_outer", "json_tuple", "collations", "sql_keywords"})
"""Those that the parser does not know."""
WINDOWS_OF_TIME = frozenset({"window", "session_window"})
"""Spark makes as many rows of one as there are windows that it lies in: none where it is NULL."""
_CALL_OF_WINDOW = re.compile(r"\b((?:session_)?window)\s*\(", re.IGNORECASE)
UPSTREAM = (
    "compute it upstream, in a table that keeps the arrival column (a view is opened: it must be"
    " materialized='table' or incremental)"
)
UNSUPPORTED: tuple[tuple[type[exp.Expr], str, str], ...] = (
    (exp.Lateral, "a lateral subquery", "join it, and write what it compares in ON"),
    (
        exp.Pivot,
        "PIVOT or UNPIVOT of this relation",
        "put what it turns into a derived table: (SELECT … FROM … JOIN …) PIVOT (…)",
    ),
    (exp.TableSample, "TABLESAMPLE", "filter by a hash of a key instead"),
    (exp.Placeholder, "a parameter marker", "write the value"),
    (exp.Parameter, "a parameter marker", "write the value"),
)
"""Kinds of nodes that are refused wherever they stand, with what to write instead."""
WAYS = 256
"""So many ways to form a row may a FROM clause have."""


def refuse_constructs(tree: exp.Query) -> None:
    """Raise Refusal for constructs outside the theory, anywhere in the query."""
    for kind, what, hint in UNSUPPORTED:
        found = next((one for one in tree.find_all(kind) if not _is_read(one)), None)
        if found is None:
            continue
        if isinstance(found, exp.Lateral) and not isinstance(found.this, exp.Query):
            what, hint = "LATERAL VIEW of this function", UPSTREAM
        raise Refusal(
            f"{what} is not supported", found.sql("spark"), hint, code="unsupported-clause"
        )


def _is_read(node: exp.Expr) -> bool:
    """Return whether a node is a generator, or a PIVOT or UNPIVOT of one relation."""
    if isinstance(node, exp.Lateral):
        return bool(kind_of(node.this))
    return isinstance(node, exp.Pivot) and is_read(node)


def refuse_row_makers(node: exp.Select) -> None:
    """Raise Refusal for a node that makes several rows of one, or none, which EXISTS would see."""
    for part in _parts(*node.selects, node.args.get("having")):
        if _is_generator(part):
            raise Refusal(
                "a generator in the select list", part.sql("spark"), UPSTREAM, code="generator"
            )
    clauses = (node.args.get(clause) for clause in ("where", "group", "having"))
    for part in _parts(*node.selects, *clauses):
        if _is_spark_s(part, WINDOWS_OF_TIME):
            raise _of_time(part.name.lower(), part.sql("spark"))


def has_windows_of_time(tree: exp.Expr) -> bool:
    """Return whether a query calls window() or session_window().

    These make several rows of one, or combine rows.
    """
    return any(_is_spark_s(node, WINDOWS_OF_TIME) for node in tree.find_all(exp.Anonymous))


def refuse_windows_of_time(sql: str) -> None:
    """Raise Refusal for a text that could not be read and calls window() or session_window()."""
    found = _CALL_OF_WINDOW.search(sql)
    if found is not None:
        raise _of_time(found[1].lower(), sql)


def _of_time(function: str, where: str) -> Refusal:
    return Refusal(
        f"{function}() makes several rows of one, or none",
        where,
        f"write date_trunc('hour', ...) where the windows do not overlap, or {UPSTREAM}",
        code="generator",
    )


def refuse_uneven(node: exp.SetOperation, sides: Sequence[exp.Query]) -> None:
    """Raise Refusal for a set operation whose sides differ in their number of columns."""
    left, *others = (len(side.selects) for side in sides)
    for side, right in zip(sides[1:], others, strict=True):
        if left != right:
            raise Refusal(
                f"{node.key.upper()} of {left} columns and {right}",
                side.sql("spark"),
                "list the same number of columns on both sides",
                code="uneven-columns",
            )


def _parts(*clauses: exp.Expr | None) -> Iterator[exp.Expr]:
    """Everything that stands in some clauses of a block, but for subqueries."""
    for clause in clauses:
        if clause is not None:
            yield from clause.walk(prune=lambda n: isinstance(n, exp.Query))


def _is_generator(node: exp.Expr) -> bool:
    generators = (exp.Explode, exp.Posexplode, exp.Inline, exp.Stack)
    return isinstance(node, generators) or _is_spark_s(node, GENERATORS)


def _is_spark_s(node: exp.Expr, names: Collection[str]) -> bool:
    """Return whether a node calls one of Spark's own functions that the parser does not know."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in names and not user_defined(node)


def is_global_aggregate(node: exp.Select) -> bool:
    """Return whether a SELECT always gives one row; aggregates in subqueries do not count."""
    aggregates = any(
        isinstance(part, exp.AggFunc) and part.find_ancestor(exp.Window) is None
        for item in node.selects
        for part in item.walk(prune=lambda n: isinstance(n, exp.Query))
    )
    return aggregates and node.args.get("group") is None and node.args.get("having") is None


def refuse_names(names: Sequence[str], columns: int, by_value: bool, node: exp.Expr) -> None:
    """Raise Refusal for a list of columns of a derived table that has a wrong number or
    duplicates.
    """
    if len(names) != columns:
        raise Refusal(
            f"{node.alias_or_name} gives {len(names)} names to {columns} columns",
            node.sql("spark"),
            "name all of them, or none",
            code="uneven-columns",
        )
    doubled = [name for name in names if names.count(name) > 1]
    if by_value and doubled:
        raise Refusal(
            f"a derived table that counts by value has two columns called {doubled[0]}",
            node.sql("spark"),
            "give one of them another name with AS",
            code="doubled-column",
        )


def refuse_many(matched: int, left: int, right: int, node: exp.Join) -> None:
    """Raise Refusal if rows can be formed in too many ways, which multiply with every join."""
    ways = (
        matched + left * (node.side in ("LEFT", "FULL")) + right * (node.side in ("RIGHT", "FULL"))
    )
    if ways > WAYS:
        select = node.find_ancestor(exp.Select)
        joins = select.args.get("joins") or [] if select is not None else []
        outer = [f"{one.side} JOIN {one.alias_or_name}" for one in joins if one.side]
        named = f" (here {', '.join(outer)})" if outer else ""
        raise Refusal(
            f"the joins make {ways} ways to form a row, more than {WAYS}: each outer join{named}"
            " doubles them, with and without a match, and each UNION ALL that is joined multiplies"
            " them",
            node.sql("spark"),
            "join in several models, the later ones reading the earlier ones; write JOIN instead of"
            " LEFT JOIN where a match is certain; give tables that are only looked up meta:"
            " {arrival: static}",
            code="too-many-joins",
        )


def refuse_uncompared(tree: exp.Query, by_value: bool) -> None:
    """Raise Refusal for a MAP or VARIANT where answers are told apart, or ordered, by values."""
    limited = [one for one in tree.find_all(exp.Select) if one.args.get("limit") is not None]
    for query in [*([tree] if by_value else []), *limited]:
        for item in query.selects:
            kind = item.unalias().type
            parts = kind.find_all(exp.DataType) if isinstance(kind, exp.DataType) else ()
            odd = next((one for one in parts if one.is_type("map", "variant")), None)
            if odd is None:
                continue
            value = item.unalias()
            extreme = isinstance(value, exp.Max | exp.Min)  # of what has no order there is none
            text = value.this.sql("spark") if extreme else value.sql("spark")
            whole = isinstance(kind, exp.DataType) and kind.is_type("map")
            instead = f"sort_array(map_entries({text}))" if whole else f"to_json({text})"
            instead += f" in {value.key}(…)" if extreme else ""
            raise Refusal(
                f"values of type {odd.this.value} are not compared by Spark, and answers of this"
                " query count by value (an aggregate, a window function, LIMIT)",
                item.sql("spark"),
                f"write {instead} AS {item.alias_or_name}",
                code="uncompared",
            )


def odd_relation(node: exp.Expr) -> Refusal:
    """Return the refusal of a node in FROM that is neither a table nor a query."""
    return Refusal(
        "this cannot stand in FROM",
        node.sql("spark"),
        "read it from a table: constants from a seed with meta: {arrival: static},"
        " what a function generates from a table upstream",
        code="odd-from",
    )
