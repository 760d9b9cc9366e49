"""One run as several of dbt's, on DuckDB: the order, what failed before, what dbt retry finds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.cli.main import dbtRunner

from tapestry.schedule.by_priority import ByPriority, parents_of
from tapestry.schedule.run_results import RunResults
from tapestry.schedule.ticks import Timing
from tapestry.schedule.timings import by_graph
from tapestry.schedule.warm import FAILED, OK, SKIPPED, Ran, Warm

from .small import make_project

MODELS = ["after_broken", "big", "broken", "loaded", "pointing"]


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    return make_project(tmp_path)


def run(
    arguments: list[str], priorities: dict[str, int], models: list[str]
) -> tuple[list[Ran], list[tuple[int, list[str]]]]:
    warm = Warm(arguments)
    told: list[tuple[int, list[str]]] = []
    going = ByPriority(
        warm,
        priorities,
        parents_of(warm.manifest),
        lambda priority, ran: told.append((priority, [one.model for one in ran])),
    )
    return going.run(models), told


def test_the_greatest_priority_goes_first_with_what_it_reads(arguments: list[str]) -> None:
    ran, told = run(arguments, {"pointing": 5, "broken": -1}, MODELS)
    assert told[0] == (5, ["loaded", "big", "pointing"])
    assert [priority for priority, _ in told] == [5, 0]
    status = {one.model: one.status for one in ran}
    assert len(ran) == len(MODELS)
    assert status == {
        **dict.fromkeys(("loaded", "big", "pointing"), OK),
        "broken": FAILED,  # as urgent as the one that reads it
        "after_broken": SKIPPED,
    }


def test_what_reads_a_model_that_failed_before_is_left_out(arguments: list[str]) -> None:
    ran, told = run(arguments, {"broken": 5}, MODELS)
    assert [priority for priority, _ in told] == [5, 0]
    (skipped,) = [one for one in ran if one.status == SKIPPED]
    assert skipped.model == "after_broken"
    assert skipped.message == "broken, which it reads, failed or was skipped"
    assert sum(one.status == OK for one in ran) == 3


def test_one_priority_is_one_run(arguments: list[str]) -> None:
    _, told = run(arguments, dict.fromkeys(MODELS, 4), MODELS)
    assert [priority for priority, _ in told] == [4]


def test_dbt_retry_finds_what_is_left(arguments: list[str], tmp_path: Path) -> None:
    warm, results = Warm(arguments), RunResults(tmp_path / "target")
    going = ByPriority(
        warm, {"broken": 5}, parents_of(warm.manifest), lambda priority, ran: results.add()
    )
    ran = going.run(MODELS)
    left = [one for one in ran if one.status == SKIPPED]
    results.write((f"model.small.{one.model}", one.message) for one in left)
    written: dict[str, Any] = json.loads((tmp_path / "target/run_results.json").read_text())
    assert sorted(one["unique_id"].split(".")[-1] for one in written["results"]) == MODELS
    (tmp_path / "models/broken.sql").write_text("select id from {{ ref('loaded') }}")
    done = dbtRunner().invoke(["retry", *arguments])
    assert done.success, done.exception
    assert sorted(one.node.name for one in done.result.results) == ["after_broken", "broken"]


def test_results_that_are_no_results(tmp_path: Path) -> None:
    results, file = RunResults(tmp_path), tmp_path / "run_results.json"
    for text in ("", "[]", "{", '{"metadata": {"invocation_id": "a"}, "results": 3}'):
        file.write_text(text)
        results.add()
    results.write([("model.a.b", "why")])
    assert file.read_text() == text, "nothing was run: nothing is written"


def test_watch_gives_a_model_the_priority_of_what_reads_it() -> None:
    planned = by_graph([Timing("a", 10), Timing("b", 10, 7)], {"b": ["view"], "view": ["a"]})
    assert [(one.name, one.priority) for one in planned] == [("a", 7), ("b", 7)]
