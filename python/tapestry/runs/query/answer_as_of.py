"""The static answer of a model's query at an instant: what ``dbt show`` means by it."""

from __future__ import annotations

from datetime import datetime

from tapestry.errors import TapestryError
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import read_relations
from tapestry.runs.sources.describe import arrival_column
from tapestry.runs.sources.pins import Pins
from tapestry.runs.sources.scans import plain_scan
from tapestry.sql import set_clock, static_answer
from tapestry.sql.read.parse import parse


def answer_at(session: Session, model: Model, s: datetime, time_zone: str) -> str:
    """Q(s) as SQL; where the sources say nothing of their arrival, only the clock is set to s.

    Text that is not one SELECT stays as it is.
    """
    try:
        relations = read_relations(session, model.sql, model, Pins(), time_zone)
    except TapestryError:
        return clock_only(model.sql, s)
    scans = {}
    for name, pinned in relations.tables.items():
        arrival = relations.arrival(name)
        column = None if arrival is None else arrival_column(pinned.table, arrival)
        scans[name] = plain_scan(pinned.table, pinned.pin, column)
    try:
        return static_answer(model.sql, relations.catalog, s, scans)
    except TapestryError:
        return clock_only(model.sql, s)


def clock_only(sql: str, s: datetime) -> str:
    """The text with now() and its like being s: over given rows, as in a unit test."""
    try:
        return set_clock(parse(sql), s).sql("spark")
    except TapestryError:
        return sql
