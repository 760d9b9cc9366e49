"""Refuse what does not give the same answer twice: it could be neither kept nor checked."""

from __future__ import annotations

import re

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.catalog import Catalog
from tapestry.sql.read.functions import user_defined
from tapestry.sql.read.refuse_unsupported import UPSTREAM

NONDETERMINISTIC = frozenset(
    {
        *("rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle"),
        *("monotonically_increasing_id", "spark_partition_id", "input_file_name"),
        *("input_file_block_start", "input_file_block_length", "current_user", "session_user"),
        *("user", "current_database", "current_schema", "current_catalog", "java_method"),
        *("current_time", "version", "aes_encrypt", "try_aes_encrypt"),
        *("reflect", "try_reflect"),
    }
)


TODAY = frozenset({"now", "today", "yesterday", "tomorrow"})
"""Texts that Spark reads as the clock, also with a time zone behind: ``timestamp'today UTC'``."""
_TIMES = ("date", "timestamp", "timestamptz", "timestampntz", "timestampltz", "datetime")
_TEMPORAL = exp.Year.__module__
"""The parser's module of functions of dates and timestamps."""


def refuse_nondeterministic(tree: exp.Query, catalog: Catalog) -> exp.Query:
    """The query itself; Refusal for rand(), uuid() and functions not declared deterministic."""
    for text in tree.find_all(exp.Literal):
        if text.is_string and _first_word(text.name) in TODAY and _is_read_as_time(text):
            assert text.parent is not None
            raise Refusal(
                f"'{text.name}' is another point in time whenever the query is read",
                text.parent.sql("spark"),
                "write now(), current_date() or current_date() + 1; in a select list leave it out",
                code="nondeterministic",
            )
    for node in tree.find_all(exp.Func):
        own = user_defined(node)
        if own and not _declared(own, catalog):
            raise Refusal(
                f"{own}() is a user-defined function that is not declared deterministic",
                (node.parent if "." in own and node.parent else node).sql("spark"),
                f"if equal arguments always give it equal values: deterministic_functions: [{own}];"
                f" else {UPSTREAM}",
                code="undeclared-function",
            )
        names = called(node)
        if not own and names & NONDETERMINISTIC:
            raise Refusal(
                f"{sorted(names & NONDETERMINISTIC)[0]}() does not give the same value twice",
                node.sql("spark"),
                f"derive the value from the data (a hash of a key), or {UPSTREAM}",
                code="nondeterministic",
            )
    return tree


def _first_word(text: str) -> str:
    found = re.match(r"\s*([a-z]*)", text.lower())
    return found.group(1) if found is not None else ""


def _is_read_as_time(text: exp.Literal) -> bool:
    """Return whether Spark may make a date or a timestamp of this text."""
    node: exp.Expr = text
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    around = node.parent
    if isinstance(around, exp.Cast):
        return bool(around.to.is_type(*_TIMES))
    known = [part for part in _widened_with(node) if part.type is not None]
    return type(around).__module__ == _TEMPORAL or any(
        part.is_type(*_TIMES, "unknown") for part in known
    )


def _widened_with(node: exp.Expr) -> list[exp.Expr]:
    """Return the values that Spark brings to one type with this one: operands, other cases."""
    around = node.parent
    case = around.parent if isinstance(around, exp.If) else None
    if isinstance(case, exp.Case):
        if node.arg_key == "this":
            return [case.this] if case.this is not None else []
        values = [*(branch.args["true"] for branch in case.args["ifs"]), case.args.get("default")]
        return [value for value in values if value is not None and value is not node]
    if isinstance(around, exp.Predicate | exp.Coalesce | exp.If | exp.Greatest | exp.Least):
        return [part for part in around.iter_expressions() if part is not node]
    return []


def _declared(name: str, catalog: Catalog) -> bool:
    """Return whether a function is declared, by its full name or the part after a dot."""
    parts = name.split(".")
    ends = {".".join(parts[start:]) for start in range(len(parts))}
    return bool(ends & catalog.deterministic_functions)


def called(node: exp.Func) -> set[str]:
    """The names of a function, in lower case."""
    if isinstance(node, exp.Anonymous):
        return {node.name.lower()}
    return {name.lower() for name in node.sql_names()}
