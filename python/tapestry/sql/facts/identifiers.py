"""Identifiers in Spark SQL: when a name needs quotes."""

from __future__ import annotations

import re
from functools import lru_cache

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPARK = Dialect.get_or_raise("spark")


def identifier(name: str) -> exp.Identifier:
    """Return a name as an identifier, quoted if necessary."""
    return exp.to_identifier(name, quoted=needs_quotes(name))


def needs_quotes(name: str) -> bool:
    """Return whether a name needs quotes: Spark takes only ASCII letters, digits and _ without."""
    return not _PLAIN.fullmatch(name) or _is_word(name.lower())


@lru_cache(maxsize=10_000)
def _is_word(name: str) -> bool:
    """Return whether a name is a keyword where a column may stand.

    >>> [_is_word(name) for name in ("from", "case", "null", "date", "id")]
    [True, True, True, False, False]
    """
    try:
        (read,) = _SPARK.parse(f"SELECT {name}, t.{name} AS {name} FROM t")
    except SqlglotError:
        return True
    items = read.selects if isinstance(read, exp.Select) else []
    columns = [item.unalias() for item in items]
    return len(items) != 2 or any(
        not isinstance(column, exp.Column) or column.name != name for column in columns
    )
