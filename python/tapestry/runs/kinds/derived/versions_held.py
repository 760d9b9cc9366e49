"""Finds the versions of its sources that a derived table stands for, by its actions' batches.

A rule's position is a version of its table. Where runs of the rule have fired and no batch has
taken the firings yet, the table stands for the position of the last run of which a batch is done.
If rules look at several tables, the versions are those of one moment: a rule has seen the others at
each commit as they were then. A source that no rule looks at is read as it is now (rules, section
7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.derived.rows_waiting import ActionRead
from tapestry.runs.sources.pins import Pin, Pinned
from tapestry.runs.sources.transactions import times_of

EVER = 2**62


@dataclass(frozen=True)
class VersionsHeld:
    """By watched table: the version that the derived table stands for.

    next_commit
        When the first commit after them was made; None: there is none.
    """

    pins: Mapping[str, Pin]
    next_commit: datetime | None = None


def versions_done(
    session: Session, actions: Sequence[ActionRead], built: Mapping[str, Pin]
) -> dict[str, int]:
    """Return, by table, the least version that the done batches of the actions stand for."""
    found: dict[str, int] = {}
    for action in actions:
        held = built_versions(action, built)
        done, newest = action.done_runs(session), action.newest_runs(session, held)
        for rule in action.rules:
            last, version = done.get(rule.relation, 0), rule.position.version
            fired, first = newest.get(rule.relation, (0, 0))
            if fired > last:
                known = rule.positions.get(last) if last else None
                begun = held[rule.relation]
                if rule.begin_in(action.life) >= 0:
                    # Earlier lives have done all before its first firing.
                    begun = first - 1
                version = begun if known is None else known.version
            version = max(version, held[rule.relation])
            found[rule.table] = min(found.get(rule.table, EVER), version)
    return found


def built_versions(action: ActionRead, built: Mapping[str, Pin]) -> dict[str, int]:
    """Return, by rule, its table's version from which the derived table was built; -1: none.

    It is -1 where the derived table does not read that table.
    """
    found = {}
    for rule in action.rules:
        pin = built.get(rule.table)
        found[rule.relation] = -1 if pin is None else pin.version
    return found


def at_one_moment(
    session: Session, versions: Mapping[str, int], tables: Mapping[str, Pinned], look: bool
) -> VersionsHeld:
    """Return the versions that stood at one moment, at or below these.

    ``look``: the time of the next commit is wanted though there is one table only.
    """
    if len(versions) < 2 and not look:
        return VersionsHeld({n: Pin(tables[n].pin.table_id, v) for n, v in versions.items()})
    times = {name: times_of(session, tables[name].table, EVER) for name in versions}
    later = [
        time
        for name, version in versions.items()
        for other, time in times[name].items()
        if other > version
    ]
    moment, pins = min(later, default=None), {}
    for name, version in versions.items():
        if moment is not None and len(versions) > 1:
            before = [v for v, t in times[name].items() if v <= version and t < moment]
            version = max(before, default=-1)
        pins[name] = Pin(tables[name].pin.table_id, version)
    return VersionsHeld(pins, moment)
