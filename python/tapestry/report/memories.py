"""The memories of a schema for the network, from the log of what was done to them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tapestry.names import MEMORIES_TABLE, MEMORY_PREFIX
from tapestry.report.network import MEMORY, KeptTable, Sizes, size_facts
from tapestry.report.read import Tables
from tapestry.report.rows import NAME, TEXT
from tapestry.runs.engine.odd_rows import Fields, Odd, OddRow, read_row

COLUMNS = ("signature", "at", "source", "conditions", "models", "action", "saved_seconds", "share")
GONE = ("drop", "leave")
"""Deeds after which there is no memory."""


def memories_of(tables: Tables, schema: str, sizes: Sizes) -> list[KeptTable]:
    """What was built and is still there; a row that no run has written is left out."""
    newest: dict[str, dict[str, Any]] = {}
    read = (read_row(MEMORIES_TABLE, ("signature",), one, _parse) for one in _rows(tables))
    rows = [row for row in read if not isinstance(row, OddRow)]
    for row in sorted(rows, key=lambda row: row["at"]):
        known = newest.get(row["signature"], row)
        measured = known["share"] if row["share"] is None else row["share"]
        newest[row["signature"]] = {**row, "share": measured}
    found = []
    for signature, row in sorted(newest.items()):
        name = f"{schema}.{MEMORY_PREFIX}{signature}"
        size = None if row["action"] in GONE else sizes(name)
        if size is not None:
            facts = {
                **size_facts(size),
                "conditions": row["conditions"],
                "share": row["share"],
                "saved_seconds": row["saved_seconds"],
                "written_at": row["at"],
            }
            found.append(KeptTable(MEMORY, name, row["models"], (row["source"],), facts))
    return found


def _rows(tables: Tables) -> list[Mapping[str, Any]]:
    """The log's rows; none where it is not there, or is another table."""
    there = tables.columns(MEMORIES_TABLE)
    if not set(COLUMNS) <= set(there) or not there["at"].startswith("timestamp"):
        return []
    items = [f"{tables.micros('at')} AS at" if one == "at" else one for one in COLUMNS]
    rows = tables.rows(MEMORIES_TABLE, f"SELECT {', '.join(items)} FROM {{table}}")
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def _parse(fields: Fields) -> dict[str, Any]:
    at: datetime = fields.instant("at")
    return {
        "signature": fields.text("signature", NAME),
        "at": at,
        "source": fields.text("source", NAME),
        "conditions": fields.optional_text("conditions", TEXT),
        "models": _names(fields),
        "action": fields.text("action", NAME),
        "share": fields.optional_number("share", 0, 1),
        "saved_seconds": fields.optional_number("saved_seconds", -1e9, 1e9),
    }


def _names(fields: Fields) -> tuple[str, ...]:
    found = fields.json("models")
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise Odd("models is no list of names")
    return tuple(found)
