"""Checks every expectation against the model's columns before any data is read.

The engine analyses the conditions in one statement over no rows. Where that fails each is tried
alone, to say which one is wrong and what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError

from tapestry.errors import ConfigurationError, Refusal
from tapestry.quoting import authored, identifier
from tapestry.runs.context.recall import Recall
from tapestry.runs.engine.session import Session
from tapestry.runs.expectations import great
from tapestry.runs.expectations.arguments import refuse_arguments
from tapestry.runs.expectations.row_conditions import condition_of, on_rows
from tapestry.runs.expectations.try_arguments import TRIED, refuse_unfit
from tapestry.runs.model.declare import Expectation, near, short
from tapestry.sql.read.read_tokens import read_one

SELECT = "SELECT "
_UNRESOLVED = re.compile(
    r"UNRESOLVED_COLUMN[^]]*\].*?name `?(?P<name>[^\n]+?)`? cannot be", re.DOTALL
)
_COLUMN_ARGUMENTS = ("column", "column_A", "column_B")
_COLUMN_LISTS = ("column_list",)
_ABOUT_ABSENT_COLUMNS = ("expect_column_to_exist", "expect_table_columns_")
Pinning = Callable[[str], str]
"""A table's name as the author wrote it -> what to write behind it, so that its pin is read."""


@dataclass(frozen=True)
class Prepared:
    """An expectation that fits its model.

    condition
        SQL over one row, its other tables pinned; empty where Great Expectations runs it.
    """

    expectation: Expectation
    condition: str = ""


@dataclass(frozen=True)
class Expected:
    """The rows that expectations are about.

    rows
        A query without rows that has their ``columns``.
    alias
        The name by which conditions may refer to a row.
    """

    rows: str
    alias: str
    columns: Sequence[str]
    file: str


def prepare(
    session: Session,
    expectations: Sequence[Expectation],
    of: Expected,
    pinning: Pinning = lambda name: "",
    recall: Recall | None = None,
) -> tuple[Prepared, ...]:
    """Return the expectations, ready to be counted.

    ``recall`` spares a warm process the analysis.
    Raises ConfigurationError for a misspelt expectation, column or argument, for an invalid
    condition, and for a rule that the expectation cannot keep.
    """
    prepared = tuple(
        _prepare(session, expectation, of.columns, of.file, pinning) for expectation in expectations
    )
    conditions = [p for p in prepared if p.condition]
    kinds = [p.expectation for p in prepared if p.expectation.kind]
    asked = tuple((one.kind, one.arguments) for one in kinds)
    key = (of.rows, of.alias, tuple(p.condition for p in conditions), asked)
    if recall is None or not recall.analysed(key):
        _analyse(session, conditions, of)
        _try_arguments(session, kinds, of)
        for one in kinds:
            _try_row_condition(session, one, of)
        if recall is not None:
            recall.note_analysed(key)
    return prepared


def _try_arguments(session: Session, expectations: Sequence[Expectation], of: Expected) -> None:
    if not any(set(one.keywords) & set(TRIED) for one in expectations):
        return
    described = session.rows(f"DESCRIBE QUERY SELECT * FROM (\n{of.rows}\n)")
    types = {str(row[0]).lower(): str(row[1]).lower() for row in described}
    refuse_unfit(session, expectations, types, of.file)


def _try_row_condition(session: Session, one: Expectation, of: Expected) -> None:
    """Raise ConfigurationError for a bad `row_condition`, which goes to Spark as it is."""
    text = one.keywords.get("row_condition")
    parser = one.keywords.get("condition_parser") or "spark"
    if not isinstance(text, str) or not text or parser not in ("spark", "pandas"):
        return
    cause: Exception | None = None
    try:
        (kind,) = _types(session, [Prepared(one, authored(text))], of)
        why = "" if kind in ("boolean", "void") else f"its type is {kind}"
    except Exception as error:
        why, cause = " ".join(str(error).split(";\n")[0].split())[:300], error
    if why:
        raise ConfigurationError(
            f"{one.name}: row_condition: {short(text)} is not a condition on a row: {why}",
            where=of.file,
            hint=f"Columns are: {', '.join(of.columns)}",
        ) from cause


def _prepare(
    session: Session, expectation: Expectation, columns: Sequence[str], file: str, pinning: Pinning
) -> Prepared:
    if expectation.kind:
        refuse_arguments(expectation, file)
        _refuse_unknown_columns(expectation, columns, file)
        great.refuse_misspelt(expectation, file)
    condition = condition_of(expectation)
    if condition is not None:
        return Prepared(expectation, _pinned(expectation, condition, file, pinning))
    if expectation.on_violation == "drop":
        raise ConfigurationError(
            f"{expectation.name}: on_violation: drop needs to know the rows, and {expectation.kind}"
            " with these arguments is about all of them",
            where=file,
            hint="use fail or warn, a condition under expect:, or one of "
            + ", ".join(kind.removeprefix("expect_") for kind in on_rows()),
        )
    if session.can.frame is None:
        raise ConfigurationError(
            f"{expectation.name}: {expectation.kind} is run by Great Expectations on a Spark"
            " dataframe, and this connection has none",
            where=file,
            hint="use method: session, or write it as a condition under expect:",
        )
    return Prepared(expectation)


