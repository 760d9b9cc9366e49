"""A report of made-up runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.report.made_up import NOW, Row, write_target

from tapestry.report.artifacts import read_artifacts
from tapestry.report.judge import judge
from tapestry.report.make import Report
from tapestry.report.record import Record


def report_of(folder: Path, runs: list[Row], checks: list[Row], *, project: str = "shop") -> Report:
    """The report of made-up rows, with dbt's target folder beside it."""
    models = list(dict.fromkeys(row["model"] for row in runs))
    artifacts = read_artifacts(write_target(folder / "target", models, project=project))
    sql = {row["model"]: row["sql"] for row in runs}
    record = replace(Record.from_rows(runs, checks), sql=sql)
    schema = models[0].partition(".")[0] if models else project
    return Report(judge(record, artifacts, NOW), record, artifacts, schema)
