"""Memories in the network: what the log of them tells, and what it may not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tapestry.report.memories import COLUMNS, NUMBERS, memories_of
from tapestry.report.network import NetworkNode
from tapestry.report.network_text import figures
from tapestry.report.read import TableSize

SIGN, OTHER = "ab12", "cd34"
SIZES = {
    f"shop.tapestry_memory__{one}": TableSize(1, 2**20, 300) for one in (SIGN, OTHER, "x;drop")
}


class Log:
    """``tapestry_memories``, the newest deed first."""

    def __init__(self, *deeds: Mapping[str, Any], columns: tuple[str, ...] = ()) -> None:
        self.deeds, self.there = deeds, columns or (*COLUMNS, *NUMBERS, "at")

    def columns(self, table: str) -> Mapping[str, str]:
        assert table == "tapestry_memories"
        return dict.fromkeys(self.there, "string")

    def micros(self, expression: str) -> str:
        return expression

    def alive(self) -> bool:
        return True

    def rows(self, table: str, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(deed[name] for name in (*COLUMNS, *NUMBERS)) for deed in self.deeds]


def deed(action: str, signature: str = SIGN, **more: Any) -> dict[str, Any]:
    found = {
        "signature": signature,
        "source": "`Raw`.`T`",
        "conditions": json.dumps(["`amount` > 10"]),
        "models": json.dumps(["shop.a"]),
        "deed": action,
        "reason": "",
        "share": None,
        "seconds": 1.5,
        "saved_seconds": None,
    }
    return {**found, **more}


def test_who_uses_it_and_what_it_cost() -> None:
    log = Log(
        deed("flush", models=json.dumps(["shop.b"])),
        deed("build", share=0.01, saved_seconds=2.0, seconds=12.0),
        deed("leave", OTHER),
    )
    (one,) = memories_of(log, "shop", SIZES.get)
    assert (one.users, one.sources) == (("shop.a", "shop.b"), ("raw.t",))
    assert one.facts["spent_seconds"] == 13.5
    said = figures(NetworkNode(one.name, "memory", one.name, one.facts))
    assert said.startswith(
        "300 rows, 1 file, 1.0 MiB, 1.00% of its source, saves about 2.0 s a run"
    )
    assert said.endswith(": `amount` > 10")


@pytest.mark.parametrize(
    "log",
    [
        Log(deed("drop"), deed("build")),
        Log(deed("build", "x;drop")),
        Log(deed("build", "ef56")),
        Log(deed("build"), columns=("at", "signature")),
        Log(),
    ],
    ids=["dropped since", "no signature", "no table", "another table", "nothing"],
)
def test_what_is_not_there_is_not_shown(log: Log) -> None:
    assert memories_of(log, "shop", SIZES.get) == []


def test_rows_that_nobody_expects() -> None:
    log = Log(deed("build", conditions="no json", models='{"a": 1}'))
    (one,) = memories_of(log, "shop", SIZES.get)
    assert (one.users, one.facts["conditions"]) == ((), [])
