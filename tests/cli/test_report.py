"""`tapestry report` in a project of its own; the record lies in Delta files, so no Spark starts."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.command import tapestry
from tests.report.made_up import NOW, checks, fail, runs, write_target

from tapestry.cli.options import DbtOptions
from tapestry.cli.project import open_project

deltalake = pytest.importorskip("deltalake", reason="the package deltalake is not installed")
pa = pytest.importorskip("pyarrow")

SCHEMA = "shop"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A dbt project with a record of two models, written as Spark would into its warehouse."""
    (tmp_path / "dbt_project.yml").write_text("name: mine\nprofile: mine\n")
    output = {"type": "tapestry", "method": "session", "schema": SCHEMA}
    profile = {"mine": {"target": "local", "outputs": {"local": output}}}
    (tmp_path / "profiles.yml").write_text(json.dumps(profile))
    write_target(tmp_path / "target", ["shop.a", "shop.b"])
    _record(tmp_path, runs("shop.a", 8) + runs("shop.b", 8))
    return tmp_path


def _record(project: Path, rows: list[dict[str, Any]], mode: str = "overwrite") -> None:
    folder = project / "warehouse" / f"{SCHEMA}.db"
    schema = pa.schema(
        [
            *(
                (name, pa.timestamp("us", "UTC"))
                if name in ("t", "tau", "ended_at", "horizon")
                else (name, pa.string() if name == "message" else pa.scalar(value).type)
                for name, value in runs("typical", 2)[1].items()
            )
        ]
    )
    table = pa.Table.from_pylist(rows, schema=schema)
    deltalake.write_deltalake(str(folder / "tapestry_runs"), table, mode=mode)
    checked = pa.Table.from_pylist(checks(rows, "enough", "enough", details="{}"))
    deltalake.write_deltalake(str(folder / "tapestry_checks"), checked, mode=mode)


def _report(project: Path, *arguments: str) -> Result:
    given = ["report", "--project-dir", str(project), "--profiles-dir", str(project)]
    return tapestry(*given, *arguments)


def test_well(project: Path) -> None:
    result = _report(project)
    assert result.exit_code == 0, result.output
    first, second = result.stdout.splitlines()[:2]
    page = project / "target/tapestry_report.html"
    assert "The models are well" in first
    assert "no run for" in second, "the rows are of March 2026, and the clock has gone on"
    assert f"report: {page}" in result.stdout
    assert "shop.a" in page.read_text("utf-8")


def test_not_well_is_exit_code_1(project: Path) -> None:
    _record(project, runs("shop.a", 8) + fail(runs("shop.b", 8), 2, "it broke\n  do: mend it"))
    result = _report(project, "--output", str(project / "deep/er/page.html"))
    assert result.exit_code == 1
    assert result.stdout.startswith(
        "1 of 2 models is not well.\n  ✕ shop.b: its last 2 runs failed"
    )
    assert (project / "deep/er/page.html").is_file()


def test_nothing_has_run(project: Path) -> None:
    import shutil

    shutil.rmtree(project / "warehouse/shop.db/tapestry_runs")
    shutil.rmtree(project / "warehouse/shop.db/tapestry_checks")
    (project / "target/run_results.json").unlink()
    result = _report(project)
    assert result.exit_code == 1
    assert "No run is on record yet." in result.stdout


def test_json(project: Path) -> None:
    result = _report(project, "--json", "--stale-after", "1 hour")
    said = json.loads(result.stdout)
    assert result.exit_code == 1
    assert said["well"] is False
    assert said["troubles"][0]["model"] is None
    assert [model["model"] for model in said["models"]] == ["shop.a", "shop.b"]
    model = said["models"][0]
    assert model["last_run"]["bytes_read"] > 0
    assert model["verified"] == {"pass": 8}
    assert model["complete_until"] < said["made_at"]
    assert Path(said["page"]).is_file()


def test_paths_are_dbts_own(project: Path) -> None:
    with open_project(DbtOptions(str(project), str(project))) as opened:
        assert Path(opened.config.log_path) == project / "logs"
        assert Path(opened.config.project_target_path) == project / "target"


def test_wrong_usage(project: Path) -> None:
    from tapestry.errors import ConfigurationError

    result = _report(project, "--stale-after", "soon")
    assert isinstance(result.exception, ConfigurationError)
    assert "--stale-after" in str(result.exception)


def test_help_has_an_example() -> None:
    result = tapestry("report", "--help")
    assert result.exit_code == 0
    assert "tapestry report --serve" in result.output


def test_serve_until_told_to_stop(project: Path) -> None:
    given = ["--project-dir", str(project), "--profiles-dir", str(project), "--port", "0"]
    command = [sys.executable, "-c", "from tapestry.cli import main; main()", "report", "--serve"]
    process = subprocess.Popen(
        [*command, *given], stdout=subprocess.PIPE, text=True, env={**os.environ}, cwd=project
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        where = re.search(r"http://127\.0\.0\.1:(\d+)(/[\w-]{32,}/) ", line)
        assert where is not None
        port, page = int(where[1]), where[2]
        before = _get(port, page)
        assert "not well" not in re.search("<h1.*?</h1>", before, re.DOTALL).group()  # type: ignore[union-attr]
        version = _get(port, page + "version")
        more = fail(runs("shop.b", 1), 1, "it broke just now")
        more[0].update(ended_at=NOW.replace(day=2), new_rows=0)
        _record(project, more, mode="append")
        assert _get(port, page + "version") != version
        assert "it broke just now" in _get(port, page)
        assert "it broke" not in _get(port, "/")
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def _get(port: int, path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    return connection.getresponse().read().decode()
