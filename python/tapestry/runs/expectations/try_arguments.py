"""Arguments tried by the engine: patterns that are none, texts that are no value of a column.

A pattern would fail at the first row, and a text that cannot be cast is NULL to Spark outside of
ANSI mode, so that no row would break the expectation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tapestry.errors import ConfigurationError
from tapestry.quoting import Sql, string, type_text
from tapestry.runs.engine.session import Session
from tapestry.runs.model.declare import Expectation, short

_PATTERNS: Mapping[str, Sql] = {"regex": Sql("RLIKE"), "like_pattern": Sql("LIKE")}
_CASTS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "date", "timestamp")
"""Types of which not every text is a value; some have numbers in parentheses behind them."""
TRIED = ("min_value", "max_value", "value_set", *_PATTERNS)
"""The arguments that are tried."""


def refuse_unfit(
    session: Session, expectations: Sequence[Expectation], columns: Mapping[str, str], file: str
) -> None:
    """Raise ConfigurationError for a pattern or a text that the engine can do nothing with.

    ``columns`` are the types by the columns' names in lower case. Asks one statement for all
    texts, and one for each pattern, of which none reads data.
    """
    casts = [
        (one, name, text, kind)
        for one in expectations
        for name, text in _texts(one)
        if (kind := _type(one, columns)).split("(")[0] in _CASTS
    ]
    if casts:
        asked = ", ".join(
            f"try_cast({string(text)} AS {type_text(kind)}) IS NULL" for *_, text, kind in casts
        )
        (unfit,) = session.rows(f"SELECT {asked}")
        for (one, name, text, kind), wrong in zip(casts, unfit, strict=True):
            if wrong:
                raise ConfigurationError(
                    f"{one.name}: {name}: {short(text)} is no {kind}, and the column"
                    f" {one.keywords['column']} is of that type",
                    where=file,
                    hint="write a value of the column's type, or CAST the column in the query",
                )
    for one in expectations:
        for name, operator in _PATTERNS.items():
            if isinstance(one.keywords.get(name), str):
                _refuse_pattern(session, one, name, operator, file)


def _type(one: Expectation, columns: Mapping[str, str]) -> str:
    return columns.get(str(one.keywords.get("column")).lower(), "")


def _texts(one: Expectation) -> Iterator[tuple[str, str]]:
    for name, value in one.keywords.items():
        if name in TRIED and name not in _PATTERNS:
            values = value if isinstance(value, list) else [value]
            yield from ((name, item) for item in values if isinstance(item, str))


def _refuse_pattern(
    session: Session, one: Expectation, name: str, operator: Sql, file: str
) -> None:
    pattern = one.keywords[name]
    try:
        session.rows(f"SELECT 'a' {operator} {string(pattern)}")
    except Exception as error:
        said = " ".join(str(error).split("JVM stacktrace")[0].split())
        raise ConfigurationError(
            f"{one.name}: {name}: {short(pattern)} is not a pattern: {said[:300]}",
            where=file,
            hint="Spark reads it: a regular expression as Java has them, LIKE with \\ before a sign"
            " that means itself",
        ) from error
