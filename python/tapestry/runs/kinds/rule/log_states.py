"""The other tables of a rule as they were at each transaction of a log of changes.

A version of another table stands from the first transaction on that was committed when it was made
or later. Transactions of a window are in the order of their times, so each version stands for a
range of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tapestry.errors import StateGone
from tapestry.instants import from_micros, micros
from tapestry.quoting import string
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule import states
from tapestry.runs.kinds.rule.triggers import RuleText
from tapestry.runs.sources.pins import Pin, Pinned
from tapestry.runs.sources.transactions import times_of
from tapestry.sql.commits.transitions import TRANSACTION

MOST = 200
"""So many versions of one table are read in a run that cannot end earlier, at most."""
_AT = "_tap_at"


@dataclass(frozen=True)
class LogStates:
    """The tables at the transactions of a window, which ends before ``end`` and with ``until``.

    moved
        By table that is not the same at all of them: its versions, each with the first transaction
        at which it stood.
    """

    moved: Mapping[str, tuple[tuple[int, int], ...]]
    pins: Mapping[str, Pin]
    until: datetime
    end: int = states.FOREVER
    at: Mapping[str, int] = field(default_factory=dict)

    def rows_at_each(self, name: str, pinned: Pinned) -> str:
        """Return a SELECT of a table's rows.

        If the table changes, each row has the range of transactions at which it is there.
        """
        if name not in self.moved:
            return f"SELECT * FROM {pinned.table.at(self.at.get(name, pinned.pin.version))}"
        return states.rows_at_steps(pinned, self.moved[name])


def log_states(
    session: Session, rule: RuleText, ordered: str, t: datetime, seen: datetime | None
) -> LogStates:
    """Find out which version of each table stood at which transaction.

    ``ordered`` is a relation of the changes of the window. Where a table has changed too often the
    window ends earlier, but not before ``seen``. Raises StateGone where a table was not there yet.
    """
    tables = {
        name: one
        for name, one in rule.relations.tables.items()
        if one.table.table_id != rule.table.table.table_id and not rule.config.as_it_runs(name)
    }
    pins = {name: one.pin for name, one in rule.relations.tables.items()}
    steps: dict[str, list[tuple[int, int, datetime]]] = {}
    for name, one in tables.items():
        steps[name] = _steps(session, rule, ordered, name, one)
    end, until = states.FOREVER, t
    for found in steps.values():
        if len(found) <= states.SEGMENTS:
            continue
        _, number, time = found[states.SEGMENTS]
        before = time - timedelta(microseconds=1)
        if number < end and (seen is None or before >= seen):
            end, until = number, before
    moved, at = {}, {}
    for name, found in steps.items():
        kept = [(version, since) for version, since, _ in found if since < end]
        if len(kept) > MOST:
            raise StateGone(
                f"{name} has changed {len(kept)} times while the transactions of a run were made",
                where=rule.model.file,
                hint="run the rule more often",
            )
        if len(kept) == 1:
            at[name] = kept[0][0]
        elif kept:
            moved[name] = tuple(kept)
    return LogStates(moved, pins, until, end, at)


def _steps(
    session: Session, rule: RuleText, ordered: str, name: str, pinned: Pinned
) -> list[tuple[int, int, datetime]]:
    """Return the versions of a table, each with its first transaction and its time."""
    times = sorted(times_of(session, pinned.table, pinned.pin.version).items())
    listed = string(str([micros(time) for _, time in times]))
    place = f"size(filter(from_json({listed}, 'array<bigint>'), x -> x <= unix_micros({_AT})))"
    rows = session.rows(
        f"SELECT {place} AS place, min({TRANSACTION}), unix_micros(min({_AT})) FROM {ordered}"
        " GROUP BY 1 ORDER BY 1"
    )
    if rows and int(rows[0][0]) == 0:
        raise StateGone(
            f"a transaction of {rule.name} was committed at {from_micros(int(rows[0][2]))}, before"
            f" the first version of {name} of which its history tells",
            where=rule.model.file,
            hint=f"states: {{{name.rpartition('.')[2]}: run}} lets the rule read it as it is when"
            " the rule runs",
        )
    return [
        (times[int(place_) - 1][0], int(number), from_micros(int(time)))
        for place_, number, time in rows
    ]
