"""``tapestry_state``: which runs of which generation there are, written before they commit.

Semantics, section 4. A row claims the number n of its generation: it is inserted under the Delta
transaction (generation, n) of the *state* table, so only one row can ever stand for an n, whoever
else tries at the same time. With it the window, the pins and the query of n are fixed: whoever
executes n (the run that claimed it, or the next one after a crash) appends the same rows, and the
transaction (generation, n) of the target lets that happen once. Hence lost races leave no rows, and
side tables that are keyed by (generation, n) hold rows of the one run that n is.

A run whose checks fail closes its n: the row is marked, then an empty commit takes the transaction
(generation, n) of the target, so that no other execution of n can publish. The row itself says
what was in force before it (tau, last_pins, last_canonical, last_begin): the next run goes on from
there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from time import sleep
from typing import Any

from tapestry.instants import from_micros, micros
from tapestry.quoting import properties, relation_name, string
from tapestry.runs.errors_of_delta import (
    lacks_column,
    lost_race,
    not_found,
)
from tapestry.runs.own_tables import create_own, lost_own, widen_own
from tapestry.runs.session import Session
from tapestry.runs.sources.pins import Pin
from tapestry.runs.target import metadata, newest_commits

COLUMNS: Mapping[str, str] = {
    "model": "string",
    "generation": "string",
    "n": "bigint",
    "run_id": "string",
    "tau": "timestamp",
    "t": "timestamp",
    "begin": "timestamp",
    "target_id": "string",
    "target_version": "bigint",
    "pins": "string",
    "last_pins": "string",
    "canonical": "string",
    "sql": "string",
    "created_at": "timestamp",
    "last_canonical": "string",
    "last_begin": "timestamp",
    "failed_at": "timestamp",
    "began": "timestamp",
    "continues": "string",
    "failed": "string",
}
ADDED = {
    name: COLUMNS[name]
    for name in ("last_canonical", "last_begin", "failed_at", "began", "continues", "failed")
}
"""Columns that state tables of earlier versions lack."""
COMMENT = "tapestry: where every continuous model stands; do not edit"
ATTEMPTS = 6
_INSTANTS = ("tau", "t", "begin", "last_begin", "failed_at", "began")
FAILED = 100
"""So many closed runs are remembered: each run that is executed removes what those before it left.
"""
_LATEST = [c for c in COLUMNS if c != "created_at"]


@dataclass(frozen=True)
class StateRow:
    """Run n of a generation: what it does, whether or not it has committed.

    pins
        What it reads; ``last_pins``: what the run before it read (none for the first).
    target_id, target_version
        The target when n was claimed ('' and -1: there was none): what was written to it since
        then is n itself, or somebody else's.
    canonical
        The query in canonical text, which can be executed; ``sql`` as the author wrote it.
    begin
        The first instant of interest that is in force: the configured one, or where the current
        query began (``on_query_change: continue``).
    last_canonical, last_begin
        The query and the begin in force before this run.
    failed_at
        When its checks failed: it has published nothing and never will.
    began
        Where time begins: the earliest arrival in any source, as the generation's first verified
        run found it (what comes later arrives later, late rows too); None: not looked for yet.
    continues
        The generation that was rewound to this one ("": the table was built anew).
    failed
        The newest of the runs before it that were closed without rows: their checks failed, or
        they no longer fitted the model. What they wrote beside the table does not exist.
    """

    model: str
    generation: str
    n: int
    run_id: str
    tau: datetime | None
    t: datetime
    begin: datetime | None
    target_id: str
    target_version: int
    pins: Mapping[str, Pin]
    last_pins: Mapping[str, Pin]
    canonical: str
    sql: str
    last_canonical: str = ""
    last_begin: datetime | None = None
    failed_at: datetime | None = None
    began: datetime | None = None
    continues: str = ""
    failed: tuple[int, ...] = ()

    @property
    def before(self) -> StateRow:
        """What the next run goes on from where this one failed: τ stays, only n is used up."""
        assert self.tau is not None, "a generation whose first run failed is nobody's"
        return replace(
            self,
            t=self.tau,
            pins=self.last_pins,
            canonical=self.last_canonical or self.canonical,
            begin=self.last_begin,
            failed=(*self.failed, self.n)[-FAILED:],
        )


def read_states(session: Session, table: str) -> dict[str, StateRow] | None:
    """The newest row of every generation; None where there is no state table."""
    items = ", ".join(f"unix_micros({c}) AS {c}" if c in _INSTANTS else c for c in _LATEST)
    names = ", ".join(f"newest.{c}" for c in _LATEST)
    sql = (
        f"SELECT {names} FROM (SELECT max_by(struct({', '.join(_LATEST)}), n) AS newest"
        f" FROM (SELECT {items} FROM {relation_name(table)}) GROUP BY generation)"
    )
    try:
        rows = session.rows(sql)
    except Exception as error:
        if not_found(error):
            return None
        if not lacks_column(error):
            raise
        widen_own(session, table, ADDED)
        rows = session.rows(sql)
    return {row.generation: row for row in map(_from_row, rows)}


def runs_of(session: Session, table: str, generation: str) -> list[StateRow]:
    """The rows of a generation that are still kept, by n; ``read_states`` comes before this."""
    items = ", ".join(f"unix_micros({c})" if c in _INSTANTS else c for c in _LATEST)
    rows = session.rows(
        f"SELECT {items} FROM {relation_name(table)} WHERE generation = {string(generation)}"
    )
    return sorted(map(_from_row, rows), key=lambda row: row.n)


def claim(session: Session, table: str, row: StateRow) -> bool:
    """Insert the row; True iff it is the one that stands for its n now, in the state table.

    False means that another run claimed n in the meantime, or that the table is gone. A row of
    one's own that was inserted before (the run id is the same) counts as won.
    """
    inserted = _insert(table, row)
    try:
        session.run(inserted)
    except Exception as error:
        if lost_own(session, table, error):
            if row.n > 1:
                return False  # somebody dropped it: what it knew of the other models is gone
            create_own(session, table, COLUMNS, COMMENT)
            session.run(inserted)
        elif lacks_column(error):
            widen_own(session, table, ADDED)
            session.run(inserted)
        elif not lost_race(error):
            raise
    if row.n == 1:
        return True  # a new generation: nobody else knows its name
    if any(commit.run_id == row.run_id for commit in newest_commits(session, table)):
        return True  # its transaction landed, which of all that stand for one n only one ever does
    standing = session.rows(
        f"SELECT run_id FROM {relation_name(table)}"
        f" WHERE generation = {string(row.generation)} AND n = {row.n}"
    )
    return [run_id for (run_id,) in standing] == [row.run_id]


def mark_failed(session: Session, table: str, row: StateRow, failed: bool = True) -> None:
    """Write down that the checks of n failed (or take it back), so that no log has to tell.

    Claims of other models are blind appends, which an UPDATE does not conflict with; another
    UPDATE at the same time does, hence again.
    """
    marked = (
        f"UPDATE {relation_name(table)}"
        f" SET failed_at = {'current_timestamp()' if failed else 'NULL'}"
        f" WHERE generation = {string(row.generation)} AND n = {row.n}"
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


def _insert(table: str, row: StateRow) -> str:
    values = {
        **{name: string(getattr(row, name)) for name in COLUMNS if name in _TEXTS},
        **{name: _instant(getattr(row, name)) for name in _INSTANTS},
        "n": str(row.n),
        "target_version": str(row.target_version),
        "pins": string(pins_as_json(row.pins)),
        "last_pins": string(pins_as_json(row.last_pins)),
        "failed": string(json.dumps(row.failed)),
        "created_at": "current_timestamp()",
    }
    options = {
        "txnAppId": f"tapestry.state.{row.generation}",
        "txnVersion": row.n,
        "userMetadata": metadata(row.generation, row.n, row.run_id, {}),
    }
    return (
        f"INSERT INTO {relation_name(table)} WITH ({properties(options)})"
        # Values of a SELECT become part of the code that Spark compiles, those of VALUES do not.
        f" ({', '.join(COLUMNS)}) VALUES ({', '.join(values[name] for name in COLUMNS)})"
    )


_TEXTS = (
    "model",
    "generation",
    "run_id",
    "target_id",
    "canonical",
    "sql",
    "last_canonical",
    "continues",
)


def _instant(instant: datetime | None) -> str:
    if instant is None:
        return "CAST(NULL AS TIMESTAMP)"
    return f"timestamp_micros({micros(instant)})"


def pins_as_json(pins: Mapping[str, Pin]) -> str:
    """Pins as text: name -> [table id, version], and true where late rows are kept."""
    texts = {
        name: [pin.table_id, pin.version, *([True] if pin.kept else [])]
        for name, pin in sorted(pins.items())
    }
    return json.dumps(texts)


def _pins(text: str) -> dict[str, Pin]:
    return {
        name: Pin(str(i), int(version), bool(kept))
        for name, (i, version, *kept) in json.loads(text).items()
    }


def _from_row(values: tuple[Any, ...]) -> StateRow:
    row = dict(zip(_LATEST, values, strict=True))
    for name in _INSTANTS:
        row[name] = None if row[name] is None else from_micros(int(row[name]))
    for name in ("pins", "last_pins"):
        row[name] = _pins(row[name])
    row["last_canonical"] = row["last_canonical"] or ""
    row["continues"] = row["continues"] or ""
    row["failed"] = tuple(json.loads(row["failed"] or "[]"))
    # sql: the queries in a state row are what a run of ours put there
    return StateRow(**row)
