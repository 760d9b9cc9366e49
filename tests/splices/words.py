"""Which texts and names mean what to the search for splices."""

from __future__ import annotations

import re

QUOTING = "tapestry.quoting"
LOOKS_LIKE_SQL = re.compile(
    r"\b(SELECT|INSERT INTO|INSERT OVERWRITE|DELETE FROM|MERGE INTO|UPDATE|CREATE|ALTER TABLE|DROP"
    r"|DESCRIBE|OPTIMIZE|VACUUM|RESTORE|SHOW|FROM|WHERE|CAST\(|UNION ALL|VALUES|TBLPROPERTIES)"
    r"(?=\W)"
    r"|^\s*(select|insert|delete|merge|update|create|alter|drop|describe|show|copy|use|set|cast\()\W"
)
WHY = re.compile(r"# sql: \w+")
"""A comment that says why a text is SQL though nothing here can see it."""
NUMBERS = frozenset({"int", "bool", "float"})
TEXTS = frozenset(
    {"str", "Any", "object", "Path", "T", "BaseRelation", "Callable", "dict", "Column"}
)
"""Types that a text may have, or be put into SQL as; values of others are not interpolated."""
MESSAGES = re.compile(
    r"(^parse|^parse_one|UnknownStar|Error|Refusal|Changed|Gone|Missing|Rewritten|Found|Failed|Run|Trouble)$"
)
"""Calls whose arguments people read."""
HARMLESS_CALLS = frozenset(
    {*NUMBERS, "len", "sum", "round", "abs", "ord", "hash", "range", "isinstance", "micros"}
)
"""Give numbers, whatever they are given."""
HARMLESS_METHODS = frozenset(
    {
        "isoformat",
        "strftime",
        "astimezone",
        "hexdigest",
        "randrange",
        "hex",
        "sql",
        "total_seconds",
        "index",
        "count",
    }
)
"""Give numbers, or what sqlglot writes of a tree."""
HARMLESS_ATTRIBUTES = frozenset({"hex", "__name__"})
PASSING_CALLS = frozenset(
    {"str", "sorted", "list", "tuple", "set", "frozenset", "dict", "reversed", "iter", "next"}
    | {"enumerate", "zip", "map", "field", "filter", "chain", "Sql", "cast", "max", "min"}
)
"""Give what they are given."""
PASSING_METHODS = frozenset(
    {"join", "format", "replace", "strip", "lstrip", "rstrip", "lower", "upper", "split"}
    | {"removeprefix", "removesuffix", "items", "values", "keys", "get", "pop", "copy", "rjust"}
    | {
        "splitlines",
        "partition",
        "append",
        "extend",
        "format_map",
        "rpartition",
        "rsplit",
        "setdefault",
        "fromkeys",
    }
)
"""Give what they are called on, with their arguments in it."""
