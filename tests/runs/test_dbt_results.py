"""What dbt said of a node is known until it says something else of it."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from tests.report.made_up import write_target

from tapestry.report.artifacts import read_artifacts
from tapestry.report.judge import judge
from tapestry.report.record import Record
from tapestry.report.standing import NOT_WELL, WELL
from tapestry.runs.after.dbt_results import KEPT, LONGEST, keep_results, kept_results

NOW = datetime(2026, 3, 3, 12, tzinfo=timezone.utc)


def dbt(target: Path, which: str, minute: int, **statuses: str) -> None:
    """One command of dbt: what its beginning keeps, and what its end leaves."""
    keep_results(target)
    results = [
        {
            "unique_id": f"model.shop.{name}" if which != "test" else f"test.shop.{name}",
            "status": status,
            "message": f"{which} of {name} at {minute}",
            "adapter_response": {"code": "nothing" if status == "success" else "", "more": 1},
        }
        for name, status in statuses.items()
    ]
    told = {"generated_at": f"2026-03-03T11:{minute:02d}:00Z", "invocation_id": f"i{minute}"}
    content = {"metadata": told, "args": {"which": which}, "results": results}
    (target / "run_results.json").write_text(json.dumps(content))


def states(target: Path) -> dict[str, tuple[str, list[str]]]:
    """How the models stand, and why."""
    verdict = judge(Record(), read_artifacts(target), NOW)
    return {one.name: (one.state, [t.why for t in one.troubles]) for one in verdict.models}


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """The folder of a project with two models, in which dbt has run nothing yet."""
    folder = write_target(tmp_path, ["s.a", "s.b"])
    (folder / "run_results.json").unlink()
    return folder


@pytest.mark.parametrize("after", ["test", "run", "build", "compile", "show", "seed"])
def test_a_model_that_failed_is_not_well_until_it_has_run(target: Path, after: str) -> None:
    ids = {node.relation: node.id.split(".")[-1] for node in read_artifacts(target).nodes.values()}
    a, b = ids["s.a"], ids["s.b"]
    dbt(target, "run", 1, **{a: "error", b: "success"})
    failed = (NOT_WELL, [f"run of {a} at 1"])
    assert states(target)["s.a"] == failed
    others: dict[str, Any] = {b: "success"} if after in ("run", "build") else {"some": "pass"}
    for minute in (2, 3):
        dbt(target, after, minute, **others)
        assert states(target)["s.a"] == failed
        assert states(target)["s.b"][0] == WELL
    dbt(target, "run", 4, **{a: "success"})
    assert states(target)["s.a"] == (WELL, [])
    dbt(target, "test", 5)
    assert states(target)["s.a"] == (WELL, [])


@pytest.mark.parametrize(
    "content", ["", "[]", '{"results": 3}', '{"results": {"a": 3}}', "[" * 9999]
)
def test_a_file_that_is_odd_counts_as_empty(target: Path, content: str) -> None:
    (target / KEPT).write_text(content)
    assert kept_results(target) == {}
    dbt(target, "run", 1, a="error")
    keep_results(target)
    assert kept_results(target)["model.shop.a"] == {
        "status": "error",
        "message": "run of a at 1",
        "adapter_response": {"code": ""},
        "at": "2026-03-03T11:01:00Z",
        "invocation_id": "i1",
    }


def test_what_cannot_be_kept_is_left_out(target: Path) -> None:
    dbt(target, "run", 1, a="error")
    (target / KEPT).mkdir()
    keep_results(target)
    (target / KEPT).rmdir()
    long = {"unique_id": "model.p.a", "status": "error", "message": "x" * 9 * LONGEST}
    content = {"metadata": {"generated_at": "2026-03-03T11:01:00Z"}, "results": [long]}
    (target / "run_results.json").write_text(json.dumps(content))
    keep_results(target)
    assert len(kept_results(target)["model.p.a"]["message"]) == LONGEST
    assert not list(target.glob(".*partial"))
