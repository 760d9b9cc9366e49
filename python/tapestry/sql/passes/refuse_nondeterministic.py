"""Refuse what does not give the same answer twice: it could be neither kept nor checked."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql import timing
from tapestry.sql.catalog import Catalog

NONDETERMINISTIC = frozenset(
    {
        *("rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle"),
        *("monotonically_increasing_id", "spark_partition_id", "input_file_name"),
        *("input_file_block_start", "input_file_block_length", "current_user", "session_user"),
        *("user", "current_database", "current_schema", "current_catalog", "java_method"),
        *("reflect", "try_reflect", "any_value", "first", "first_value", "last", "last_value"),
    }
)


def refuse_nondeterministic(tree: exp.Query, catalog: Catalog) -> None:
    """Raise Refusal for rand(), uuid() and functions that are not declared deterministic."""
    for node in tree.find_all(exp.Func):
        names = {node.name.lower()} if isinstance(node, exp.Anonymous) else _names(node)
        schema = schema_of(node)
        if not schema and names & NONDETERMINISTIC:
            raise Refusal(
                f"{sorted(names & NONDETERMINISTIC)[0]}() does not give the same value twice",
                node.sql("spark"),
                "derive the value from the data (a hash of a key), or compute it upstream",
            )
        if not schema and not (isinstance(node, exp.Anonymous) and not is_builtin(node)):
            continue
        if any(_declared(f"{schema}{name}", catalog) for name in names):
            continue
        name = f"{schema}{node.name.lower() if isinstance(node, exp.Anonymous) else min(names)}"
        raise Refusal(
            f"{name}() is a user-defined function that is not declared deterministic",
            (node.parent if schema and node.parent else node).sql("spark"),
            f"if equal arguments always give it equal values: deterministic_functions: [{name}];"
            " else compute it upstream, in a table that this model reads",
        )


def is_builtin(node: exp.Anonymous) -> bool:
    """Does Spark know a function of this name that sqlglot has no class for?"""
    return timing.is_now(node) or node.name.lower() in spark_functions()


def schema_of(node: exp.Func) -> str:
    """What stands before the name of a function, with its last dot, in lower case; '' if nothing.

    A function with a schema is never Spark's own, whatever its name: ``db.upper(x)``.
    """
    parent = node.parent
    if not isinstance(parent, exp.Dot) or parent.expression is not node:
        return ""
    return "".join(f"{part.name.lower()}." for part in parent.this.find_all(exp.Identifier))


def _declared(name: str, catalog: Catalog) -> bool:
    """Is the function declared, by its full name or by what stands behind a dot of it?"""
    parts = name.split(".")
    ends = {".".join(parts[start:]) for start in range(len(parts))}
    return bool(ends & catalog.deterministic_functions)


@cache
def spark_functions() -> frozenset[str]:
    """Names of Spark's built-in functions, in lower case."""
    text = (files("tapestry.sql") / "spark_functions.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


def _names(node: exp.Func) -> set[str]:
    return {name.lower() for name in node.sql_names()}
