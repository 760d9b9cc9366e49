"""The other tables of a rule as they were when each commit of a window was made.

    unchanged      in all of the window: its pin, the same rows for every commit
    changed        one read of each version that stood at some commit, united: a *segment* each

The table that triggers the rule, read by its name, is at each commit as that left it. Any other
table is at its last version that was made by then; ties count (rules, sections 2 and 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tapestry.errors import StateGone
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule.triggers import RuleText
from tapestry.runs.sources.pins import Pin, Pinned
from tapestry.runs.sources.transactions import CommitWindow, times_of
from tapestry.sql.commits.lift_commits import SINCE, UNTIL

SEGMENTS = 20
"""So many versions of one table are read in a run, at most."""
FOREVER = 2**62
NOT_YET = -1
"""The version of a table before its first one."""


@dataclass(frozen=True)
class States:
    """The window that a run looks at, and the tables as they were at its commits.

    moved
        By table that changes: its versions, each with the first commit at which it stood.
    pins
        The version of each table at the last commit; for one that does not change, its pin.
    """

    window: CommitWindow
    moved: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    pins: Mapping[str, Pin] = field(default_factory=dict)

    def rows_at_each(self, name: str, pinned: Pinned) -> str:
        """Return a SELECT of a table's rows.

        If the table changes, each row has the range of commits at which it is there.
        """
        if name not in self.moved:
            return f"SELECT * FROM {pinned.table.at(self.pins[name].version)}"
        return rows_at_steps(pinned, self.moved[name])


def rows_at_steps(pinned: Pinned, steps: Sequence[tuple[int, int]]) -> str:
    """Return a SELECT of a table's versions, each with the range of commits at which it stood.

    ``steps`` are these versions, each with the first of the commits.
    """
    ends = [*(since for _, since in steps[1:]), FOREVER]
    parts = (
        f"SELECT *, {since:d}L AS {SINCE}, {until:d}L AS {UNTIL} FROM ({_rows(pinned, version)})"
        for (version, since), until in zip(steps, ends, strict=True)
    )
    return " UNION ALL ".join(parts)


def _rows(pinned: Pinned, version: int) -> str:
    """Return a SELECT of the rows of a version; no rows for a table that was not there yet."""
    if version == NOT_YET:
        return f"SELECT * FROM {pinned.table.at(pinned.pin.version)} WHERE false"
    return f"SELECT * FROM {pinned.table.at(version)}"


def states_of(
    session: Session, rule: RuleText, window: CommitWindow, before: Mapping[str, Pin] | None
) -> States:
    """Find out which version of each table stood at which commit.

    ``before`` are the versions at the end of the last run; None: there was none. Where a table has
    changed too often the window ends earlier: the next run goes on from there. Raises StateGone
    where a table's log does not tell.
    """
    tables = rule.relations.tables
    if not window.commits:
        pins = {name: one.pin for name, one in tables.items()}
        return States(window, {}, {**pins, **(before or {})})
    at: dict[str, list[int]] = {}
    for name, pinned in tables.items():
        versions = _versions(session, rule, window, name, pinned, before)
        if versions is not None:
            at[name] = versions
    count = len(window.commits)
    for versions in at.values():
        distinct = list(dict.fromkeys(versions))
        if len(distinct) > SEGMENTS:
            count = min(count, versions.index(distinct[SEGMENTS]))
    window = replace(window, commits=window.commits[:count])
    moved, pins = {}, {}
    for name, pinned in tables.items():
        versions = at.get(name, [pinned.pin.version] * count)[:count]
        pins[name] = Pin(pinned.pin.table_id, max(versions[-1], 0))
        steps: list[tuple[int, int]] = []
        for commit, version in zip(window.commits, versions, strict=True):
            if not steps or steps[-1][0] != version:
                steps.append((version, commit.version))
        if len(steps) > 1 or steps[0][0] == NOT_YET:
            moved[name] = tuple(steps)
    return States(window, moved, pins)


def _versions(
    session: Session,
    rule: RuleText,
    window: CommitWindow,
    name: str,
    pinned: Pinned,
    before: Mapping[str, Pin] | None,
) -> list[int] | None:
    """Return a table's version at each commit of the window; None: its pin at all of them."""
    if rule.config.as_it_runs(name):
        return None
    if pinned.table.table_id == rule.table.table.table_id:
        return [commit.version for commit in window.commits]
    last = None if before is None else before.get(name)
    if last is not None and last.table_id != pinned.pin.table_id:
        raise StateGone(
            f"{name} is another table than it was when {rule.model.name} ran last",
            where=rule.model.file,
            hint="--full-refresh of the rule begins with it; what its actions have not done yet is"
            " dropped",
        )
    if last is not None and last.version == pinned.pin.version:
        return None
    times = times_of(session, pinned.table, pinned.pin.version)
    first = NOT_YET if last is None else last.version
    known = sorted(version for version in times if version > first)
    if known and known[0] > first + 1 and times[known[0]] > window.commits[0].time:
        raise StateGone(
            f"version {window.commits[0].version} of {rule.name} was committed before the first"
            f" version of {name} of which its history tells ({known[0]})",
            where=rule.model.file,
            hint=f"states: {{{name.rpartition('.')[2]}: run}} lets the rule read it as it is when"
            " the rule runs; or let the rule begin later (begin)",
        )
    found = []
    for commit in window.commits:
        while known and times[known[0]] <= commit.time:
            first = known.pop(0)
        found.append(first)
    return found
