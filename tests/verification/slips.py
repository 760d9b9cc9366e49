"""Slips in rendered SQL, as one in a strategy would be: each takes a node and gives a wrong one."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

Change = Callable[[exp.Expr], exp.Expr | None]
"""What stands in the place of a node; None: the node stays."""


def operators(kind: type[exp.Binary], other: type[exp.Binary]) -> Change:
    """Every operator of one kind is one of another kind."""

    def change(node: exp.Expr) -> exp.Expr | None:
        return other(this=node.this, expression=node.expression) if type(node) is kind else None

    return change


def nothing_is_null(node: exp.Expr) -> exp.Expr | None:
    """Guards of bounds, null-aware NOT IN; a query with IS of its own loses that, too."""
    lost = isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)
    return exp.false() if lost else None


def plain_equality(node: exp.Expr) -> exp.Expr | None:
    """``=`` for ``<=>``."""
    if not isinstance(node, exp.NullSafeEQ):
        return None
    return exp.EQ(this=node.this, expression=node.expression)


def nowhere(is_read: Callable[[str], bool]) -> Change:
    """NOT EXISTS over a table of such a name is true."""

    def change(node: exp.Expr) -> exp.Expr | None:
        denies = isinstance(node, exp.Not) and isinstance(node.this, exp.Exists)
        tables = [table.name for table in node.find_all(exp.Table)] if denies else []
        return exp.true() if any(map(is_read, tables)) else None

    return change


def forget(suffix: str) -> Change:
    """What was an answer before is forgotten: the tables of a suffix."""
    return nowhere(lambda name: name.endswith(suffix))


skip_blocking = nowhere(lambda name: name.startswith("read_"))
"""Rows that forbid an answer are not looked at."""


def keep_later_starts(node: exp.Expr) -> exp.Expr | None:
    """Of several starts not the first alone counts."""
    ranks = isinstance(node, exp.EQ) and node.this.name == "_rank"
    return exp.true() if ranks else None
