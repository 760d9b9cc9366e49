"""Runs by the notes of their commits: what the state lacks of them, and who else claimed them.

A run that writes nothing before its commit needs no claim: of two such runs with one number Delta
lets one land, and its commit says in its note all that a row of the state has and the row before
does not tell (`written_in_note`). The state gets its row at the end of the invocation. Between the
two, and after a kill, the note stands for the row (`brought_up`).

A number that one process has claimed can be taken by the commit of another, which did not know of
the claim. Then the commit is the run, and what the claimed run wrote beside the table does not
count: its number is among ``StateRow.failed``. Neither overlooks the other: the one reads the
table's log after its claim, and the other the claims after its commit (`other_claims`). Each claim
is a commit of the state, whose note says which number it is of: so a process that knows the claims
up to a version reads the notes since then; one that does not asks the table.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tapestry.errors import StateMissing
from tapestry.instants import micros
from tapestry.quoting import relation_name, string
from tapestry.runs.engine.errors_of_delta import files_gone
from tapestry.runs.engine.odd_rows import read_row
from tapestry.runs.engine.own_tables import lost_own, widened_rows
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.parse_state import parse_state
from tapestry.runs.tables.run_identity import RunIdentity
from tapestry.runs.tables.state import ADDED, runs_of
from tapestry.runs.tables.state_row import KEY, StateRow, seal_of, values_of, without_rows_beside
from tapestry.runs.tables.target import Commit, commits_after, landed

RESTORE = "RESTORE"
"""The operation of a commit that brings back an earlier version of a table."""
_TOLD = ("target_id", "target_version", "pins", "own", "beside")
"""The values of a row, by column, that the row before it does not tell."""
LONGEST_NOTE = 20_000
"""So many characters has what a note says of a row, at most: a commit's note stays in the log."""

Claimed = tuple[str | None, int | None, str | None]
"""A claim: generation, number and id of its run."""


@dataclass(frozen=True)
class BroughtUp:
    """The newest run of a generation by the state and the notes of commits.

    lacking
        The rows that the state lacks, by n; ``row`` is the last of them, if there are any.
    taken
        Another run than ``row`` has taken its number, and nothing tells of that one: ``row`` is
        the row of a run that has not landed.
    """

    row: StateRow
    lacking: tuple[StateRow, ...] = ()
    taken: bool = False

    @property
    def untold(self) -> StateMissing:
        """The error for a number that a run has taken of which nothing tells."""
        row = self.row
        return StateMissing(
            f"run {row.n} of {row.model} was claimed by one process, and the commit of another has"
            " taken it, of which the state does not tell yet",
            hint="run again once that process is done: it writes into the state then; or run with"
            " --full-refresh",
        )


def written_in_note(row: StateRow) -> str | None:
    """Return what the note of a run's commit says of its row; None where that is too long.

    It is encoded: the text of an option has no backslash then, which would be another text in a
    session with ``escapedStringLiterals``, and nothing that Spark puts a variable's value for.
    """
    values = values_of(row)
    told = {name: values[name] for name in _TOLD if values[name] is not None}
    text = json.dumps({**told, "end": micros(row.after.t), "seal": seal_of(row)})
    found = b64encode(text.encode()).decode()
    return None if len(found) > LONGEST_NOTE else found


def _read_note(text: str) -> dict[str, Any]:
    """Return what a note says of a row; {} for a text that no run has written."""
    if len(text) > LONGEST_NOTE:
        return {}
    try:
        found = json.loads(b64decode(text, validate=True))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def brought_up(session: Session, table: str, row: StateRow, commits: Sequence[Commit]) -> BroughtUp:
    """Return the newest run, from the newest row of the state on.

    table
        The state, which is asked for earlier rows where another run has taken the row's number.
    commits
        Those of the table above the version that ``row`` names, newest first. Where they do not
        tell of each run, the row of the last one before the gap is returned.
    """
    own = landed(commits, row.generation, row.n)
    taken = own is not None and row.n > 1 and not own.failed and own.run_id != row.run_id
    last = row
    if taken:
        # Of the row only the number counts: its query may be another one.
        earlier = [one for one in runs_of(session, table, row.generation) if one.n < row.n]
        if not earlier:
            return BroughtUp(row, taken=True)
        last = earlier[-1]
    lacking = _following(last, commits)
    if taken:
        lacking = [without_rows_beside(one, [row.n]) for one in lacking]
    if not lacking:
        return BroughtUp(row, taken=taken)
    return BroughtUp(lacking[-1], tuple(lacking))


