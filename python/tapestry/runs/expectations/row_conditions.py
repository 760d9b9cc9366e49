"""Great Expectations' expectations on single rows, as SQL conditions.

These need no dataframe, are counted in the same pass as all other conditions, and tell which rows
to drop. Each computes the same as Great Expectations' Spark engine; a test compares the two. Where
an argument asks for more (``mostly``, ``row_condition``), Great Expectations runs it itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from tapestry.quoting import identifier, string
from tapestry.runs.model.declare import Expectation

_Arguments = Mapping[str, Any]
_Made = str | None

DESCRIBING = ("description", "meta", "notes", "severity")
"""Arguments that say something about an expectation and change nothing."""
BOTH, EITHER = "both_values_are_missing", "either_value_is_missing"


def condition_of(expectation: Expectation) -> str | None:
    """Return the condition that a row has to fulfil; None where there is no SQL for it.

    >>> condition_of(Expectation("n", "drop", kind="expect_column_values_to_not_be_null",
    ...                          arguments='{"column": "author"}'))
    '`author` IS NOT NULL'
    """
    if expectation.condition:
        return expectation.condition
    known = _CONDITIONS.get(expectation.kind)
    if known is None:
        return None
    names, make = known
    arguments = {k: v for k, v in expectation.keywords.items() if k not in DESCRIBING}
    if arguments.get("mostly") in (1, 1.0):
        del arguments["mostly"]
    columns = [name for name in names if name.startswith("column")]
    if not set(arguments) <= set(names) or not all(
        isinstance(arguments.get(name), str) for name in columns
    ):
        return None
    return make(arguments)


def on_rows() -> tuple[str, ...]:
    """Return the kinds that tell which rows break them."""
    return tuple(sorted(_CONDITIONS))


def arguments_of(kind: str) -> tuple[str, ...] | None:
    """Return the arguments of a kind that has SQL of ours, without those that all have."""
    known = _CONDITIONS.get(kind)
    return None if known is None else known[0]


def _literal(value: Any) -> _Made:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value!r}D" if math.isfinite(value) else None
    return string(value) if isinstance(value, str) else None


def _column(arguments: _Arguments, name: str = "column") -> str:
    return identifier(str(arguments[name]))


def _in_set(arguments: _Arguments) -> _Made:
    values = arguments.get("value_set")
    if not isinstance(values, list) or not values:
        return None
    # A null adds no value: a row without one breaks no expectation.
    literals = [_literal(value) for value in values if value is not None]
    if None in literals or not literals:
        return None
    return f"{_column(arguments)} IN ({', '.join(str(text) for text in literals)})"


def _not_in_set(arguments: _Arguments) -> _Made:
    inside = _in_set(arguments)
    return None if inside is None else f"NOT {inside}"


def above(least: Any, most: Any) -> bool:
    """Return whether a number is above another; the order of texts is left to the engine."""
    return not isinstance(least, str) and bool(least > most)


def _range(measured: str, arguments: _Arguments) -> _Made:
    least, most = arguments.get("min_value"), arguments.get("max_value")
    if (
        least is not None
        and most is not None
        and (isinstance(least, str) != isinstance(most, str) or above(least, most))
    ):
        return None  # an error of the arguments, which Great Expectations explains
    parts = []
    for key, loose, strict in (("min", ">=", ">"), ("max", "<=", "<")):
        value = arguments.get(f"{key}_value")
        if value is None:
            continue
        text = _literal(value)
        if text is None:
            return None
        parts.append(f"{measured} {strict if arguments.get(f'strict_{key}') else loose} {text}")
    return " AND ".join(parts) or None


def _between(arguments: _Arguments) -> _Made:
    return _range(_column(arguments), arguments)


def _lengths(arguments: _Arguments) -> _Made:
    return _range(f"length({_column(arguments)})", arguments)


def _length(arguments: _Arguments) -> _Made:
    value = arguments.get("value")
    return None if value is None else f"length({_column(arguments)}) = {int(value)}"


def _matching(operator: str, key: str, negated: bool = False) -> Callable[[_Arguments], _Made]:
    def make(arguments: _Arguments) -> _Made:
        pattern = arguments.get(key)
        if not isinstance(pattern, str):
            return None
        text = f"{_column(arguments)} {operator} {string(pattern)}"
        return f"NOT ({text})" if negated else text

    return make


def _equal(arguments: _Arguments) -> _Made:
    one, other = _column(arguments, "column_A"), _column(arguments, "column_B")
    rule = arguments.get("ignore_row_if", BOTH)
    return {BOTH: f"{one} <=> {other}", EITHER: f"{one} = {other}"}.get(rule)


def _greater(arguments: _Arguments) -> _Made:
    one, other = _column(arguments, "column_A"), _column(arguments, "column_B")
    if arguments.get("ignore_row_if", BOTH) not in (BOTH, EITHER):
        return None
    return (
        f"{one} >= {other} OR {one} <=> {other}"
        if arguments.get("or_equal")
        else f"{one} > {other}"
    )


_BOUNDS = ("column", "min_value", "max_value", "strict_min", "strict_max")
_PAIR = ("column_A", "column_B", "ignore_row_if")

_CONDITIONS: Mapping[str, tuple[tuple[str, ...], Callable[[_Arguments], _Made]]] = {
    "expect_column_values_to_not_be_null": (
        ("column",),
        lambda a: f"{_column(a)} IS NOT NULL",
    ),
    "expect_column_values_to_be_null": (("column",), lambda a: f"{_column(a)} IS NULL"),
    "expect_column_values_to_be_in_set": (("column", "value_set"), _in_set),
    "expect_column_values_to_not_be_in_set": (("column", "value_set"), _not_in_set),
    "expect_column_values_to_be_between": (_BOUNDS, _between),
    "expect_column_value_lengths_to_be_between": (_BOUNDS, _lengths),
    "expect_column_value_lengths_to_equal": (("column", "value"), _length),
    "expect_column_values_to_match_regex": (("column", "regex"), _matching("RLIKE", "regex")),
    "expect_column_values_to_not_match_regex": (
        ("column", "regex"),
        _matching("RLIKE", "regex", negated=True),
    ),
    "expect_column_values_to_match_like_pattern": (
        ("column", "like_pattern"),
        _matching("LIKE", "like_pattern"),
    ),
    "expect_column_values_to_not_match_like_pattern": (
        ("column", "like_pattern"),
        _matching("LIKE", "like_pattern", negated=True),
    ),
    "expect_column_pair_values_to_be_equal": (_PAIR, _equal),
    "expect_column_pair_values_a_to_be_greater_than_b": ((*_PAIR, "or_equal"), _greater),
}
