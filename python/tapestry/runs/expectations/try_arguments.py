"""Has the engine try arguments, to find invalid patterns and values that do not fit a column.

A pattern would fail at the first row, and a text that cannot be cast is NULL to Spark outside of
ANSI mode, so that no row would break the expectation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tapestry.errors import ConfigurationError
from tapestry.quoting import Sql, string, type_text
from tapestry.runs.engine.session import Session
from tapestry.runs.engine.written_values import UnfitError, reader_of
from tapestry.runs.model.declare import Expectation, short

_REGEX, _LIKE = Sql("RLIKE"), Sql("LIKE")
_PATTERNS: Mapping[str, Sql] = {
    "regex": _REGEX,
    "regex_list": _REGEX,
    "like_pattern": _LIKE,
    "like_pattern_list": _LIKE,
}
_CASTS = (
    *("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"),
    *("date", "timestamp", "timestamp_ntz", "boolean"),
)
"""Types of which not every text is a value; some have numbers in parentheses behind them."""
_TEXTS = ("string", "varchar", "char")
_BOUNDS = ("min_value", "max_value")
_OF_A_VALUE = tuple(f"expect_column_{of}_to_be_between" for of in ("values", "max", "min"))
"""The kinds whose bounds are values of the column: those of others are lengths, sums, counts."""
TRIED = (*_BOUNDS, "value_set", *_PATTERNS)
"""The arguments that are tried."""


def refuse_unfit(
    session: Session, expectations: Sequence[Expectation], columns: Mapping[str, str], file: str
) -> None:
    """Raise ConfigurationError for a pattern or a value that the engine cannot use.

    ``columns`` are the types by the columns' names in lower case. Executes one statement for all
    texts, and one for each pattern, of which none reads data.
    """
    asked: list[tuple[Sql, ConfigurationError]] = []
    for one in expectations:
        kind = columns.get(str(one.keywords.get("column")).lower(), "")
        family = kind.split("(")[0]
        for name, value in _values(one):
            if isinstance(value, str) and family in _CASTS:
                asked.append(_no_value(one, name, value, kind, file))
                if not _fits(value, kind):
                    raise asked[-1][1]
            if isinstance(value, (int, float)) and family in _TEXTS:
                raise _number(one, name, value, kind, file)
        asked += _out_of_order(one, kind, kind if family in _CASTS else "string", file)
    if asked:
        (answers,) = session.rows(f"SELECT {', '.join(wrong for wrong, _ in asked)}")
        for (_, error), wrong in zip(asked, answers, strict=True):
            if wrong:
                raise error
    for one in expectations:
        for name, pattern in _patterns(one):
            _refuse_pattern(session, one, name, pattern, file)


def _fits(text: str, kind: str) -> bool:
    """Return whether a text is exactly a value of a type: Spark takes `10:00` for one of today."""
    reader = reader_of(kind)
    try:
        return reader is None or bool(reader(text))
    except UnfitError:
        return False


def _values(one: Expectation) -> Iterator[tuple[str, Any]]:
    """Yield the arguments that are values of the column."""
    for name, value in one.keywords.items():
        if name == "value_set" or (name in _BOUNDS and one.kind in _OF_A_VALUE):
            values = value if isinstance(value, list) else [value]
            yield from ((name, item) for item in values)


def _patterns(one: Expectation) -> Iterator[tuple[str, str]]:
    for name, value in one.keywords.items():
        if name in _PATTERNS:
            values = value if isinstance(value, list) else [value]
            yield from ((name, item) for item in values if isinstance(item, str))


def _number(one: Expectation, name: str, value: float, kind: str, file: str) -> ConfigurationError:
    """Return the error for a number given for a text column: rows of letters would fail the run."""
    return ConfigurationError(
        f"{one.name}: {name}: {short(value)} is not a text, and the column"
        f" {one.keywords['column']} is of the type {kind}",
        where=file,
        hint="write the value in quotes, or CAST the column in the query",
    )


def _no_value(
    one: Expectation, name: str, text: str, kind: str, file: str
) -> tuple[Sql, ConfigurationError]:
    """Return a condition true of a text that is no value of the column's type, and the error."""
    error = ConfigurationError(
        f"{one.name}: {name}: {short(text)} is no {kind}, and the column"
        f" {one.keywords['column']} is of that type",
        where=file,
        hint="write a value of the column's type, or CAST the column in the query",
    )
    return Sql(f"try_cast({string(text)} AS {type_text(kind)}) IS NULL"), error


def _out_of_order(
    one: Expectation, kind: str, order: str, file: str
) -> Iterator[tuple[Sql, ConfigurationError]]:
    """Yield a condition true of two bounds in the wrong order, and the error.

    Texts are compared in the order of the column's type: as integers '9' comes before '10'.
    """
    least, most = (one.keywords.get(name) for name in _BOUNDS)
    if one.kind not in _OF_A_VALUE or not isinstance(least, str) or not isinstance(most, str):
        return
    low, high = (f"try_cast({string(text)} AS {type_text(order)})" for text in (least, most))
    error = ConfigurationError(
        f"{one.name}: min_value: {short(least)} is above max_value: {short(most)}",
        where=file,
        hint=f"the column {one.keywords['column']} is of the type {kind}",
    )
    yield Sql(f"{low} > {high}"), error


def _refuse_pattern(session: Session, one: Expectation, name: str, pattern: str, file: str) -> None:
    try:
        session.rows(f"SELECT 'a' {_PATTERNS[name]} {string(pattern)}")
    except Exception as error:
        said = " ".join(str(error).split("JVM stacktrace")[0].split())
        raise ConfigurationError(
            f"{one.name}: {name}: {short(pattern)} is not a pattern: {said[:300]}",
            where=file,
            hint="Spark reads it: a regular expression as Java has them, LIKE with \\ before a sign"
            " that means itself",
        ) from error
