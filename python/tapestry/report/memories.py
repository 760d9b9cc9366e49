"""The memories of a schema as the network shows them, told by the log ``tapestry_memories``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tapestry.names import MEMORIES_TABLE, MEMORY_PREFIX
from tapestry.report.kept import MEMORY, TableBetween
from tapestry.report.read import Tables, TableSize
from tapestry.report.rows import TEXT

COLUMNS = ("signature", "source", "conditions", "models", "deed", "reason")
NUMBERS = ("share", "seconds", "saved_seconds")
MOST = 10_000
"""So many of the newest deeds are looked at."""
THERE = ("build", "flush")
"""The deeds after which a memory exists."""


def memories_of(
    tables: Tables, schema: str, sizes: Callable[[str], TableSize | None]
) -> list[TableBetween]:
    """Return the existing memories of a schema, with their users and their cost so far.

    Whatever cannot be read is left out: nothing depends on it.
    """
    try:
        deeds = _deeds(tables)
    except Exception:
        if not tables.alive():
            raise
        return []
    by_signature: dict[str, list[dict[str, Any]]] = {}
    for deed in deeds:
        by_signature.setdefault(str(deed["signature"]), []).append(deed)
    found = []
    for signature, same in by_signature.items():
        name = f"{schema}.{MEMORY_PREFIX}{signature}"
        size = sizes(name) if _is_hash(signature) and same[0]["deed"] in THERE else None
        if size is None:
            continue
        conditions = _texts(same[0]["conditions"])
        facts = {
            "rows": size.rows,
            "files": size.files,
            "bytes": size.bytes,
            "conditions": conditions,
            "share": _last(same, "share"),
            "saved_seconds": _last(same, "saved_seconds"),
            "spent_seconds": sum(deed["seconds"] or 0.0 for deed in same),
        }
        users = sorted({model for deed in same for model in _texts(deed["models"])})
        sources = str(same[0]["source"]).replace("`", "").lower().split(", ")
        found.append(TableBetween(MEMORY, name, tuple(users), tuple(sources), facts))
    return found


def _deeds(tables: Tables) -> list[dict[str, Any]]:
    """Return the log of memories, the newest first; empty if the table is of another kind."""
    there = tables.columns(MEMORIES_TABLE)
    if any(name not in there for name in (*COLUMNS, *NUMBERS, "at")):
        return []
    items = [f"substring({name}, 1, {TEXT}) AS {name}" for name in COLUMNS]
    items += [f"CAST({name} AS DOUBLE) AS {name}" for name in NUMBERS]
    rows = tables.rows(
        MEMORIES_TABLE,
        f"SELECT {', '.join(items)} FROM (SELECT * FROM {{table}} ORDER BY at DESC LIMIT {MOST})"
        " AS newest ORDER BY at DESC",
    )
    return [dict(zip((*COLUMNS, *NUMBERS), row, strict=True)) for row in rows]


def _is_hash(text: str) -> bool:
    return bool(text) and all(sign in "0123456789abcdef" for sign in text)


def _texts(text: object) -> list[str]:
    """Return a list of texts from JSON; empty for other values."""
    try:
        found = json.loads(str(text))
    except ValueError:
        return []
    return [str(one) for one in found] if isinstance(found, list) else []


def _last(same: Sequence[Mapping[str, Any]], name: str) -> float | None:
    known: Iterable[float] = (deed[name] for deed in same if deed[name] is not None)
    return next(iter(known), None)
