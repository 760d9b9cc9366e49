"""The end of `make demo`: where the report is and what it says."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console
from tests.report.made_up import HOSTILE, runs, write_target

from tapestry.demo.report import write_report
from tapestry.demo.show import show_report

deltalake = pytest.importorskip("deltalake", reason="the package deltalake is not installed")


def test_the_demo_ends_with_its_report(tmp_path: Path) -> None:
    rows = runs(f"demo.{HOSTILE}", 5)
    columns = ("invocation_id", "model", "action", "new_rows", "seconds", "ended_at", "t")
    table = pa.Table.from_pylist([{name: row[name] for name in columns} for row in rows])
    deltalake.write_deltalake(str(tmp_path / "warehouse/demo.db/tapestry_runs"), table)
    write_target(tmp_path / "demo/target", [rows[0]["model"]])
    told, page = write_report(tmp_path, "demo")
    assert page == tmp_path / "report.html"
    assert "model" in told[0]
    assert page.read_text("utf-8").startswith("<!doctype html>")
    said = io.StringIO()
    show_report(Console(file=said, width=60), [*told, "[red]not markup[/]"], page)
    assert str(page) in said.getvalue()
    assert "[red]not markup[/]" in said.getvalue()


def test_nothing_to_report_on(tmp_path: Path) -> None:
    told, _ = write_report(tmp_path, "demo")
    assert told[0].startswith("nothing")
