"""Finds the continuous models that have read answers that a rewind to T will forget.

These are models that went past T themselves, or whose pinned version holds answers after T: those
vanish under them. The state has the versions that each one read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from tapestry.errors import StateUnreadable
from tapestry.names import MATCHED_AT
from tapestry.quoting import relation_name, timestamp
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import plain, read_relations
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.noted_runs import brought_up
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import CLOSED, commits_after, landed, look


def state_of(session: Session, invocation: Invocation, model: Model) -> StateRow | None:
    """Return the newest run that the state knows of a model's table; None where there is none.

    Raises StateMissing for one that another process is about to write into the state.
    """
    target = look(session, model.relation)
    if target is None or target.generation is None:
        return None
    row = invocation.states.of(session, target.generation)
    if row is None:
        return None
    commits = commits_after(session, model.relation, row.target.version)
    closed = landed(commits, row.generation, CLOSED)
    if closed is not None and closed.successor:
        return invocation.states.of(session, closed.successor)
    found = brought_up(session, invocation.state_table, row, commits)
    if found.taken:
        raise found.untold
    return found.row


def affected(
    session: Session, invocation: Invocation, root: Model, models: Iterable[Model], to: datetime
) -> list[Model]:
    """Return the models to be rewound with ``root``, each after those that it reads.

    Raises StateUnreadable for one that may be among them and whose state cannot be read.
    """
    named = {plain(model.relation): model for model in models}
    named.pop(plain(root.relation), None)
    rows, unreadable = _states(session, invocation, named)
    found: set[str] = set()
    losing = {plain(root.relation)}  # models whose tables lose answers
    grown = True
    while grown:
        grown = False
        for name, row in rows.items():
            read = losing & set(row.after.pins)
            if name in found or not read:
                continue
            past = row.after.t > to
            if past or any(_holds_later(session, n, row.after.pins[n], to) for n in read):
                found.add(name)
                losing |= {name} if past else set()
                grown = True
    for name, error in unreadable.items():
        if losing & _reads(session, invocation, named[name]):
            raise error  # it may have read what is to be forgotten: nobody knows
    return [named[name] for name in _in_order(found, rows)]


def _states(
    session: Session, invocation: Invocation, named: Mapping[str, Model]
) -> tuple[dict[str, StateRow], dict[str, StateUnreadable]]:
    """Return the newest run of each model, or the error that keeps it from being read."""
    rows: dict[str, StateRow] = {}
    unreadable: dict[str, StateUnreadable] = {}
    for name, model in named.items():
        try:
            row = state_of(session, invocation, model)
        except StateUnreadable as error:
            unreadable[name] = error
            continue
        if row is not None:
            rows[name] = row
    return rows, unreadable


def _reads(session: Session, invocation: Invocation, model: Model) -> set[str]:
    """Return the tables that the query of a model reads today, through views too."""
    return set(
        read_relations(session, model.sql, model, invocation.pins, invocation.time_zone).tables
    )


def _holds_later(session: Session, name: str, pin: Pin, to: datetime) -> bool:
    """Return whether the version that was read may hold answers after T; true if it is gone."""
    relation = f"{relation_name(name)} VERSION AS OF {pin.version}"
    try:
        asked = f"SELECT 1 FROM {relation} WHERE {MATCHED_AT} > {timestamp(to)} LIMIT 1"
        return bool(session.rows(asked))
    except Exception:
        return True


def _in_order(found: set[str], rows: Mapping[str, StateRow]) -> list[str]:
    """Return the models, upstream ones first."""
    ordered: list[str] = []
    waiting = sorted(found)
    while waiting:
        ready = [
            n for n in waiting if not (set(rows[n].after.pins) - {n}) & set(waiting)
        ] or waiting
        ordered += ready
        waiting = [n for n in waiting if n not in ready]
    return ordered
