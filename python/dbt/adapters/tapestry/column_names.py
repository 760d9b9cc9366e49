"""Texts that dbt takes for a column's name or an expression, as SQL.

dbt-spark writes such a text as it stands, so that ``order-no`` is a subtraction. Here a text that
is a column's name (in upper or lower case) stands for that column; one in backticks and any other
text are written as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from tapestry.errors import ConfigurationError
from tapestry.quoting import Sql, authored, identifier

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED = re.compile(r"`(?:[^`]|``)*`")
_PART = re.compile(rf"{_QUOTED.pattern}|{_PLAIN.pattern}")
_PATH = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")
_WORDS = re.compile(r"(?!case\b)[^\W_][\w -]*", re.IGNORECASE)


def column_sql(text: str, columns: Sequence[str]) -> Sql:
    """Return a text as SQL, where the columns that it can name are known.

    >>> column_sql("order-no", ["Order-No"]), column_sql("a - b", ["a", "b"])
    ('`Order-No`', 'a - b')
    """
    found = named_column(text, columns)
    return authored(text) if found is None else identifier(found)


def name_sql(name: str) -> Sql:
    """Return a text that can only be a name as SQL; one that has its backticks keeps them.

    >>> name_sql("order-no"), name_sql("`a.b`")
    ('`order-no`', '`a.b`')
    """
    return authored(name) if _QUOTED.fullmatch(name) else identifier(name)


def time_sql(text: str) -> Sql:
    """Return an ``event_time`` as SQL, where dbt does not know the relation's columns.

    Words with spaces or hyphens between them can be no expression that is an instant, so they are
    a name; with a dot, parentheses or another operator the text stays.

    >>> time_sql("read at"), time_sql("meta.read_at"), time_sql("to_timestamp(ts)")
    ('`read at`', 'meta.read_at', 'to_timestamp(ts)')
    """
    if _PLAIN.fullmatch(text) or not _WORDS.fullmatch(text):
        return authored(text)
    return identifier(text)


def means_itself(text: str) -> bool:
    """Return whether a text is the same SQL whatever columns exist: plain, or in backticks."""
    return bool(_PLAIN.fullmatch(text) or _QUOTED.fullmatch(text))


def key_sql(option: str, text: str, columns: Sequence[str], table: str) -> Sql:
    """Return a column that an option of a merge names; a field of a struct is `column.field`.

    Raises ConfigurationError for an expression: the statement puts a table's name before it.
    """
    if named_column(text, columns) is not None:
        return column_sql(text, columns)
    first = _PART.match(text)
    if first and _PATH.fullmatch(text) and named_column(bare(first[0]), columns) is not None:
        return authored(text)
    near = get_close_matches(bare(text).lower(), [column.lower() for column in columns], 1, 0.6)
    meant = f"did you mean {near[0]}? " if near else ""
    raise ConfigurationError(
        f"{option}: {text} is no column",
        where=table,
        hint=f"{meant}Its columns are {', '.join(columns)}",
    )


def named_column(text: str, columns: Sequence[str]) -> str | None:
    """Return the column that a text names, with or without backticks; None if it names none."""
    for name in (text, bare(text)):
        if name in columns:
            return name
        for column in columns:
            if column.lower() == name.lower():
                return column
    return None


def bare(text: str) -> str:
    """Return a name without its backticks."""
    return text[1:-1].replace("``", "`") if _QUOTED.fullmatch(text) else text
