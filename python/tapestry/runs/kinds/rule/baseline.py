"""Lets a rule without `begin` begin at the baseline of the tables that its actions write.

A derived table was built from versions of its sources. Its actions need the firings of all commits
after them, so a rule that comes later begins there; for several tables at the least version.
"""

from __future__ import annotations

from dataclasses import replace

from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule.config import config_of
from tapestry.runs.model.model import Model
from tapestry.runs.model.triggers import triggers_of
from tapestry.runs.query.relations import in_session
from tapestry.runs.sources.difference import FEED, feed_reaches
from tapestry.runs.sources.pins import Pin, Pinned
from tapestry.runs.tables.target import look

NOW = "now"


def begins_at_baseline(session: Session, model: Model, invocation: Invocation) -> Model:
    """Return the rule with a place to begin, where its author names none.

    A rule that has a table goes on from there, or begins anew with later commits.
    """
    own = config_of(model.config.own)
    if own.begin:
        return model
    begin = NOW
    if model.fed and look(session, model.relation) is None:
        begin = _baseline(session, model, invocation)
    return replace(model, config=replace(model.config, own=replace(own, begin=begin)))


def _baseline(session: Session, model: Model, invocation: Invocation) -> str:
    name = in_session(triggers_of(model)[0])
    found: list[Pin] = []
    for derived in model.fed:
        target = look(session, derived)
        if target is None or target.generation is None:
            continue
        row = invocation.states.of(session, target.generation)
        pin = None if row is None else row.after.pins.get(name)
        if pin is not None:
            found.append(pin)
    table = invocation.pins.of(session, name)
    if not found or not isinstance(table, Pinned):
        return NOW
    least = min(pin.version for pin in found)
    if any(pin.table_id != table.pin.table_id for pin in found) or least >= table.pin.version:
        return NOW
    by_feed = table.table.properties.get(FEED, "").lower() == "true"
    if by_feed and not feed_reaches(session, table.table, least + 1, table.pin.version):
        return NOW  # its actions say then that the tables have to be built again
    return str(least + 1)
