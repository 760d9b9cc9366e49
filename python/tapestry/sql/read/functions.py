"""Tells Spark's own functions from user-defined ones."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from sqlglot import exp

from tapestry.sql import timing


def user_defined(node: exp.Func) -> str:
    """The full name of a function that is not Spark's own, in lower case; '' for Spark's.

    With a schema before it no function is Spark's, whatever its name: ``db.upper(x)``; the parser
    makes all such functions anonymous.
    """
    if not isinstance(node, exp.Anonymous):
        return ""
    name, parent = node.name.lower(), node.parent
    if isinstance(parent, exp.Dot) and parent.expression is node:
        return ".".join([*(p.name.lower() for p in parent.this.find_all(exp.Identifier)), name])
    return "" if timing.is_now(node) or name in spark_functions() else name


@cache
def spark_functions() -> frozenset[str]:
    """Names of Spark's built-in functions, in lower case."""
    text = (files("tapestry.sql") / "spark_functions.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))