def _following(row: StateRow, commits: Sequence[Commit]) -> list[StateRow]:
    """Return the rows of the runs after one, as far as the notes of their commits tell.

    Whether it has landed, or was closed, is told by the seal of the next one, which was over that.
    """
    # Was the state restored along with the table? Then the rows of runs before are to come again.
    restored = max((one.version for one in commits if one.operation == RESTORE), default=-1)
    ours = [one for one in reversed(commits) if one.generation == row.generation]
    told = [one for one in ours if one.version > restored]
    found = _following_noted(row, told)
    return found if found or row.before is None else _following_noted(row.undone, told)


def _following_noted(row: StateRow, commits: Sequence[Commit]) -> list[StateRow]:
    found = [row]
    for commit in commits:
        if commit.n == found[-1].n + 1:
            noted = _noted(found[-1], commit)
            if noted is None:
                break
            found.append(noted)
    return found[1:]


def _noted(last: StateRow, commit: Commit) -> StateRow | None:
    """Return the row of a run that goes on from ``last``, by its commit; None: it does not tell."""
    note = _read_note(commit.state)
    if commit.failed or not note or commit.run_id is None or commit.n is None:
        return None
    identity = RunIdentity(last.model, last.generation, commit.n, commit.run_id)
    following = replace(last, identity=identity, before=last.after, failed_at=None)
    told = {name: note.get(name) for name in (*_TOLD, "seal")}
    values = {**values_of(following), **told, "t": note.get("end")}
    found = read_row(f"the log of {last.model}", KEY, values, parse_state)
    return found if isinstance(found, StateRow) else None


@dataclass(frozen=True)
class OtherClaims:
    """The claims of some runs' numbers by others.

    runs
        Generation -> the numbers.
    until
        The version of the state up to which all claims are known; None: it is not known.
    newest
        Generation -> the greatest number that was claimed since then, by anybody.
    looked_at
        The generations of the runs, where claims of others were not looked at; None: all were.
    """

    runs: Mapping[str, Sequence[int]]
    until: Pin | None
    newest: Mapping[str, int]
    looked_at: frozenset[str] | None


def claims_up_to(session: Session, table: str) -> Pin | None:
    """Return the newest version of a state table; None where the session does not tell."""
    seen = session.can.glance(table)
    return None if seen is None or seen.version is None else Pin(seen.table_id, seen.version)


def other_claims(
    session: Session, table: str, rows: Sequence[StateRow], since: Pin | None
) -> OtherClaims:
    """Return who else has claimed the numbers of runs that have landed.

    since
        The version up to which no claim of these numbers was overlooked.
    """
    now = claims_up_to(session, table)
    logged = _logged(session, table, since, now)
    found = _asked(session, table, rows) if logged is None else logged
    known = {(row.generation, row.n): row.run_id for row in rows}
    others: dict[str, list[int]] = {}
    newest: dict[str, int] = {}
    for generation, n, run_id in found:
        if not generation or not n:
            continue
        newest[generation] = max(n, newest.get(generation, 0))
        if known.get((generation, n), run_id) != run_id:
            others.setdefault(generation, []).append(n)
    looked_at = frozenset(row.generation for row in rows) if logged is None else None
    return OtherClaims(others, now, newest, looked_at)


def _logged(
    session: Session, table: str, since: Pin | None, now: Pin | None
) -> Iterable[Claimed] | None:
    """Return the claims after a version by the table's log; None where it does not tell all."""
    if since is None or now is None or since.table_id != now.table_id:
        return None
    if now.version <= since.version:
        return ()
    commits = commits_after(session, table, since.version)
    if not commits or commits[-1].version != since.version + 1:
        return None
    return [(one.generation, one.n, one.run_id) for one in commits]


def _asked(session: Session, table: str, rows: Sequence[StateRow]) -> list[Claimed]:
    generations = ", ".join(string(name) for name in sorted({row.generation for row in rows}))
    least = min(row.n for row in rows)
    asked = (
        f"SELECT generation, n, run_id FROM {relation_name(table)}"
        f" WHERE generation IN ({generations}) AND n >= {least:d} AND recorded_at IS NULL"
    )
    try:
        found = widened_rows(session, table, asked, ADDED)
    except Exception as error:
        if not lost_own(session, table, error) and not files_gone(error):
            raise
        raise StateMissing(
            f"{table} is gone: it lacks runs whose rows are in their tables",
            hint="bring it back: the next run of each model writes what it lacks",
        ) from error
    return [(str(generation), int(n), str(run_id)) for generation, n, run_id in found]
