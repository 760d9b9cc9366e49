"""Where a search for splices begins: texts that look like SQL, and what a session is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.splices.code import SESSIONS, SINKS
from tests.splices.words import LOOKS_LIKE_SQL


def parts_of_sql(node: ast.AST) -> Iterator[ast.expr]:
    """What is put into a text that looks like SQL, or given to a session."""
    if isinstance(node, ast.JoinedStr):
        constant = "".join(str(v.value) for v in node.values if isinstance(v, ast.Constant))
        if LOOKS_LIKE_SQL.search(constant):
            yield node
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        if _is_sql(node.left) or _is_sql(node.right):
            yield node
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("format", "join", "replace") and _is_sql(node.func.value):
            yield node
        elif (
            node.func.attr in SINKS and SESSIONS.search(ast.unparse(node.func.value)) and node.args
        ):
            yield node.args[0]


def _is_sql(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and bool(LOOKS_LIKE_SQL.search(node.value))
    )
