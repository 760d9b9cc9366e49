"""``tapestry_state``: which runs of which generation there are.

Semantics, section 4. A run that writes beside its table before it commits claims its number n
first: its row is inserted under the Delta transaction (generation, n) of the *state* table, so only
one claim can ever stand for an n, whoever else tries at the same time. With it the window, the pins
and the query of n are fixed: whoever executes n (the run that claimed it, or the next one after a
crash) appends the same rows, and the transaction (generation, n) of the target lets that happen
once. Hence lost races leave no rows, and kept tables that are keyed by (generation, n) hold rows of
the one run that claimed n.

A run that writes nothing before its commit claims n by the commit itself (`noted_runs`); rows of
such runs are recorded at the end of an invocation, all in one commit (`record`). Where a number has
a claim and a recorded row, the recorded one is the run.

A run whose checks fail closes its n: the row is marked, then an empty commit takes the transaction
(generation, n) of the target, so that no other execution of n can publish. The row itself says what
was in force before it (``StateRow.before``): the next run goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from time import sleep
from typing import Any

from tapestry.errors import StateUnreadable
from tapestry.quoting import relation_name, string
from tapestry.runs.engine.errors_of_delta import files_gone, lost_race, not_found
from tapestry.runs.engine.odd_rows import OddRow, read_row
from tapestry.runs.engine.own_tables import (
    OwnTable,
    append_own,
    lost_own,
    refuse_other,
    widened_rows,
)
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.claims import Claim, Claimant, put_once, stands
from tapestry.runs.tables.parse_state import parse_state
from tapestry.runs.tables.state_row import (
    COLUMNS,
    KEY,
    StateRow,
    seal_of,
    values_of,
    without_rows_beside,
)
from tapestry.runs.tables.target import metadata

ADDED = {name: COLUMNS[name] for name in list(COLUMNS)[list(COLUMNS).index("last_canonical") :]}
"""Columns that state tables of earlier versions lack."""
COMMENT = "tapestry: where every model stands; do not edit"
ATTEMPTS = 6
_INSTANTS = tuple(name for name, kind in COLUMNS.items() if kind == "timestamp")
_READ = [c for c in COLUMNS if c != "created_at"]


def read_states(session: Session, table: str) -> dict[str, StateRow | OddRow] | None:
    """Return the newest row of every generation; None where there is no state table.

    A row that no run has written stands for its generation as an `OddRow`: that is no generation
    without state. Raises StateUnreadable where the table itself is not as runs make it.
    """
    # All rows of the greatest n, not one of them: of two that differ neither is to be believed,
    # except that a recorded row has landed, and a claim of the same n has not.
    sql = (
        f"SELECT {', '.join(_READ)} FROM (SELECT {_items()},"
        " rank() OVER (PARTITION BY generation ORDER BY n DESC) AS _newest"
        f" FROM {relation_name(table)}) WHERE _newest = 1"
    )
    try:
        rows = widened_rows(session, table, sql, ADDED)
    except Exception as error:
        if not_found(error) or files_gone(error):
            return None
        refuse_other(session, table, COLUMNS)
        raise
    found: dict[str, StateRow | OddRow] = {}
    for values in _of_runs(rows):
        generation, row = str(_item(values, "generation")), row_from_state(table, values)
        known = found.get(generation)
        found[generation] = row if known is None else _one_of(table, row, known)
    return found


def readable(row: StateRow | OddRow | None) -> StateRow | None:
    """Return the row; raise StateUnreadable for one that no run has written."""
    if not isinstance(row, OddRow):
        return row
    raise StateUnreadable(
        f"the state of {row.named('model') or 'a model'} cannot be read: {row.reason}",
        where=row.where,
        hint=row.way_out
        or "put that row right (the table's DESCRIBE HISTORY tells who wrote it, VERSION AS OF …"
        " what stood there before) or delete it if it is one too many; or `tapestry adopt` the"
        " model, or --full-refresh it",
    )


def runs_of(session: Session, table: str, generation: str) -> list[StateRow]:
    """Return the rows of a generation that are still kept, by n; ``read_states`` comes before.

    Raises StateUnreadable for a row that no run has written.
    """
    rows = session.rows(
        f"SELECT {_items()} FROM {relation_name(table)} WHERE generation = {string(generation)}"
    )
    runs: dict[int, StateRow] = {}
    for run in (readable(row_from_state(table, values)) for values in _of_runs(rows)):
        assert run is not None
        one = readable(_one_of(table, run, runs.get(run.n, run)))
        assert one is not None
        runs[run.n] = one
    return [runs[n] for n in sorted(runs)]


def claim(session: Session, table: str, row: StateRow) -> bool:
    """Insert the row; return whether it is the one that stands for its n now.

    False means that another run claimed n in the meantime, or that the state table is gone: then
    the state of the other models is, too, and only a new generation makes another table. A row of
    one's own that was inserted before (the run id is the same) counts as won.
    """
    mine, new = _claim(table, row), row.n == 1
    try:
        put_once(session, mine, makes=new)
    except Exception as error:
        if new or not lost_own(session, table, error):
            raise
        return False
    # Nobody else knows the name of a new generation.
    return new or stands(session, mine, Claimant("run_id", row.run_id, ("generation", "n")))


def record(
    session: Session, table: str, rows: Sequence[StateRow], others: Mapping[str, Iterable[int]]
) -> list[StateRow]:
    """Append the rows of runs that have landed without a claim, in one commit.

    others
        Numbers of each generation that other runs have claimed (`other_claims`).

    Return the rows as they were written: those whose number another run had claimed say that what
    that one wrote beside its table does not count. A run may be recorded twice, by two processes.
    """
    written = [without_rows_beside(row, others.get(row.generation, ())) for row in rows]
    append_own(session, _own(table), [_sql_values(row, "current_timestamp()") for row in written])
    return written


def mark_failed(session: Session, table: str, row: StateRow, failed: bool = True) -> None:
    """Mark n as failed (or take it back), so that no log has to tell that its checks failed.

    Claims of other models are blind appends, which an UPDATE does not conflict with; another
    simultaneous UPDATE does, so it is tried again.
    """
    marked = (
        f"UPDATE {relation_name(table)}"
        f" SET failed_at = {'current_timestamp()' if failed else 'NULL'}"
        f" WHERE generation = {string(row.generation)} AND n = {row.n}"
        f" AND run_id = {string(row.run_id)}"
    )
    for attempt in range(ATTEMPTS):
        try:
            session.run(marked)
            return
        except Exception as error:
            if not lost_race(error) or attempt + 1 == ATTEMPTS:
                raise
            sleep(0.2 * (attempt + 1))


def compact(session: Session, table: str, row: StateRow, keep: int) -> None:
    """Drop rows of runs long past and merge small files.

    The first run of a generation stays: it says up to where the table was built or rewound.
    """
    session.run(
        f"DELETE FROM {relation_name(table)}"
        f" WHERE generation = {string(row.generation)} AND n > 1 AND n < {row.n - keep}"
    )
    session.run(f"OPTIMIZE {relation_name(table)}")


def _claim(table: str, row: StateRow) -> Claim:
    said = metadata(row.generation, row.n, row.run_id, {})
    key = f"tapestry.state.{row.generation}"
    return Claim(_own(table), key, row.n, _sql_values(row), said)


def _own(table: str) -> OwnTable:
    return OwnTable(table, COLUMNS, COMMENT, ADDED)


def _sql_values(row: StateRow, recorded_at: str = "NULL") -> dict[str, str]:
    fixed = values_of(row)
    values = {name: _value(kind, fixed.get(name)) for name, kind in COLUMNS.items()}
    values |= {"seal": string(seal_of(row)), "created_at": "current_timestamp()"}
    return {**values, "recorded_at": recorded_at}


def _value(kind: str, value: str | int | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return string(value)
    return f"timestamp_micros({int(value)})" if kind == "timestamp" else str(int(value))


def _items() -> str:
    return ", ".join(f"unix_micros({c}) AS {c}" if c in _INSTANTS else c for c in _READ)


def _of_runs(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the rows of runs: without claims of numbers that the commits of others took."""
    recorded = {_number(values) for values in rows if _item(values, "recorded_at") is not None}
    return [
        values
        for values in rows
        if _item(values, "recorded_at") is not None or _number(values) not in recorded
    ]


