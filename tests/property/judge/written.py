"""Cases written down in tests/property/cases: a query, rows, windows and the answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from judge.case import normalized
from judge.data import Data, Row
from judge.oracle import Answers
from judge.schema import TABLES


@dataclass(frozen=True)
class Written:
    """One file."""

    why: str
    sql: str
    names: tuple[str, ...]
    data: Data
    ends: tuple[datetime, ...]
    begin: datetime | None
    assume: tuple[str, ...]
    expected: Answers
    gap: str = ""  # why the rewriter is known not to get this right yet
    pinned: bool = False


def read_case(path: Path) -> Written:
    """Read a file of tests/property/cases."""
    parts = json.loads(path.read_text())
    rows = {table: _rows(table, parts.get(f"table {table}", [])) for table in TABLES}
    ended = {(t, n): datetime.fromisoformat(end) for t, n, end in parts.get("ended", [])}
    begin = None if parts["begin"] is None else datetime.fromisoformat(parts["begin"])
    return Written(
        parts["why"],
        parts["sql"],
        tuple(parts["columns"]),
        Data(rows, late=parts["late"], ended=ended),
        tuple(datetime.fromisoformat(end) for end in parts["ends"]),
        begin,
        tuple(parts["assume"]),
        normalized([_answer(row) for row in parts["expected"]]),
        parts.get("gap", ""),
    )


def _rows(table: str, found: list[list[Any]]) -> tuple[Row, ...]:
    types = [*TABLES[table].values(), "time", "int"]
    return tuple(
        tuple(_cell(cell, its) for cell, its in zip(row, types, strict=True)) for row in found
    )


def _cell(cell: Any, type_: str) -> Any:
    if cell is None or type_ in ("int", "text"):
        return cell
    return datetime.fromisoformat(cell) if type_ == "time" else date.fromisoformat(cell)


def _answer(row: list[Any]) -> tuple[Any, ...]:
    return tuple(_moment(cell) if isinstance(cell, str) else cell for cell in row)


def _moment(cell: str) -> Any:
    try:
        return datetime.fromisoformat(cell)
    except ValueError:
        return cell
