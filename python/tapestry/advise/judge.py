"""Judges one model: tries its query with the rewriter, and turns the result into advice."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tapestry.advise.conditions import Fitting, conditions, keeps_versions
from tapestry.advise.context import NO_VALUE, REF, THIS
from tapestry.advise.guard import arrivals_in_guard
from tapestry.advise.reader import ReadFile
from tapestry.advise.records import (
    CONTINUOUS,
    MAINTAINED,
    REBUILT,
    STATIC,
    UNREAD,
    Advice,
    ArrivalFound,
)
from tapestry.advise.tables import UNNAMED, KnownTables
from tapestry.errors import Refusal
from tapestry.names import MATCHED_AT
from tapestry.runs.kinds.maintained.how_kept import how_kept, refuse
from tapestry.runs.kinds.registry import KINDS
from tapestry.sql import Catalog, Rewriting, rewrite
from tapestry.sql.operators.steady import unsteady_places
from tapestry.sql.read.parse import parse
from tapestry.sql.read.read_query import read
from tapestry.sql.timing import is_now
from tapestry.sql.work import bounded

OPENED = ("view", "ephemeral")
STORED = ("table", "incremental", "")
OF_NAMES = frozenset(
    (
        *("unknown-column", "uneven-columns", "doubled-column", "ambiguous", "ambiguous-join"),
        *("odd-star", "using-join", "natural-join", "union-by-name", "ungrouped-column"),
        *("unnamed-column", "clock-or-column", "own-column", "only-audit-columns"),
    )
)
"""Refused because of which columns the tables have."""
OF_TYPES = frozenset(
    (
        *("untyped-column", "untyped-query", "inexact-sum", "clock-mixed-types", "time-type"),
        *("odd-type", "odd-struct", "uncompared"),
    )
)
"""Refused because of the types of columns."""
UNREADABLE = "unreadable"
"""The code of a text that cannot be read; after a translation it is no verdict on the query."""
OF_TEXT = frozenset({UNREADABLE, "odd-from", "odd-name", "odd-characters", "other-catalog"})
"""Refused because of a text that a variable without a value may have spoilt."""
_DOUBLE = re.compile(r"AS (DOUBLE|FLOAT)")
_SUM = re.compile(r"(SUM|AVG)\(")
"""Aggregates whose exactness depends on a type; all other inexact ones are computed in DOUBLE."""
REPAIRS = 25
"""So many things that a refusal asks to leave out are left out to see what remains."""


GOES = (
    "only if its table is to be what its query gives now: rows that its sources have no more go"
    " out of it"
)
"""The condition for a model that is incremental today."""


@dataclass(frozen=True)
class Text:
    """The text of one model, as it was read."""

    name: str
    file: str
    sql: str
    read: ReadFile
    today: str

    @property
    def relation(self) -> str:
        """The name under which other models read it."""
        return f"{REF}.{self.name}"


@dataclass
class _Trial:
    """A query on its way through the rewriter, with the parts that were left out of it."""

    sql: str
    arrivals: dict[str, ArrivalFound] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    """The user-defined functions that are taken to be deterministic."""
    clocks: list[str] = field(default_factory=list)
    """The columns that read the clock and were left out."""
    seconds: float = 0.0
    """The duration of its longest rewriting, in seconds, refused or not."""


def unread(text: Text) -> Advice:
    """Return the advice for a model without a text to judge; one of ours is there already."""
    why, unset = text.read.why, text.read.unset
    if text.today in KINDS:
        return Advice(text.name, text.file, text.today, text.today)
    return Advice(text.name, text.file, text.today, UNREAD, reason=why, unset=unset)


def judge(text: Text, tables: KnownTables, dialect: str) -> Advice:
    """Return the kind that fits a model, and why; unchanged for a model that stores no rows."""
    notes = list(text.read.notes)
    said = Advice(
        text.name,
        text.file,
        text.today,
        text.today,
        dialect=dialect,
        unset=text.read.unset,
        characters=len(text.sql),
        notes=tuple(notes),
    )
    if text.today not in STORED:
        return said
    trial = _Trial(text.sql)
    try:
        shown = _arrivals(text, tables)
        trial.arrivals = dict(shown)
        said = replace(said, notes=(*notes, *_unknown_columns(trial, tables)))
        rewriting = _tried(trial, tables)
    except Refusal as refusal:
        return _refused(refusal, said, text, trial, tables)
    config, clocks = text.read.config, trial.clocks
    fits = Fitting(text.today, config, trial.sql, rewriting, shown, trial.functions, clocks)
    if keeps_versions(fits) or tables.versions.intersection(rewriting.sources):
        tables.versions.add(text.relation)
    must_hold = conditions(fits, tables)
    also = bool(must_hold) and _kept_by_changes(text, trial, tables)
    return replace(
        said,
        kind=CONTINUOUS,
        also=MAINTAINED if also else "",
        strategy=rewriting.strategy,
        arrivals=tuple(shown[one] for one in rewriting.sources if one in shown),
        changes=(*_changes(text), *trial.changes),
        conditions=must_hold,
        seconds=trial.seconds,
    )


def _refused(
    refusal: Refusal, said: Advice, text: Text, trial: _Trial, tables: KnownTables
) -> Advice:
    """The advice for a query that no continuous model keeps."""
    why = _no_verdict(refusal, text, trial, tables)
    current = not why and _kept_by_changes(text, trial, tables)
    return replace(
        said,
        kind=UNREAD if why else MAINTAINED if current else REBUILT,
        changes=tuple(_changes(text, MAINTAINED)) if current else (),
        conditions=(GOES,) if current and text.today == "incremental" else (),
        code=refusal.code,
        reason=f"{why}: {refusal.reason}" if why else refusal.reason,
        where=refusal.where,
        hint=refusal.hint,
        seconds=trial.seconds,
    )


def _kept_by_changes(text: Text, trial: _Trial, tables: KnownTables) -> bool:
    """Return whether a maintained model would update what the model holds, if rows change."""
    added_to = text.today == "incremental" and not text.read.config.get("unique_key")
    if not text.today or added_to:
        return False
    try:
        catalog = tables.catalog(trial.sql, trial.arrivals)
    except (Refusal, KeyError):
        return False
    functions = frozenset(trial.functions)
    return _recomputes_what_changed(trial.sql, replace(catalog, deterministic_functions=functions))


def _no_verdict(refusal: Refusal, text: Text, trial: _Trial, tables: KnownTables) -> str:
    """Return why a refusal is due to guesses about tables, not the query itself; '' if it is not.

    A query that is refused for columns that somebody guessed may be one that fits.
    """
    unset = text.read.unset
    where = refusal.where
    shown = where and any(one in where or where in one for one in unset)
    if unset and (refusal.code in OF_TEXT or shown):
        return f"var('{unset[0]}') {NO_VALUE}"
    if refusal.code == UNREADABLE and tables.dialect != "spark":
        return f"its translation from {tables.dialect} is not read"
    if refusal.code == "inexact-sum" and (_DOUBLE.search(where) or not _SUM.match(where)):
        return ""
    if refusal.code == "doubled-column" and "*" not in trial.sql:
        return ""  # whatever the tables have
    if refusal.code in OF_NAMES:
        return "it hangs on which columns the tables have, and that is guessed"
    guessed = [one for one in trial.arrivals if tables.has_guessed_types(one)]
    if refusal.code in OF_TYPES and guessed:
        return f"it hangs on types that are guessed: {guessed[0]}"
    return ""


def outputs(sql: str, tables: KnownTables) -> dict[str, str]:
    """Return the columns of a query with their types, as far as these are known."""
    try:
        arrivals = {one: ArrivalFound(one, STATIC, "") for one in tables.read_by(sql)}
        tree = read(sql, tables.catalog(sql, arrivals)).tree
        return {one.alias_or_name.lower(): _type_of(one) for one in tree.selects}
    except Refusal:
        return _named(sql)


def _named(sql: str) -> dict[str, str]:
    try:
        names = parse(sql).named_selects
    except Refusal:
        return {}
    return {name.lower(): "" for name in names if name not in ("", "*")}


def _type_of(item: exp.Expr) -> str:
    kind = item.type
    unknown = (exp.DType.UNKNOWN, exp.DType.NULL)
    if not isinstance(kind, exp.DataType) or kind.this in unknown:
        return ""
    return str(kind.sql("spark")).lower()


def _arrivals(text: Text, tables: KnownTables) -> dict[str, ArrivalFound]:
    guards: Mapping[str, str] = {}
    if text.read.guarded:
        guards = arrivals_in_guard(text.sql, text.read.guarded)
    found = {}
    for name in tables.read_by(text.sql):
        if name.startswith(f"{THIS}."):
            raise Refusal(
                "the query reads its own table",
                name,
                "remove {{ this }}: a run knows what was delivered",
                code="reads-itself",
            )
        if name not in tables.views:
            found[name] = tables.arrival(name, guards.get(name))
    return found


def _unknown_columns(trial: _Trial, tables: KnownTables) -> list[str]:
    return [
        f"the columns of {name} are not known: no query names one, no YAML lists them"
        for name in trial.arrivals
        if not tables.columns(name)
    ]


def _tried(trial: _Trial, tables: KnownTables) -> Rewriting:
    """Return the rewriting after parts that refusals name are left out; else raise the refusal."""
    for _ in range(REPAIRS):
        catalog = tables.catalog(trial.sql, trial.arrivals)
        catalog = replace(catalog, deterministic_functions=frozenset(trial.functions))
        begun = time.perf_counter()
        try:
            found = rewrite(trial.sql, catalog)
            break
        except Refusal as refusal:
            if not _repaired(trial, refusal):
                raise
        finally:
            trial.seconds = max(trial.seconds, time.perf_counter() - begun)
    else:
        return rewrite(trial.sql, catalog)
    if trial.functions:
        trial.changes.append(f"deterministic_functions: [{', '.join(trial.functions)}]")
    return found


def _repaired(trial: _Trial, refusal: Refusal) -> bool:
    """Return whether the part named by the refusal was left out, so that a new trial is worth
    it.
    """
    if refusal.code == "own-column":
        of_models = [n for n, one in trial.arrivals.items() if one.column == MATCHED_AT]
        for name in of_models:
            trial.arrivals[name] = ArrivalFound(name, UNNAMED, "a continuous model")
        if of_models:
            trial.changes.append(
                f"leave out {MATCHED_AT} of {', '.join(of_models)}: select * except ({MATCHED_AT})"
            )
        return bool(of_models)
    if refusal.code == "undeclared-function":
        name = refusal.reason.partition("(")[0]
        trial.functions.append(name)
        return trial.functions.count(name) == 1
    if refusal.code == "clock-in-select-list":
        name = _leave_out_clock(trial)
        if name:
            trial.clocks.append(name)
            trial.changes.append(
                f"leave out {name}, which reads the clock: {MATCHED_AT} holds the first instant"
            )
        return bool(name)
    return False


def _leave_out_clock(trial: _Trial) -> str:
    """Replace the first column that is nothing but the clock by NULL; return '' for none."""
    tree = parse(trial.sql)
    for item in tree.find_all(exp.Alias):
        value = item.this
        inner = value.this if isinstance(value, exp.Cast) else value
        if isinstance(item.parent, exp.Select) and is_now(inner):
            null = exp.cast(exp.null(), "timestamp")
            item.set("this", null)
            trial.sql = tree.sql("spark")
            return str(item.alias)
    return ""


def _changes(text: Text, kind: str = CONTINUOUS) -> list[str]:
    """Return the changes that the owner makes in a model that fits."""
    if not text.today:
        return []
    changes = [f"materialized='{kind}' instead of '{text.today}'"]
    if text.read.guard:
        changes.append("take out the {% if is_incremental() %} block")
    for key in ("unique_key", "incremental_strategy"):
        if text.today == "incremental" and text.read.config.get(key):
            changes.append(f"take out {key} ({text.read.config[key]})")
    return changes


def _recomputes_what_changed(sql: str, catalog: Catalog) -> bool:
    """Return whether a run recomputes only what a change reaches; False if it is refused, too."""
    try:
        with bounded(sql):
            query = refuse(sql, catalog)
            decides = unsteady_places(query.tree, query.catalog) is None
            kept = how_kept(query, decides, {})
            return kept.whole is None or kept.summed is not None
    except Refusal:
        return False