def _number(values: tuple[Any, ...]) -> tuple[Any, Any]:
    return _item(values, "generation"), _item(values, "n")


def _item(values: tuple[Any, ...], column: str) -> Any:
    return values[_READ.index(column)]


def row_from_state(table: str, values: tuple[Any, ...]) -> StateRow | OddRow:
    """Return the row of a run, by values in the order in which they are read."""
    named = dict(zip(_READ, values, strict=True))
    return read_row(table, KEY, named, parse_state)


def _one_of(table: str, row: StateRow | OddRow, known: StateRow | OddRow) -> StateRow | OddRow:
    """Return the row of a run that stands there twice; an odd row where the two differ.

    Two processes may have recorded one run. A claim of its number that the first of them did not
    know of came after that, saw that the run had landed, and wrote nothing: it does not matter.
    """
    if row == known:
        return row
    if isinstance(row, StateRow) and isinstance(known, StateRow):
        fewer, more = sorted((row, known), key=lambda one: len(one.failed))
        if fewer == replace(more, failed=fewer.failed) and set(fewer.failed) <= set(more.failed):
            return fewer
    return _twice(table, row, known)


def _twice(table: str, row: StateRow | OddRow, known: StateRow | OddRow) -> OddRow:
    """Return the odd row for two rows of one n that differ."""
    odd = next((one for one in (row, known) if isinstance(one, OddRow)), None)
    key = odd.key if odd else tuple((name, getattr(row, name)) for name in KEY)
    also = f"; of one of them {odd.reason}" if odd else ""
    return OddRow(table, key, f"there are two rows of it, which differ{also}")
