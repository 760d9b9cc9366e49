"""`tapestry doctor`: tables that rules read say themselves when their commits were made."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli.answers import manifest

from tapestry.cli import check_rules
from tapestry.errors import Refusal
from tapestry.runs.sources.describe import DeltaSource
from tapestry.sql import View


def _project() -> Any:
    found: Any = manifest(None)
    for name in ("first", "second"):
        found.graph["nodes"][f"model.p.{name}"]["config"]["materialized"] = "rule"
    return found


def _found(monkeypatch: pytest.MonkeyPatch, tables: dict[str, Any]) -> list[Any]:
    def describe(session: Any, name: str) -> Any:
        found = tables.get(name)
        if found is None:
            raise Refusal(f"there is no table {name}", code="unknown-relation")
        return found

    monkeypatch.setattr(check_rules, "describe", describe)
    session: Any = None
    return list(check_rules.check_rules(session, _project()))


@pytest.mark.parametrize(("said", "status"), [("true", "ok"), ("false", "note"), (None, "note")])
def test_in_commit_timestamps_are_proposed(
    monkeypatch: pytest.MonkeyPatch, said: str | None, status: str
) -> None:
    properties = {} if said is None else {check_rules.OWN_TIMES: said}
    table = DeltaSource("db.messages", (), "id", "", properties)
    found = _found(monkeypatch, {"db.messages": table, "db.view": View("db.view", "select 1")})
    assert [(one.check, one.status) for one in found] == [("source db.messages", status)]
    assert ("`db`.`messages`" in found[0].fix) == (status == "note")
    assert "first" in found[0].told


def test_a_table_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _found(monkeypatch, {})
    assert [one.status for one in found] == ["wrong", "wrong"]
