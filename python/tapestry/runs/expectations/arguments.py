"""Checks the arguments of Great Expectations' expectations before any run.

Great Expectations accepts some values that it cannot use, and fails on them while it reads rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tapestry.errors import ConfigurationError
from tapestry.runs.expectations.row_conditions import BOTH, DESCRIBING, EITHER, above, arguments_of
from tapestry.runs.model.declare import Expectation, short

IN_SET = "expect_column_values_to_be_in_set"
IGNORING = (BOTH, EITHER, "never", "neither")
_LISTS = ("value_set", "column_list", "column_set", "type_list", "regex_list", "like_pattern_list")
_OPTIONAL = ("min_value", "max_value", "strict_min", "strict_max", "or_equal", "ignore_row_if")
_OF_BOUNDS = {
    *("column", "min_value", "max_value", "strict_min", "strict_max"),
    *("mostly", "row_condition", "condition_parser"),
}
"""The arguments of expectations with bounds; any other may be misspelt, which is said first."""
_Check = Callable[[Any], str]
"""Function from a value to the fault in it, the rest of a sentence; "" if there is none."""


def refuse_arguments(expectation: Expectation, file: str) -> None:
    """Raise ConfigurationError for an argument that its expectation can do nothing with.

    The message names expectation, argument and value.  A ``null`` among the values of
    ``expect_column_values_to_be_in_set`` adds none: a row without a value breaks no expectation.
    """
    arguments = {k: v for k, v in expectation.keywords.items() if k not in DESCRIBING}
    names = arguments_of(expectation.kind)
    for name, value in arguments.items():
        problem = (
            _list(value) if name in _LISTS else _CHECKS[name](value) if name in _CHECKS else ""
        )
        if names is not None:
            problem = problem or _OURS.get((expectation.kind, name), _fine)(value)
            problem = problem or _OURS.get(("", name), _fine)(value)
        if name == "value_set" and not problem:
            problem = _nulls(expectation.kind, value)
        if problem:
            raise _wrong(expectation, f"{name}: {short(value)} {problem}", file)
    if names is not None and set(arguments) <= {*names, "mostly", "row_condition"}:
        _refuse_missing(expectation, arguments, names, file)
    if expectation.kind.endswith("_to_be_between") and set(arguments) <= _OF_BOUNDS:
        _refuse_bounds(expectation, arguments, file)


def _refuse_missing(
    expectation: Expectation, arguments: Mapping[str, Any], names: Sequence[str], file: str
) -> None:
    for name in names:
        if name not in arguments and name not in _OPTIONAL:
            raise _wrong(expectation, f"{name} is missing", file)


def _refuse_bounds(expectation: Expectation, arguments: Mapping[str, Any], file: str) -> None:
    """Raise for wrong bounds; two texts are left to the engine, which knows the column's type."""
    least, most = arguments.get("min_value"), arguments.get("max_value")
    if least is None and most is None:
        raise _wrong(expectation, "neither min_value nor max_value is given", file)
    if least is None or most is None:
        return
    if isinstance(least, str) != isinstance(most, str):
        raise _wrong(
            expectation,
            f"min_value: {short(least)} and max_value: {short(most)} are of two types",
            file,
        )
    if above(least, most):
        raise _wrong(
            expectation, f"min_value: {short(least)} is above max_value: {short(most)}", file
        )


def _wrong(expectation: Expectation, what: str, file: str) -> ConfigurationError:
    names = arguments_of(expectation.kind)
    taken = f"arguments of {expectation.kind}: {', '.join(names)}" if names else ""
    return ConfigurationError(f"{expectation.name}: {what}", where=file, hint=taken)


def _fine(value: Any) -> str:
    return ""


def _text(value: Any) -> str:
    if isinstance(value, str):
        return "" if value else "is an empty text"
    return "is not a text (write it in quotes)"


def _truth(value: Any) -> str:
    return "" if isinstance(value, bool) else "is not true or false"


def _share(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        return "is not a number from 0 to 1"
    return ""


def _length(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0 or value % 1:
        return "is not a length: a whole number from 0 on"
    return ""


def _bound(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "is not a value that others are above or below"
    if isinstance(value, (bool, list, dict)):
        return "is not a number, text or date"
    return ""


def _length_bound(value: Any) -> str:
    return "" if value is None else _length(value)


def _rows_ignored(value: Any) -> str:
    return "" if value in IGNORING else f"is not one of {', '.join(IGNORING)}"


def _list(value: Any) -> str:
    if not isinstance(value, list):
        return "is not a list"
    return "" if value else "is an empty list"


def _items(value: Sequence[Any]) -> str:
    for item in value:
        if isinstance(item, (list, dict)):
            return f"holds {short(item)}: each item is one number, text, date, true or false"
        if isinstance(item, float) and not math.isfinite(item):
            return f"holds {item}, which equals nothing"
    return ""


def _nulls(kind: str, values: Sequence[Any]) -> str:
    wrong = _items(values)
    if wrong or None not in values:
        return wrong
    if kind != IN_SET:
        return (
            "holds null, and rows without a value are not looked at: for those there is"
            " expect_column_values_to_not_be_null"
        )
    if all(item is None for item in values):
        return "holds null only: for that there is expect_column_values_to_be_null"
    return ""


_CHECKS: Mapping[str, _Check] = {
    "column": _text,
    "column_A": _text,
    "column_B": _text,
    "mostly": _share,
    "row_condition": _text,
    "strict_min": _truth,
    "strict_max": _truth,
}
_LENGTHS = "expect_column_value_lengths_to_be_between"
_OURS: Mapping[tuple[str, str], _Check] = {
    (_LENGTHS, "min_value"): _length_bound,
    (_LENGTHS, "max_value"): _length_bound,
    ("", "min_value"): _bound,
    ("", "max_value"): _bound,
    ("", "value"): _length,
    ("", "regex"): _text,
    ("", "like_pattern"): _text,
    ("", "or_equal"): _truth,
    ("", "ignore_row_if"): _rows_ignored,
}
