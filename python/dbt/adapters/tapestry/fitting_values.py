"""A cast of a column that stops the statement at a value for which the type has no room."""

from __future__ import annotations

from sqlglot import ParseError, exp

from tapestry.quoting import Sql, identifier, string
from tapestry.runs.engine.column_types import sql_type

_T = exp.DataType.Type
_NUMBERS = frozenset({_T.TINYINT, _T.SMALLINT, _T.INT, _T.BIGINT, _T.FLOAT, _T.DOUBLE, _T.DECIMAL})
_TIMES = frozenset({_T.DATE, _T.TIMESTAMP, _T.TIMESTAMPTZ, _T.TIMESTAMPLTZ, _T.TIMESTAMPNTZ})


def fitted(name: str, given: str, kept: str) -> Sql | None:
    """Return the column ``name``, of the type ``given``, cast to the type ``kept``.

    A value fits if it is the same once it is cast there and back. A FLOAT is by its nature the
    nearest to a DOUBLE: only a DOUBLE that is too large for it does not fit. Returns None for types
    of which this cannot be tested: others than two of numbers, or two of times.
    """
    try:
        kinds = [exp.DataType.build(text, dialect="spark").this for text in (given, kept)]
    except (ParseError, ValueError):
        return None
    if not any(set(kinds) <= group for group in (_NUMBERS, _TIMES)):
        return None
    column = identifier(name)
    cast = f"try_cast({column} as {sql_type(kept)})"
    if kinds == [_T.DOUBLE, _T.FLOAT]:
        endless = "double('infinity')"
        fits = f"isnan({column}) or abs({column}) = {endless} or abs({cast}) < {endless}"
    else:
        fits = f"try_cast({cast} as {sql_type(given)}) = {column}"
    told = string(f"{column} is {given} in the query now, and {kept} in the table cuts the value ")
    error = f"raise_error(concat({told}, cast({column} as string)))"
    return Sql(f"case when {column} is null or {fits} then {cast} else {error} end")
