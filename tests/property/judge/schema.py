"""The tables of the judge: three append-only ones and a static one, with names that collide."""

from __future__ import annotations

from datetime import datetime

HOUR = 3_600_000_000
GRID = 6 * HOUR  # times lie on a grid of six hours around a new year that begins on a Monday
BASE = datetime(2023, 12, 30)

TABLES: dict[str, dict[str, str]] = {
    "m": {
        "id": "int",
        "k": "int",
        "v": "int",
        "txt": "text",
        "d": "date",
        "due": "time",
        "ts": "time",
    },
    "r": {
        "rid": "int",
        "id": "int",
        "k": "int",
        "v": "int",
        "d": "date",
        "due": "time",
        "ts": "time",
    },
    "u": {"id": "int", "k": "int", "w": "int", "txt": "text", "due": "time", "seen": "time"},
    "x": {"id": "int", "k": "int", "v": "int", "txt": "text", "d": "date", "due": "time"},
}
ARRIVAL: dict[str, str | None] = {"m": "ts", "r": "ts", "u": "seen", "x": None}
SPARK_TYPES = {"int": "int", "text": "string", "date": "date", "time": "timestamp"}
DUCK_TYPES = {"int": "INTEGER", "text": "VARCHAR", "date": "DATE", "time": "TIMESTAMP"}
