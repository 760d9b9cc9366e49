"""Great Expectations itself: loaded only where a model names an expectation that only it can run.

Importing it takes seconds and each expectation scans the rows again, so conditions with SQL of our
own are not run by it.
"""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from time import monotonic
from typing import Any

from tapestry.errors import ConfigurationError
from tapestry.runs.expectations.row_conditions import DESCRIBING, arguments_of, condition_of
from tapestry.runs.model.declare import KEYS, Expectation, near

ALWAYS = (*DESCRIBING, "mostly", "row_condition", "condition_parser")
"""Arguments that expectations on rows have besides their own."""
NOT_OURS = ("result_format", "catch_exceptions", "id", "rendered_content", "batch_id", "windows")


@dataclass(frozen=True)
class GreatFinding:
    """Great Expectations' result: rows checked, rows that break the expectation, its JSON."""

    success: bool
    checked_rows: int | None
    violations: int
    result: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0


def library() -> Any:
    """Return the package, without its telemetry.

    Raises ConfigurationError where it is not installed.
    """
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import great_expectations
    except ImportError as error:
        raise ConfigurationError(
            "Great Expectations is not installed, and an expectation needs it",
            hint='pip install "dbt-tapestry[expectations]"',
        ) from error
    for name in ("great_expectations", "great_expectations.data_context.types.base"):
        logging.getLogger(name).setLevel(logging.ERROR)  # the second sets a level of its own
    return great_expectations


def refuse_misspelt(expectation: Expectation, file: str) -> None:
    """Raise ConfigurationError for a kind or an argument that does not exist."""
    if condition_of(expectation) is not None:
        return  # known by name, its arguments too
    kind, keywords = expectation.kind, expectation.keywords
    ours = arguments_of(kind)
    if ours is not None:
        _refuse_arguments(expectation, (*ours, *ALWAYS), file)
    library()
    from great_expectations.expectations import registry

    kinds = sorted(registry.list_registered_expectation_implementations())
    if kind not in kinds:
        close = get_close_matches(kind, kinds, 3, cutoff=0.6)
        raise ConfigurationError(
            f"{kind} is not an expectation of Great Expectations",
            where=file,
            hint=f"did you mean {' or '.join(close)}?"
            if close
            else "see its gallery for the names",
        )
    made = registry.get_expectation_impl(kind)
    _refuse_arguments(expectation, [n for n in made.__fields__ if n not in NOT_OURS], file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made(**keywords)
    except Exception as error:
        text = "; ".join(_problems(error))
        raise ConfigurationError(
            f"{expectation.name}: the arguments do not fit {kind}: {text[:300]}",
            where=file,
            hint=f"arguments are: {_listed(made.__fields__)}",
        ) from error


def _refuse_arguments(expectation: Expectation, names: Sequence[str], file: str) -> None:
    for key in expectation.keywords:
        if key not in names:
            ours = key in KEYS
            meant = f"{key} stands beside {expectation.kind}, not among its arguments. "
            raise ConfigurationError(
                f"{expectation.name}: {expectation.kind} has no argument {key}",
                where=file,
                hint=f"{meant if ours else near(key, list(names))}Arguments are: {_listed(names)}",
            )


def _listed(names: Any) -> str:
    return ", ".join(name for name in names if name not in (*NOT_OURS, *DESCRIBING))


def _problems(error: Exception) -> list[str]:
    errors = getattr(error, "errors", None)
    if not callable(errors):
        return [" ".join(str(error).split())]
    # Each argument may also be a parameter of a suite, a dictionary, which nobody means here.
    said = [(".".join(map(str, e.get("loc", ()))), str(e.get("msg"))) for e in errors()]
    meant = [(name, text) for name, text in said if text != "value is not a valid dict"]
    return [f"{name}: {text}" for name, text in meant or said]


def run(frame: Any, expectations: Sequence[Expectation]) -> list[GreatFinding]:
    """Run expectations over the rows of a dataframe, one after the other.

    A failure of one is its ``error``; the others go on.
    """
    gx = library()
    from great_expectations.expectations import registry

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False}
        source = context.data_sources.add_spark("rows", persist=False)
        batch = source.add_dataframe_asset("rows").add_batch_definition_whole_dataframe("rows")
        rows = batch.get_batch({"dataframe": frame})
        columns = {column.lower(): column for column in frame.columns}
        found = []
        for one in expectations:
            began = monotonic()
            made = registry.get_expectation_impl(one.kind)
            try:
                outcome = rows.validate(
                    made(**_spelt(one.keywords, columns)), result_format="SUMMARY"
                )
            except Exception as error:
                reason = " ".join(str(error).split())[:500]
                found.append(
                    GreatFinding(False, None, 0, error=reason, seconds=monotonic() - began)
                )
                continue
            found.append(_found(outcome.to_json_dict(), monotonic() - began))
        return found


def _spelt(keywords: dict[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """Return arguments with the table's spelling of columns: Great Expectations compares case.

    Nulls are removed from a set: IN a list with a NULL is true or NULL, so nothing would break it.
    """
    if isinstance(keywords.get("value_set"), list):
        keywords["value_set"] = [value for value in keywords["value_set"] if value is not None]
    for key, value in keywords.items():
        if key.startswith("column") and isinstance(value, str):
            keywords[key] = columns.get(value.lower(), value)
        elif key == "column_list" and isinstance(value, list):
            keywords[key] = [columns.get(str(item).lower(), item) for item in value]
    return keywords


def _found(outcome: Mapping[str, Any], seconds: float) -> GreatFinding:
    result = outcome.get("result") or {}
    raised = _raised(outcome.get("exception_info") or {})
    success = bool(outcome.get("success"))
    count = result.get("unexpected_count")
    violations = int(count) if count is not None else 0 if success else 1
    checked = result.get("element_count")
    return GreatFinding(
        success,
        None if checked is None else int(checked),
        0 if raised else violations,
        json.loads(json.dumps(outcome, default=str)),
        raised,
        seconds,
    )


def _raised(info: Mapping[str, Any]) -> str:
    """Return the message of an exception, if there is one; one entry, or one for each metric."""
    for entry in (info, *(value for value in info.values() if isinstance(value, Mapping))):
        if entry.get("raised_exception"):
            return " ".join(str(entry.get("exception_message") or "it failed").split())[:500]
    return ""
