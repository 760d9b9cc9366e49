"""The static answer of a model's query at an instant, for ``dbt show``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from tapestry.errors import TapestryError
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import read_relations
from tapestry.runs.sources.pins import Pins
from tapestry.sql import set_clock, static_answer
from tapestry.sql.read.parse import parse

_CLOCK = re.compile(
    r"\b(now|current_timestamp|current_date|curdate|localtimestamp)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class AskedQuery:
    """A query that is shown or tested, and a warning about it."""

    sql: str
    warning: str = ""


def clock_only(sql: str, s: datetime | None) -> AskedQuery:
    """Return the text with now() and its synonyms set to s, if it can be parsed."""
    if s is None or not _CLOCK.search(sql):
        return AskedQuery(sql)
    try:
        return AskedQuery(set_clock(parse(sql), s).sql("spark"))
    except TapestryError as error:
        return AskedQuery(sql, f"its now() is the real one, not tapestry_as_of: {error.reason}")


def answer_at(
    session: Session, model: Model, s: datetime, time_zone: str, commits_table: str = ""
) -> AskedQuery:
    """Return Q(s) as SQL; only the clock is set to s where the sources have no arrivals.

    Text that cannot be parsed stays as it is, and a warning says so.
    """
    try:
        relations = read_relations(session, model.sql, model, Pins(commits_table), time_zone)
    except TapestryError:
        return clock_only(model.sql, s)
    try:
        return AskedQuery(static_answer(model.sql, relations.catalog, s, relations.scans()))
    except TapestryError:
        return clock_only(model.sql, s)
