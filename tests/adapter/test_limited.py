"""Which commands limit what models read, and that every materialization that remembers asks it."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.tapestry.limited import FORGETFUL, limiting_option

MATERIALIZATIONS = Path(__file__).parents[2] / "macros" / "materializations"


@pytest.mark.parametrize(
    ("flags", "option"),
    [
        ({}, None),
        ({"EMPTY": False, "SAMPLE": None}, None),
        ({"EMPTY": True}, "--empty"),
        ({"EMPTY": False, "SAMPLE": object()}, "--sample"),
        ({"EVENT_TIME_START": object(), "EVENT_TIME_END": object()}, None),
    ],
)
def test_what_limits(flags: dict[str, Any], option: str | None) -> None:
    assert limiting_option(Namespace(**flags)) == option


def test_every_kind_that_remembers_asks_first() -> None:
    found = {path.stem: path.read_text("utf-8") for path in MATERIALIZATIONS.glob("*.sql")}
    assert {"continuous", "incremental", "snapshot", *FORGETFUL} <= set(found)
    for kind, text in found.items():
        for shared in ("tapestry__run_model", "tapestry__run_on_commits"):
            if f"return({shared}())" in text:
                text = (MATERIALIZATIONS.parent / f"{shared}.sql").read_text("utf-8")
        if "raise_compiler_error(" in text:
            continue  # refused, whatever is asked
        asked, hooks = text.find("adapter.limited_by()"), text.find("run_hooks(")
        assert (asked < 0) is (kind in FORGETFUL), kind
        assert hooks < 0 or kind in FORGETFUL or asked < hooks, kind
