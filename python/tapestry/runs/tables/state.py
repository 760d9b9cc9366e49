"""``tapestry_state``: which runs of which generation there are, written before they commit.

Semantics, section 4. A row claims the number n of its generation: it is inserted under the Delta
transaction (generation, n) of the *state* table, so only one row can ever stand for an n, whoever
else tries at the same time. With it the window, the pins and the query of n are fixed: whoever
executes n (the run that claimed it, or the next one after a crash) appends the same rows, and the
transaction (generation, n) of the target lets that happen once. Hence lost races leave no rows, and
kept tables that are keyed by (generation, n) hold rows of the one run that n is.

A run whose checks fail closes its n: the row is marked, then an empty commit takes the transaction
(generation, n) of the target, so that no other execution of n can publish. The row itself says
what was in force before it (tau, last_pins, last_canonical, last_begin): the next run goes on from
there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from time import sleep
from typing import Any

from tapestry.errors import StateUnreadable
from tapestry.instants import micros
from tapestry.quoting import relation_name, string
from tapestry.runs.engine.errors_of_delta import files_gone, lost_race, not_found
from tapestry.runs.engine.odd_rows import OddRow, read_row
from tapestry.runs.engine.own_tables import OwnTable, lost_own, refuse_other, widened_rows
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.claims import Claim, Claimant, put_once, stands
from tapestry.runs.tables.run_identity import RunIdentity
from tapestry.runs.tables.state_row import FORMAT, KEY, parse_state, pins_as_json, seal_of
from tapestry.runs.tables.target import metadata

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
    "seal": "string",
    "beside": "string",
    "format": "bigint",
}
ADDED = {name: COLUMNS[name] for name in list(COLUMNS)[list(COLUMNS).index("last_canonical") :]}
"""Columns that state tables of earlier versions lack."""
COMMENT = "tapestry: where every continuous model stands; do not edit"
ATTEMPTS = 6
_INSTANTS = ("tau", "t", "begin", "last_begin", "failed_at", "began")
FAILED = 100
"""So many closed runs are remembered: each run that is executed removes what those before it left.
"""
_READ = [c for c in COLUMNS if c != "created_at"]


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
    beside
        The kept tables of the target without which a run does not go on, by their suffixes.
    sealed
        Its values are those that were claimed: a seal says so. Rows of earlier versions have none.
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
    beside: tuple[str, ...] = ()
    sealed: bool = field(default=True, compare=False)

    @property
    def identity(self) -> RunIdentity:
        """What names the run."""
        return RunIdentity(self.model, self.generation, self.n, self.run_id)

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


def read_states(session: Session, table: str) -> dict[str, StateRow | OddRow] | None:
    """The newest row of every generation; None where there is no state table.

    A row that no run has written stands for its generation as an `OddRow`: that is no generation
    without state. Raises StateUnreadable where the table itself is not as runs make it.
    """
    # All rows of the greatest n, not one of them: of two that differ neither is to be believed.
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
    for generation, row in ((_generation(values), _from_row(table, values)) for values in rows):
        known = found.get(generation)
        found[generation] = row if known is None or known == row else _twice(table, row, known)
    return found


def readable(row: StateRow | OddRow | None) -> StateRow | None:
    """The row; raises StateUnreadable for one that no run has written."""
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
    """The rows of a generation that are still kept, by n; ``read_states`` comes before this.

    Raises StateUnreadable for a row that no run has written.
    """
    rows = session.rows(
        f"SELECT {_items()} FROM {relation_name(table)} WHERE generation = {string(generation)}"
    )
    runs: dict[int, StateRow] = {}
    for run in (readable(_from_row(table, values)) for values in rows):
        assert run is not None
        if runs.setdefault(run.n, run) != run:
            readable(_twice(table, run, run))
    return [runs[n] for n in sorted(runs)]


def claim(session: Session, table: str, row: StateRow) -> bool:
    """Insert the row; True iff it is the one that stands for its n now, in the state table.

    False means that another run claimed n in the meantime, or that the table is gone: what it knew
    of the other models is, too, and only a new generation makes another. A row of one's own that
    was inserted before (the run id is the same) counts as won.
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


def _claim(table: str, row: StateRow) -> Claim:
    values = {
        **{name: string(getattr(row, name)) for name in COLUMNS if name in _TEXTS},
        **{name: _instant(getattr(row, name)) for name in _INSTANTS},
        "n": str(row.n),
        "target_version": str(row.target_version),
        "pins": string(pins_as_json(row.pins)),
        "last_pins": string(pins_as_json(row.last_pins)),
        "failed": string(json.dumps(row.failed)),
        "beside": string(json.dumps(row.beside)) if row.beside else "CAST(NULL AS STRING)",
        "seal": string(seal_of(vars(row))),
        "created_at": "current_timestamp()",
        "format": str(FORMAT),
    }
    said = metadata(row.generation, row.n, row.run_id, {})
    own = OwnTable(table, COLUMNS, COMMENT, ADDED)
    return Claim(own, f"tapestry.state.{row.generation}", row.n, values, said)


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


def _items() -> str:
    return ", ".join(f"unix_micros({c}) AS {c}" if c in _INSTANTS else c for c in _READ)


def _generation(values: tuple[Any, ...]) -> str:
    return str(values[_READ.index("generation")])


def _from_row(table: str, values: tuple[Any, ...]) -> StateRow | OddRow:
    named = dict(zip(_READ, values, strict=True))
    # sql: the queries in a state row are what a run of ours put there
    return read_row(table, KEY, named, lambda fields: StateRow(**parse_state(fields)))


def _twice(table: str, row: StateRow | OddRow, known: StateRow | OddRow) -> OddRow:
    """Two rows stand for one n, and they differ."""
    odd = next((one for one in (row, known) if isinstance(one, OddRow)), None)
    key = odd.key if odd else tuple((name, getattr(row, name)) for name in KEY)
    also = f"; of one of them {odd.reason}" if odd else ""
    return OddRow(table, key, f"there are two rows of it, which differ{also}")
