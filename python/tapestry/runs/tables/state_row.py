"""A row of ``tapestry_state`` from its raw values, checked against what a run can have written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tapestry.instants import micros
from tapestry.runs.engine.odd_rows import Fields, Odd, check_seal, sealed, shown
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.target import CLOSED

KEY = ("model", "generation", "n")
"""What names a row in a message."""
FORMAT = 1
"""The form of a row, and of what its run wrote beside its table: late rows, known answers, states
of groups, rejected rows. Rows of the versions before it have none; they are read as they are."""
_SEALED = (
    "model",
    "generation",
    "n",
    "run_id",
    "tau",
    "t",
    "begin",
    "target_id",
    "target_version",
    "pins",
    "last_pins",
    "canonical",
    "last_canonical",
    "last_begin",
    "began",
    "continues",
    "failed",
)
"""Not the text of the query, which is there to be read, and not what changes later."""


def parse_state(fields: Fields) -> dict[str, Any]:
    """The values of a `StateRow` by name; raises `Odd` for what no run has written.

    A row of a later format is refused before anything else of it is read.
    """
    form = fields.optional_whole("format", 1)
    if form is not None and form > FORMAT:
        raise Odd(
            f"it is of format {form}, and this version of dbt-tapestry reads those up to {FORMAT}",
            "install the version that wrote it, or a later one; --full-refresh builds the model"
            " again in the format of this one",
        )
    n = fields.whole("n", 1, CLOSED - 1)
    _check_window(n, fields.optional_instant("tau"), fields.instant("t"))
    values: dict[str, Any] = {
        "model": fields.text("model"),
        "generation": fields.text("generation"),
        "n": n,
        "run_id": fields.text("run_id"),
        "tau": fields.optional_instant("tau"),
        "t": fields.instant("t"),
        "begin": fields.optional_instant("begin"),
        "target_id": _present(fields, "target_id"),
        "target_version": fields.whole("target_version", -1),
        "pins": pins_of(fields, "pins"),
        "last_pins": pins_of(fields, "last_pins"),
        "canonical": fields.text("canonical"),
        "sql": _present(fields, "sql"),
        "last_canonical": fields.optional_text("last_canonical") or "",
        "last_begin": fields.optional_instant("last_begin"),
        "failed_at": fields.optional_instant("failed_at"),
        "began": fields.optional_instant("began"),
        "continues": fields.optional_text("continues") or "",
        "failed": _failed(fields, n),
        "beside": _beside(fields),
    }
    values["sealed"] = check_seal(fields.optional_text("seal"), _values(values))
    return values


def seal_of(values: Mapping[str, Any]) -> str:
    """The seal of a row, from the values of its `StateRow` by name."""
    return sealed(_values(values))


def _values(values: Mapping[str, Any]) -> list[Any]:
    sealed_values = [_plain(values[name]) for name in _SEALED]
    # Rows of earlier versions, and most of today's, have nothing there: their seals stay.
    return [*sealed_values, list(values["beside"])] if values["beside"] else sealed_values


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return micros(value)
    if isinstance(value, Mapping):
        return [[name, p.table_id, p.version, p.kept] for name, p in sorted(value.items())]
    return list(value) if isinstance(value, tuple) else value


def pins_as_json(pins: Mapping[str, Pin]) -> str:
    """Pins as text: name -> [table id, version], and true where late rows are kept."""
    texts = {
        name: [pin.table_id, pin.version, *([True] if pin.kept else [])]
        for name, pin in sorted(pins.items())
    }
    return json.dumps(texts)


def pins_of(fields: Fields, name: str) -> dict[str, Pin]:
    """The pins that `pins_as_json` wrote; raises `Odd` for JSON of another shape."""
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
            return Pin(inner.text("id"), inner.whole("version"), len(one) == 3)
        except Odd:
            pass
    raise Odd(f"{name} is no pin of {shown(source)} but {shown(one)}")


def _failed(fields: Fields, n: int) -> tuple[int, ...]:
    if not fields.optional_text("failed"):
        return ()
    found = fields.json("failed")
    numbers: Sequence[Any] = found if isinstance(found, list) else [None]
    if not all(type(one) is int and 1 <= one < n for one in numbers):
        raise Odd(f"failed is no list of runs before {n} but {shown(found)}")
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
    """The first run of a generation has no τ; each other begins where the one before it ended."""
    if (tau is None) != (n == 1):
        raise Odd(f"tau is {'null' if tau is None else 'given'}, and n is {n}")
    if tau is not None and tau > t:
        raise Odd(f"its window ends before it begins: tau is {tau}, t is {t}")
