"""Parses a row of ``tapestry_state``, checked against what a run can have written.

Rows of format 1, and those before it, which have no number, are all of one kind, and the values
that this kind alone knows stand in columns: they become an object as that kind writes it today.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from tapestry.instants import micros
from tapestry.names import FIRST_KIND
from tapestry.runs.engine.odd_rows import Fields, Odd, check_seal, shown
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.run_identity import RunIdentity
from tapestry.runs.tables.state_row import (
    FORMAT,
    LONGEST_OWN,
    AsWritten,
    Position,
    StateRow,
    sealed_values,
)
from tapestry.runs.tables.target import CLOSED


def parse_state(fields: Fields) -> StateRow:
    """Return the row; raise `Odd` for a value that no run has written.

    A row of a later format is refused before anything else of it is read.
    """
    form = fields.optional_whole("format", 1) or 1
    if form > FORMAT:
        raise Odd(
            f"it is of format {form}, and this version of dbt-tapestry reads those up to {FORMAT}",
            "install the version that wrote it, or a later one; --full-refresh builds the model"
            " again in the format of this one",
        )
    if form == 1:
        own, last_own = _in_columns(fields, "begin"), _in_columns(fields, "last_begin")
        row = _row(fields, FIRST_KIND, own, last_own)
        values = _sealed_in_format_1(fields, row)
    else:
        row = _row(fields, fields.text("kind"), _object(fields, "own"), _object(fields, "last_own"))
        values = sealed_values(row)
        fields.text("seal")  # each row of this format has one
    sealed = check_seal(fields.optional_text("seal"), values)
    return replace(row, written=AsWritten(sealed, fields.given("recorded_at"), form))


def _row(fields: Fields, kind: str, own: dict[str, Any], last_own: dict[str, Any]) -> StateRow:
    n = fields.whole("n", 1, CLOSED - 1)
    tau, t = fields.optional_instant("tau"), fields.instant("t")
    _check_window(n, tau, t)
    canonical, last_pins = fields.text("canonical"), pins_of(fields, "last_pins")
    last = fields.optional_text("last_canonical") or canonical
    return StateRow(
        RunIdentity(fields.text("model"), fields.text("generation"), n, fields.text("run_id")),
        kind,
        Pin(_present(fields, "target_id"), fields.whole("target_version", -1)),
        None if tau is None else Position(tau, last_pins, last, last_own),
        Position(t, pins_of(fields, "pins"), canonical, own),
        _present(fields, "sql"),
        fields.optional_instant("failed_at"),
        _failed(fields, n),
        fields.optional_text("continues") or "",
        _beside(fields),
    )


def _object(fields: Fields, name: str) -> dict[str, Any]:
    """Return the object of a kind's own values; only that kind knows their meaning."""
    text = fields.optional_text(name)
    if not text:
        return {}
    if len(text) > LONGEST_OWN:
        raise Odd(f"{name} is longer than {LONGEST_OWN} characters")
    found = fields.json(name)
    if not isinstance(found, dict):
        raise Odd(f"{name} is no object but {shown(found)}")
    return found


def _in_columns(fields: Fields, begin: str) -> dict[str, Any]:
    found = {"begin": _instant(fields, begin), "began": _instant(fields, "began")}
    return {name: value for name, value in found.items() if value is not None}


def _instant(fields: Fields, name: str) -> int | None:
    found = fields.optional_instant(name)
    return None if found is None else micros(found)


def _sealed_in_format_1(fields: Fields, row: StateRow) -> list[Any]:
    """Return the sealed values of format 1: without the query and without kept tables."""
    return [
        row.model,
        row.generation,
        row.n,
        row.run_id,
        _instant(fields, "tau"),
        _instant(fields, "t"),
        _instant(fields, "begin"),
        row.target.table_id,
        row.target.version,
        _listed(row.after.pins),
        _listed(pins_of(fields, "last_pins")),
        row.after.canonical,
        fields.optional_text("last_canonical") or "",
        _instant(fields, "last_begin"),
        _instant(fields, "began"),
        row.continues,
        list(row.failed),
        *([list(row.beside)] if row.beside else []),
    ]


def _listed(pins: Mapping[str, Pin]) -> list[list[Any]]:
    return [[name, p.table_id, p.version, p.kept] for name, p in sorted(pins.items())]


def pins_of(fields: Fields, name: str) -> dict[str, Pin]:
    """Return the pins that `pins_as_json` wrote; raise `Odd` for JSON of another shape."""
    found = fields.json(name)
    if not isinstance(found, dict):
        raise Odd(f"{name} is no object of pins but {shown(found)}")
    return {source: _pin(name, source, one) for source, one in found.items()}


def _pin(name: str, source: str, one: Any) -> Pin:
    # Fields knows what a text and a whole number are.
    if isinstance(one, list) and len(one) in (2, 3) and all(kept is True for kept in one[2:]):
        inner = Fields({"name": source, "id": one[0], "version": one[1]})
        try:
            inner.text("name")
            # A rule that looks at the first commit begins after version -1.
            return Pin(inner.text("id"), inner.whole("version", -1), len(one) == 3)
        except Odd:
            pass
    raise Odd(f"{name} is no pin of {shown(source)} but {shown(one)}")


def _failed(fields: Fields, n: int) -> tuple[int, ...]:
    if not fields.optional_text("failed"):
        return ()
    found = fields.json("failed")
    numbers: Sequence[Any] = found if isinstance(found, list) else [None]
    if not all(type(one) is int and 1 <= one <= n for one in numbers):
        raise Odd(f"failed is no list of runs up to {n} but {shown(found)}")
    return tuple(numbers)


def _beside(fields: Fields) -> tuple[str, ...]:
    if not fields.optional_text("beside"):
        return ()
    found = fields.json("beside")
    names: Sequence[Any] = found if isinstance(found, list) else [None]
    if not all(type(one) is str and one for one in names):
        raise Odd(f"beside is no list of kept tables but {shown(found)}")
    return tuple(names)


def _present(fields: Fields, name: str) -> str:
    found = fields.optional_text(name)
    if found is None:
        raise Odd(f"{name} is null")
    return found


def _check_window(n: int, tau: datetime | None, t: datetime) -> None:
    """Raise `Odd` unless the first run, and no other, lacks τ, and τ is not after t."""
    if (tau is None) != (n == 1):
        raise Odd(f"tau is {'null' if tau is None else 'given'}, and n is {n}")
    if tau is not None and tau > t:
        raise Odd(f"its window ends before it begins: tau is {tau}, t is {t}")
