"""Which continuous models have read answers of a model that are about to be forgotten.

A model has, when it went past T itself, or when the version that it pinned holds answers after T:
those vanish under it. The state says what each one read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from tapestry.names import MATCHED_AT
from tapestry.quoting import relation_name, timestamp
from tapestry.runs.invocation import Invocation
from tapestry.runs.model import Model
from tapestry.runs.relations import plain
from tapestry.runs.session import Session
from tapestry.runs.sources.pins import Pin
from tapestry.runs.state import StateRow
from tapestry.runs.target import CLOSED, commits_after, landed, look


def state_of(session: Session, invocation: Invocation, model: Model) -> StateRow | None:
    """The newest run that the state knows of a model's table; None where there is none."""
    target = look(session, model.relation)
    if target is None or target.generation is None:
        return None
    row = invocation.state(session, target.generation)
    if row is None:
        return None
    closed = landed(
        commits_after(session, model.relation, row.target_version), row.generation, CLOSED
    )
    if closed is not None and closed.successor:
        return invocation.state(session, closed.successor)
    return row


def affected(
    session: Session, invocation: Invocation, root: Model, models: Iterable[Model], to: datetime
) -> list[Model]:
    """The models that have to be rewound with ``root``, each after those that it reads."""
    rows: dict[str, StateRow] = {}
    named = {plain(model.relation): model for model in models}
    named.pop(plain(root.relation), None)
    for name, model in named.items():
        row = state_of(session, invocation, model)
        if row is not None:
            rows[name] = row
    found: set[str] = set()
    losing = {plain(root.relation)}  # models whose tables lose answers
    grown = True
    while grown:
        grown = False
        for name, row in rows.items():
            read = losing & set(row.pins)
            if name in found or not read:
                continue
            past = row.t > to
            if past or any(_holds_later(session, n, row.pins[n], to) for n in read):
                found.add(name)
                losing |= {name} if past else set()
                grown = True
    return [named[name] for name in _in_order(found, rows)]


def _holds_later(session: Session, name: str, pin: Pin, to: datetime) -> bool:
    """Does the version that was read hold answers after T? One that is gone may have."""
    relation = f"{relation_name(name)} VERSION AS OF {pin.version}"
    try:
        asked = f"SELECT 1 FROM {relation} WHERE {MATCHED_AT} > {timestamp(to)} LIMIT 1"
        return bool(session.rows(asked))
    except Exception:
        return True


def _in_order(found: set[str], rows: Mapping[str, StateRow]) -> list[str]:
    """Upstream models first."""
    ordered: list[str] = []
    waiting = sorted(found)
    while waiting:
        ready = [n for n in waiting if not (set(rows[n].pins) - {n}) & set(waiting)] or waiting
        ordered += ready
        waiting = [n for n in waiting if n not in ready]
    return ordered
