"""`tapestry explain --cost`: what the last runs of a model took, by part."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from tapestry.cli import run_costs as module
from tapestry.cli.run_costs import refuse_without_runs, run_costs, show_costs
from tapestry.errors import ConfigurationError, NotRunYet
from tapestry.runs.protocol.log import PARTS, RUNS
from tapestry.runs.protocol.run import Stopwatch

OLD = [name for name in RUNS if not name.endswith("_seconds")]
# ended at, action, seconds, five parts, rows in four ways, files and bytes, verification
FIRST = ("1", "create", 4.0, *[None] * 5, 7, *[None] * 3, None, None, 2, 100, "off")
NEXT = ("2", "append", 2.0, 0.5, 0.0, 1.0, 0.75, 0.25, 3, 1, 1, 0, 3, 2048, 1, 10, "passed")
FAILED = ("3", "failed", 9.0, 0.5, 0.0, *[None] * 3, 0, *[None] * 3, 3, 2048, None, None, "failed")


class Log:
    """A session in which ``tapestry_runs`` has these columns and rows."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self.found, self.asked = rows, ""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        self.asked = sql
        return self.found


@pytest.fixture(autouse=True)
def columns(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    there = list(RUNS)
    monkeypatch.setattr(module, "columns_of_table", lambda *_: [(name, "") for name in there])
    return there


def shown(log: Log) -> tuple[Any, str]:
    costs = run_costs(log, "s.tapestry_state", "m", "`S`.`M`")  # type: ignore[arg-type]
    to = Console(record=True, width=160)
    show_costs(to, costs)
    return costs, to.export_text()


def test_runs_are_shown_by_part_with_medians() -> None:
    log = Log([FAILED, NEXT, FIRST])
    costs, text = shown(log)
    assert "model = 's.m'" in log.asked
    assert "`s`.`tapestry_runs`" in log.asked
    assert costs.medians() == {
        "plan": 0.5, "claim": 0.0, "rows": 1.0, "commit": 0.75, "confirm": 0.25, "all": 3.0,
    }  # fmt: skip
    assert [run.rows for run in costs.runs] == [0, 2, 7]
    for word in ("m: seconds of the last 3 runs", "0.75", "3 files, 2.0 KiB", "?", "failed"):
        assert word in text
    assert "Most of it goes into: rows, computing and checking the rows." in text


def test_a_log_of_an_earlier_version_has_no_parts(columns: list[str]) -> None:
    columns[:] = OLD
    log = Log([FIRST])
    costs, text = shown(log)
    for part in PARTS:
        assert f"NULL AS `{part}_seconds`" in log.asked
    assert costs.medians()["rows"] is None
    assert "Most of it" not in text


def test_a_model_without_runs_is_told() -> None:
    with pytest.raises(NotRunYet, match="has no run of m"):
        shown(Log([]))


@pytest.mark.parametrize(("kind", "says"), [("rule", "a rule model"), ("", "no model of ours")])
def test_kinds_whose_runs_have_no_parts(kind: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        refuse_without_runs("m", kind, ["continuous", "maintained"])
    refuse_without_runs("m", "maintained", ["continuous", "maintained"])


def test_parts_add_up_to_the_whole() -> None:
    watch = Stopwatch(parts={"plan": 100.0})
    for part in PARTS[1:]:
        watch.end(part)
    parts = sum(watch.parts[part] for part in PARTS[1:])
    assert 0 <= parts <= watch.seconds
    assert watch.parts["plan"] == 100.0