def _refuse_unknown_columns(expectation: Expectation, columns: Sequence[str], file: str) -> None:
    if expectation.kind.startswith(_ABOUT_ABSENT_COLUMNS):
        return
    there = {column.lower() for column in columns}
    arguments = expectation.keywords
    named = [arguments[key] for key in _COLUMN_ARGUMENTS if key in arguments]
    for key in _COLUMN_LISTS:
        named += arguments[key] if isinstance(arguments.get(key), list) else []
    for name in named:
        if isinstance(name, str) and name.lower() not in there:
            raise _no_column(expectation, name, columns, file)


def _no_column(
    expectation: Expectation, name: str, columns: Sequence[str], file: str
) -> ConfigurationError:
    return ConfigurationError(
        f"{expectation.name}: there is no column {name}",
        where=file,
        hint=f"{near(name.split('.')[-1], columns)}Columns are: {', '.join(columns)}",
    )


def _pinned(expectation: Expectation, condition: str, file: str, pinning: Pinning) -> str:
    """Return the condition, one expression over a row, with a version behind every table."""
    try:
        tree = read_one(SELECT + condition)
    except Refusal as error:
        raise _no_condition(expectation, error.reason, file) from error
    except SqlglotError as error:
        text = " ".join(str(error).split("\n")[0].split())
        raise _no_condition(expectation, text, file) from error
    others = [k for k, value in tree.args.items() if value and k not in ("expressions", "kind")]
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1 or others:
        raise _no_condition(expectation, "it is more than one expression", file)
    (root,) = tree.expressions
    if isinstance(root, (exp.Alias, exp.Star)):
        raise _no_condition(expectation, "it is a select item", file)
    for node in root.find_all(exp.AggFunc, exp.Window, exp.Explode):
        if node.find_ancestor(exp.Select) is tree:
            raise _no_condition(
                expectation,
                f"{node.sql('spark')} is about several rows, a condition about one",
                file,
            )
    return _with_versions(tree, condition, pinning)


def _with_versions(tree: exp.Expr, condition: str, pinning: Pinning) -> str:
    inside = {str(cte.alias).lower() for cte in tree.find_all(exp.CTE)}
    places: dict[int, str] = {}
    for table in tree.find_all(exp.Table):
        parts = [part for part in table.parts if "end" in part.meta]
        if not parts or table.args.get("version") or len(parts) != len(table.parts):
            continue
        if len(parts) == 1 and table.name.lower() in inside:
            continue
        # sql: VERSION AS OF and a number
        version = pinning(".".join(part.name for part in parts))
        if version:
            places[parts[-1].meta["end"] + 1 - len(SELECT)] = version
    for place in sorted(places, reverse=True):
        condition = f"{condition[:place]} {places[place]}{condition[place:]}"
    return condition


def _no_condition(expectation: Expectation, why: str, file: str) -> ConfigurationError:
    if expectation.kind:
        return ConfigurationError(
            f"{expectation.name}: the arguments do not fit the columns: {why}",
            where=file,
            hint="compare a column with values of its own type, or CAST it in the query",
        )
    return ConfigurationError(
        f"{expectation.name}: `{expectation.condition}` is not a condition on a row: {why}",
        where=file,
        hint='a condition is what may stand behind WHERE, such as "author is not null"',
    )


def _analyse(session: Session, prepared: Sequence[Prepared], of: Expected) -> None:
    """Raise ConfigurationError for the first condition that the engine cannot analyse."""
    if not prepared:
        return
    try:
        types = _types(session, prepared, of)
    except Exception:
        if len(prepared) > 1:
            for one in prepared:
                _analyse(session, [one], of)
        raise_explained(session, prepared[0], of)
        raise
    for one, kind in zip(prepared, types, strict=True):
        if kind not in ("boolean", "void"):
            raise _no_condition(one.expectation, f"its type is {kind}", of.file)


def raise_explained(session: Session, one: Prepared, of: Expected) -> None:
    """Raise ConfigurationError that explains why the engine refuses a condition, if it does."""
    try:
        _types(session, [one], of)
    except Exception as error:
        text = " ".join(str(error).split(";\n")[0].split())
        found = _UNRESOLVED.search(text)
        if found:
            name = found["name"].replace("`", "")
            raise _no_column(one.expectation, name, of.columns, of.file) from error
        raise _no_condition(one.expectation, text[:300], of.file) from error


def _types(session: Session, prepared: Sequence[Prepared], of: Expected) -> list[str]:
    items = ", ".join(f"({one.condition}\n) AS _{place}" for place, one in enumerate(prepared))
    described = session.rows(
        f"DESCRIBE QUERY SELECT {items} FROM (\n{of.rows}\n) AS {identifier(of.alias)}"
    )
    return [str(row[1]).lower() for row in described]
