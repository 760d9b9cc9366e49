"""A row of ``tapestry_state``: a run that was claimed, with the values kept of it.

All kinds of models have the same columns. Values that only one kind knows are a JSON object of its
own, which that kind reads and writes; here it is a text, bounded and sealed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from tapestry.instants import micros
from tapestry.runs.engine.odd_rows import sealed
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.run_identity import RunIdentity

KEY = ("model", "generation", "n")
"""The columns that identify a row in a message."""
FORMAT = 2
"""The form of a row, and of what its run wrote beside its table: late rows, known answers, states
of groups, rejected rows."""
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
    "kind": "string",
    "own": "string",
    "last_own": "string",
    "recorded_at": "timestamp",
}
"""Column -> type; only rows of format 1 have a ``begin``, ``last_begin`` and ``began``.

``recorded_at``: the row was written after its run had landed; NULL: before, as a claim.
"""
LONGEST_OWN = 100_000
"""So many characters has what a kind keeps of its own, at most."""
FAILED = 100
"""So many closed runs are remembered: each run that is executed removes what those before it left.
"""


@dataclass(frozen=True)
class Position:
    """The position of a table: up to ``t``, over these versions of its sources, by this query.

    canonical
        The query in canonical text, which can be executed.
    own
        Further values of the model's kind: a JSON object that it alone reads and writes.
    """

    t: datetime
    pins: Mapping[str, Pin]
    canonical: str
    own: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AsWritten:
    """The way in which the row of a run was written.

    sealed
        Its values are those that were claimed: a seal says so. Rows of earlier versions have none.
    recorded
        It was written after its run had landed; False: before, as a claim.
    form
        The form of the row.
    """

    sealed: bool = True
    recorded: bool = False
    form: int = FORMAT


AS_A_RUN = AsWritten()
"""As runs of this version write it."""


@dataclass(frozen=True)
class StateRow:
    """Run n of a generation: its plan, whether or not it has committed.

    kind
        The kind of the model, by the name of its materialization.
    target
        The target when n was claimed (an id of '' and version -1: there was none): any later commit
        to it is n itself, or somebody else's.
    before
        The position from which the run goes on; None: it is the first of its generation.
    after
        The position to which it brings the table.
    sql
        The query of ``after`` as the author wrote it.
    failed_at
        When its checks failed: it has published nothing and never will.
    failed
        The newest of the runs up to it whose rows in kept tables do not count: those that were
        closed without rows, for their checks failed or they no longer fitted the model, and those
        whose number the commit of another run took (`noted_runs`).
    continues
        The generation that was rewound to this one ("": the table was built anew).
    beside
        The kept tables of the target without which a run does not go on, by their suffixes.
    written
        How it was written.
    """

    identity: RunIdentity
    kind: str
    target: Pin
    before: Position | None
    after: Position
    sql: str = ""
    failed_at: datetime | None = None
    failed: tuple[int, ...] = ()
    continues: str = ""
    beside: tuple[str, ...] = ()
    written: AsWritten = field(default=AS_A_RUN, compare=False)

    @property
    def sealed(self) -> bool:
        """Whether a seal says that its values are those that were claimed."""
        return self.written.sealed

    @property
    def recorded(self) -> bool:
        """Whether its run had landed when it was written."""
        return self.written.recorded

    @property
    def model(self) -> str:
        """The relation in lower case, without backticks."""
        return self.identity.model

    @property
    def generation(self) -> str:
        """The name that tells its table from those before and after it."""
        return self.identity.generation

    @property
    def n(self) -> int:
        """The number of the run within its generation, from 1 on."""
        return self.identity.n

    @property
    def run_id(self) -> str:
        """The name that tells it from another run that wants the same number."""
        return self.identity.run_id

    @property
    def since(self) -> datetime | None:
        """The instant at which the run before it ended; None: it is the first."""
        return None if self.before is None else self.before.t

    @property
    def undone(self) -> StateRow:
        """The state that the next run finds if this one failed: only its n is used up."""
        assert self.before is not None, "a generation whose first run failed is nobody's"
        return replace(self, after=self.before, failed=(*self.failed, self.n)[-FAILED:])


def without_rows_beside(row: StateRow, numbers: Iterable[int]) -> StateRow:
    """Return the row of a run that does not count what runs of these numbers wrote beside."""
    found = dict.fromkeys([*row.failed, *(n for n in numbers if n <= row.n)])
    return replace(row, failed=tuple(sorted(found))[-FAILED:])


def values_of(row: StateRow) -> dict[str, str | int | None]:
    """Return the values that are fixed when a run is claimed; instants in microseconds."""
    before, after = row.before, row.after
    return {
        "model": row.model,
        "generation": row.generation,
        "n": row.n,
        "run_id": row.run_id,
        "tau": None if before is None else micros(before.t),
        "t": micros(after.t),
        "target_id": row.target.table_id,
        "target_version": row.target.version,
        "pins": pins_as_json(after.pins),
        "last_pins": pins_as_json({} if before is None else before.pins),
        "canonical": after.canonical,
        "sql": row.sql,
        "last_canonical": "" if before is None else before.canonical,
        "continues": row.continues,
        "failed": json.dumps(row.failed),
        "beside": json.dumps(row.beside) if row.beside else None,
        "format": FORMAT,
        "kind": row.kind,
        "own": _own_as_json(after.own),
        "last_own": None if before is None else _own_as_json(before.own),
    }


def seal_of(row: StateRow) -> str:
    """Return the seal of a row: over all that is fixed when its run is claimed."""
    return sealed(sealed_values(row))


def sealed_values(row: StateRow) -> list[Any]:
    """Return the values under the seal of a row, each with its column."""
    return list(values_of(row).items())


def _own_as_json(own: Mapping[str, Any]) -> str:
    text = json.dumps(dict(own), sort_keys=True)
    if len(text) > LONGEST_OWN:
        raise ValueError(f"a kind keeps {len(text)} characters of its own, {LONGEST_OWN} at most")
    return text


def pins_as_json(pins: Mapping[str, Pin]) -> str:
    """Return pins as text: name -> [table id, version], and true where late rows are kept."""
    texts = {
        name: [pin.table_id, pin.version, *([True] if pin.kept else [])]
        for name, pin in sorted(pins.items())
    }
    return json.dumps(texts)
