"""`tapestry datadocs`: kept results become pages, without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command import tapestry

from tapestry.runs.after.documents import write_results
from tapestry.runs.checks.checks import CheckResult, Findings
from tapestry.runs.protocol.log import Entry
from tapestry.runs.tables.run_identity import RunIdentity


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "dbt_project.yml").write_text("{name: docs, profile: p, config-version: 2}")
    (tmp_path / "profiles.yml").write_text(
        "p: {target: t, outputs: {t: {type: tapestry, schema: demo, threads: 1}}}"
    )
    return tmp_path


def _datadocs(project: Path, *arguments: str) -> tuple[int, str]:
    given = ["datadocs", "--project-dir", str(project), "--profiles-dir", str(project)]
    result = tapestry(*given, *arguments)
    return result.exit_code, result.output


def _entry(results: tuple[CheckResult, ...]) -> Entry:
    return Entry(RunIdentity("demo.m", "g", 3, "r"), Findings(results), 0.1)


def test_nothing_yet(project: Path) -> None:
    code, output = _datadocs(project)
    assert code == 1
    assert "no run has checked anything yet" in output


def test_pages(project: Path) -> None:
    results = (
        CheckResult("enough", "enough", "fail", "pass", 8, 0, level="sample"),
        CheckResult("assume", "r.ts >= m.ts", "fail", "fail", None, 2, {"row": "<b>bold</b>"}),
        CheckResult("expectation", "wrong", "warn", "error", 8, 0, {"message": "why so"}),
    )
    write_results(project / "target", "one", [_entry(results)])
    code, output = _datadocs(project, "--json")
    assert code == 0
    page = Path(json.loads(output.splitlines()[-1])["page"])
    assert page.exists()
    (shown,) = page.parent.glob("validations/**/*.html")
    assert "assume: r.ts &gt;= m.ts" in shown.read_text()
    assert "why so" in shown.read_text()
    assert "<b>bold" not in shown.read_text()
    assert _datadocs(project)[0] == 0
