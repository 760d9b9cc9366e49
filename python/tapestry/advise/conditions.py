"""The conditions of a fitting query that only the owner of its data can know to hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from tapestry.advise.context import REF
from tapestry.advise.records import CONTINUOUS, STATIC, ArrivalFound
from tapestry.advise.tables import KnownTables
from tapestry.sql import Rewriting, timing
from tapestry.sql.arms import Lifted
from tapestry.sql.read.parse import parse

STAYS = "only if what was ever an answer is wanted: "
_CHANGED = ("updat", "modif", "chang")
"""Parts of the names of columns that say when a row changed."""
_REPLACING = ("insert_overwrite", "delete+insert", "merge", "microbatch")
_SHOWN = 5


@dataclass(frozen=True)
class Fitting:
    """A query that the rewriter takes, as it was tried."""

    today: str
    config: Mapping[str, Any]
    sql: str
    rewriting: Rewriting
    arrivals: Mapping[str, ArrivalFound]
    functions: Sequence[str]
    """Those that are taken to be deterministic."""
    clocks: Sequence[str] = ()
    """Columns that read the clock and were left out."""


def conditions(fitting: Fitting, tables: KnownTables) -> tuple[str, ...]:
    """Return one sentence for each condition; none if the model stays the same for all rows."""
    return (
        *_of_replacing(fitting),
        *_of_answers(fitting.rewriting),
        *_of_clocks(fitting),
        *_of_sources(fitting, tables),
        *_of_numbers(fitting, tables),
        *_of_functions(fitting),
    )


def keeps_versions(fitting: Fitting) -> bool:
    """Return whether the table, once continuous, holds rows that are no answers any more."""
    replaces = fitting.today == "incremental" and bool(fitting.config.get("unique_key"))
    return replaces or bool(fitting.rewriting.endings)


def _of_answers(rewriting: Rewriting) -> Iterator[str]:
    """Yield conditions about events that may end an answer, which stays all the same."""
    found = rewriting.endings
    if found.by_time:
        yield f"{STAYS}a comparison with now() ends some by time, and they stay"
    if found.by_rows:
        yield (
            f"{STAYS}a later row of {_named(found.by_rows)} ends some (NOT EXISTS, NOT IN, EXCEPT,"
            " or the NULLs of an outer join until a partner comes), and they stay beside what"
            " follows them"
        )
    running = rewriting.running_columns
    if running:
        yield (
            f"only if every value that {_named(running)} ever had is wanted, one row each: for the"
            " current one leave it a table, or close the value by a time in HAVING"
        )
    elif found.by_groups and all(map(_is_closed, rewriting.lifted)):
        yield (
            f"only if no row of {_named(found.by_groups)} comes to a group that time has closed:"
            " the group's new values would stand beside the old ones"
        )
    elif found.by_groups:
        yield (
            f"{STAYS}a later row of {_named(found.by_groups)} changes which rows are the first of"
            " their key, or a total or rank that is asked for, and both stay: for the current ones"
            " leave it a table, or take the last of each key in a view"
        )


def _of_clocks(fitting: Fitting) -> Iterator[str]:
    """Yield conditions about columns that show the clock: rows are not updated as it goes on."""
    names = dict.fromkeys([*fitting.clocks, *fitting.rewriting.audit])
    if names:
        yield (
            f"only if {_named(list(names))} is to tell when a row first was an answer: no row comes"
            " again because the clock went on, as a copy for each day would"
        )


def _is_closed(arm: Lifted) -> bool:
    """Return whether an arm has groups that become answers at a time, no ranks or first rows."""
    ranks = arm.tree.find(exp.Window, exp.Limit) is not None
    return timing.contains_now(arm.tree) and not ranks


def _of_sources(fitting: Fitting, tables: KnownTables) -> Iterator[str]:
    rewriting = fitting.rewriting
    for name in rewriting.sources:
        arrival = fitting.arrivals.get(name)
        if arrival is None or arrival.column == STATIC:
            continue
        if any(part in arrival.column for part in _CHANGED):
            yield (
                f"{name}.{arrival.column} is when a row changed, by its name: only if a change adds"
                " a row and leaves the old one"
            )
        yield from _of_model(name, name in rewriting.endings.by_groups, tables)


def _of_model(name: str, grouped: bool, tables: KnownTables) -> Iterator[str]:
    """Yield conditions on a model that a query reads."""
    kind, today = tables.kinds.get(name, ""), tables.materialized.get(name, "")
    taken = "what is counted, added up or ranked here takes them all" if grouped else "so does this"
    if kind == CONTINUOUS:
        if name in tables.versions:
            yield (
                f"{name}, once it is continuous, keeps rows that are no answers any more, and"
                f" {taken}: for the current ones put a view between that has the last of each key"
            )
    elif tables.project.others.get(name.removeprefix(f"{REF}.")) == "snapshot":
        yield f"{name} is a snapshot: only if no record of it is changed, closed ones included"
    elif today == "table":
        yield f"{name} is built anew by each run: only if its old rows stay as they are"
    elif name.startswith(f"{REF}."):
        stays = "stays an incremental model" if kind and today else "was not judged"
        yield (
            f"{name} {stays}: only if its rows are added and never replaced; where it keeps every"
            f" version of a row, {taken}"
        )


_EXACT = "of a DOUBLE add up CAST(… AS DECIMAL(38,6))"


def _of_numbers(fitting: Fitting, tables: KnownTables) -> Iterator[str]:
    added = _added_up(fitting.sql)
    sources = fitting.rewriting.sources
    guessed = {one for name in sources for one in tables.guessed_numbers(name)}
    if added and guessed:
        named = _named(sorted(added & guessed)) or "what sum() and avg() add up"
        yield (f"only if {named} is a DECIMAL or a whole number: {_EXACT}")


def _of_functions(fitting: Fitting) -> Iterator[str]:
    if fitting.functions:
        yield (
            "only if these functions, which are not Spark's own, are there and equal arguments"
            f" always give equal values: {', '.join(fitting.functions)}"
        )


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _added_up(sql: str) -> set[str]:
    """Return the names of columns in a sum or an average, whatever table they are of."""
    sums = parse(sql).find_all(exp.Sum, exp.Avg)
    return {column.name.lower() for one in sums for column in one.find_all(exp.Column)}


def _of_replacing(fitting: Fitting) -> Iterator[str]:
    """Yield conditions on a model that replaces rows today."""
    key = fitting.config.get("unique_key")
    way = str(fitting.config.get("incremental_strategy", ""))
    if fitting.today == "table":
        yield (
            "only if the rows of its sources stay as they are: the model keeps every row that was"
            " ever an answer"
        )
    elif fitting.today == "incremental" and key:
        yield (
            f"only if {key} is there so that rows are not taken twice: where it replaces rows by"
            " newer versions, a continuous model keeps every version"
        )
    elif fitting.today == "incremental" and way in _REPLACING:
        yield (
            f"only if {way} is there so that rows are not taken twice: where it replaces rows by"
            " others, a continuous model keeps both"
        )
