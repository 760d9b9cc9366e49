"""The query of a model as a run executes it: rewritten over its present sources."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tapestry.errors import QueryChanged, Refusal
from tapestry.names import MATCHED_AT
from tapestry.quoting import remark
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.instants import show
from tapestry.runs.engine.session import Session
from tapestry.runs.expectations.validate import Expected, Pinning, Prepared, prepare
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.model.model import Model
from tapestry.runs.query.holding import SMALL
from tapestry.runs.query.relations import Relations, read_relations
from tapestry.runs.query.settings import settings_line, without_unsaid
from tapestry.runs.sources.pins import Pin, Pinned, Pins
from tapestry.sql import Catalog, Rewriting, Source, Step, rewrite
from tapestry.sql.passes.sequence import passes_with

_WORD = re.compile(r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|[\w.]+|[<>=!]+|\S")
"""A name, a literal, a number or a sign of SQL."""


@dataclass(frozen=True)
class Query:
    """The current query of a model, rewritten over its present sources."""

    rewriting: Rewriting
    relations: Relations
    canonical: str
    expected: tuple[Prepared, ...] = ()
    sql: str = ""
    begin: datetime | None = None

    @property
    def pins(self) -> dict[str, Pin]:
        """This invocation's pin of every table that the query reads."""
        return {name: self.relations.tables[name].pin for name in self.rewriting.sources}

    @property
    def commits(self) -> list[datetime]:
        """The times of the newest commits of the tables that the query reads, as far as known."""
        tables = [self.relations.tables[name].table for name in self.rewriting.sources]
        return [table.changed for table in tables if table.changed is not None]

    @property
    def sizes(self) -> list[int]:
        """The sizes in bytes of the tables that the query reads."""
        return [self.relations.tables[name].table.size for name in self.rewriting.sources]

    @property
    def little(self) -> bool:
        """Whether all the tables are small enough to be held."""
        return max(self.sizes, default=0) <= SMALL


def read_query(
    session: Session,
    model: Model,
    invocation: Invocation,
    sql: str,
    begin: datetime | None,
    pins: Pins | None = None,
) -> Query:
    """Rewrite a query over the tables and views as they are now, or as ``pins`` have them.

    Raises Refusal for a query that cannot be kept exactly, ConfigurationError for an expectation
    that does not fit its columns.
    """
    config: ContinuousConfig = model.config.own
    pins = pins or invocation.pins
    relations = read_relations(session, sql, model, pins, invocation.time_zone)
    rewriting = rewritten(sql, relations.catalog, model, invocation, begin)
    if MATCHED_AT in (column.lower() for column in rewriting.columns):
        raise Refusal(
            f"the select list has a column {MATCHED_AT}, which every continuous model adds itself",
            where=model.file,
            hint=f"over another continuous model write select * except ({MATCHED_AT}), or list the"
            f" columns and rename it: {MATCHED_AT} as seen_at",
            code="own-column",
        )
    arrivals = (f"{n}: {relations.arrival(n) or 'static'}" for n in sorted(rewriting.sources))
    canonical = "\n".join(
        [rewriting.canonical, *(f"-- arrival of {remark(text)}" for text in arrivals)]
    )
    if config.begin is not None:
        canonical += f"\n-- begin {show(config.begin)}"
    canonical += f"\n{settings_line(invocation.settings)}"
    wanted = expected(session, model, invocation, sql, rewriting.columns)
    return Query(rewriting, relations, canonical, wanted, sql, begin)


def over_ended(names: Collection[str], query: Query, model: Model, invocation: Invocation) -> Query:
    """Return the query over sources with deleted rows: each row is there until it ends.

    An end is known late, but not too late: up to the run that finds it, the row was there.
    """
    if not names:
        return query
    relations = dict(query.relations.catalog.relations)
    for name in names:
        source = relations[name]
        assert isinstance(source, Source)
        relations[name] = replace(source, ends=True)
    catalog = replace(query.relations.catalog, relations=relations)
    rewriting = rewritten(query.sql, catalog, model, invocation, query.begin)
    return replace(query, rewriting=rewriting, relations=replace(query.relations, catalog=catalog))


def rewritten(
    sql: str,
    catalog: Catalog,
    model: Model,
    invocation: Invocation,
    begin: datetime | None,
    steps: list[Step] | None = None,
) -> Rewriting:
    """Rewrite a query, if this process has not yet; ``steps`` as in ``rewrite``."""
    config: ContinuousConfig = model.config.own
    passes = passes_with(config.infer == "on")
    # What crashed is executed with the query of then, which may have other aliases.
    order = config.join_order if sql == model.sql else ()
    key = (sql, catalog, begin, config.assume, config.infer, order)
    rewriting = invocation.recall.rewriting(key)
    if rewriting is None:
        rewriting = rewrite(sql, catalog, config.assume, begin, steps, passes)
        rewriting = rewriting.joining(order)
        invocation.recall.note_rewriting(key, rewriting)
    return rewriting


def query_changed(model: Model, old: str, query: Query) -> QueryChanged:
    """Return the error, with the first lines that differ from ``old``, the text so far."""
    new = without_unsaid(query.canonical, old)
    return QueryChanged(
        f"{model.name} is not the query that its table was grown with: {_difference(old, new)}",
        where=model.file,
        hint="on_query_change: continue (new text from now on; what becomes of other columns says"
        " on_schema_change) or refresh (all of history again), or run with --full-refresh",
    )


def _difference(old: str, new: str) -> str:
    """Return the first lines that one text does not share with the other.

    For a changed line of SQL, only its differing words: a new column, not the whole list.
    """
    lines = [text.splitlines() for text in (old, new)]
    shown: list[str] = []
    for _, *places in _changes(*lines):
        before, after = lines[0][slice(*places[:2])], lines[1][slice(*places[2:])]
        if any(line.startswith("--") for line in before + after):
            shown += [f"- {line}" for line in before] + [f"+ {line}" for line in after]
            continue
        words = [_WORD.findall(" ".join(some)) for some in (before, after)]
        for _, *ends in _changes(*words):
            parts = [words[0][slice(*ends[:2])], words[1][slice(*ends[2:])]]
            texts = [" ".join(part).strip(" ,") for part in parts]
            shown += [f"{sign} {text}" for sign, text in zip("-+", texts, strict=True) if text]
    return " ".join(" ".join(line.split()) for line in shown[:4])[:300]


def _changes(old: list[str], new: list[str]) -> list[tuple[str, int, int, int, int]]:
    found = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [change for change in found if change[0] != "equal"]


def expected(
    session: Session, model: Model, invocation: Invocation, sql: str, columns: Sequence[str]
) -> tuple[Prepared, ...]:
    """Return the expectations that a run over ``sql`` counts; conditions read pinned tables.

    Raises ConfigurationError for an expectation that does not fit the columns.
    """
    if not model.config.expectations:
        return ()
    rows = f"SELECT *, CAST(NULL AS TIMESTAMP) AS {MATCHED_AT} FROM (\n{sql}\n) WHERE false"
    return prepare(
        session,
        model.config.expectations,
        Expected(rows, model.name, (*columns, MATCHED_AT), model.file),
        pins_behind(session, invocation),
        invocation.recall,
    )


def pins_behind(session: Session, invocation: Invocation) -> Pinning:
    """Return a function that gives, for a table's name, the version at the invocation's pin.

    Views and tables of other formats have no version: they are read as they are.
    """

    def version(name: str) -> str:
        try:
            found = invocation.pins.of(session, name)
        except Refusal:
            return ""
        return f"VERSION AS OF {found.pin.version}" if isinstance(found, Pinned) else ""

    return version
