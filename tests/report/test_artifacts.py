"""dbt's target folder: read where it is whole, taken as empty where it is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.report.made_up import NOW, write_target

from tapestry.report.artifacts import read_artifacts


def test_nothing_there(tmp_path: Path) -> None:
    artifacts = read_artifacts(tmp_path / "none")
    assert (artifacts.nodes, artifacts.results, artifacts.finished_at) == ({}, (), None)


def test_half_written_files_count_as_not_there(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"nodes": {')
    (tmp_path / "run_results.json").write_text("[]")
    assert read_artifacts(tmp_path).nodes == {}


def test_nodes_results_and_the_sql_that_ran(tmp_path: Path) -> None:
    target = write_target(tmp_path, ["s.a", "s.b"])
    (target / "run/shop/models").mkdir(parents=True)
    (target / "run/shop/models/m0.sql").write_text("INSERT")
    artifacts = read_artifacts(target)
    node = artifacts.by_relation()["s.a"]
    assert node.ours
    assert artifacts.nodes["model.shop.m1"].parents == ("model.shop.m0",)
    assert artifacts.sql_that_ran(node) == "INSERT"
    assert artifacts.sql_that_ran(artifacts.by_relation()["s.b"]) is None
    assert artifacts.finished_at == NOW
    assert artifacts.project == "shop"


def test_links_to_documentation_that_exists(tmp_path: Path) -> None:
    assert read_artifacts(tmp_path).links == {}
    docs = tmp_path / "great_expectations/uncommitted/data_docs/local_site"
    (docs / "validations/x").mkdir(parents=True)
    for page in (docs / "index.html", docs / "validations/x/index.html", tmp_path / "index.html"):
        page.write_text("<p>")
    assert read_artifacts(tmp_path).links == {"Data Docs": docs / "index.html"}
    (tmp_path / "catalog.json").write_text("{}")
    assert set(read_artifacts(tmp_path).links) == {"Data Docs", "dbt docs"}


def test_tests_of_a_model(tmp_path: Path) -> None:
    target = write_target(tmp_path, ["s.a"])
    manifest = json.loads((target / "manifest.json").read_text())
    manifest["nodes"]["test.shop.t.1"] = {
        "resource_type": "test",
        "depends_on": {"nodes": ["model.shop.m0"]},
    }
    (target / "manifest.json").write_text(json.dumps(manifest))
    results = json.loads((target / "run_results.json").read_text())
    results["results"].append({"unique_id": "test.shop.t.1", "status": "fail", "message": "no"})
    (target / "run_results.json").write_text(json.dumps(results))
    assert read_artifacts(target).results[-1].tests == "model.shop.m0"


def test_the_sinks_of_a_model(tmp_path: Path) -> None:
    target = write_target(tmp_path, ["s.a", "s.b", "s.c"])
    manifest = json.loads((target / "manifest.json").read_text())
    first, second, third = (manifest["nodes"][f"model.shop.m{i}"]["config"] for i in range(3))
    first["deliver"] = [{"name": "ops", "to": "webhook"}, {"name": "files", "to": "file"}]
    second["meta"] = {"deliver": [{"name": "team", "to": "mail"}]}
    third["deliver"] = ["no sink"]
    (target / "manifest.json").write_text(json.dumps(manifest))
    nodes = read_artifacts(target).by_relation()
    assert nodes["s.a"].sinks == ("ops", "files")
    assert nodes["s.b"].sinks == ("team",)
    assert nodes["s.c"].sinks == ()


@pytest.mark.parametrize(
    ("which", "told"), [("run", True), ("compile", False), ("generate", False)]
)
def test_results_of_a_command_that_runs_nothing(tmp_path: Path, which: str, told: bool) -> None:
    target = write_target(tmp_path, ["s.a"])
    results = json.loads((target / "run_results.json").read_text())
    (target / "run_results.json").write_text(json.dumps({**results, "args": {"which": which}}))
    artifacts = read_artifacts(target)
    assert (bool(artifacts.results), artifacts.finished_at is not None) == (told, told)
