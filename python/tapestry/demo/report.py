"""The report on what a demonstration has run."""

from __future__ import annotations

from pathlib import Path

from tapestry.report.make import make_report
from tapestry.report.read import tables_at_hand
from tapestry.runs.after.documents import build_data_docs
from tapestry.runs.engine.locations import WAREHOUSE

FILE = "report.html"


def write_report(folder: Path, schema: str) -> tuple[list[str], Path]:
    """Write the page into the demonstration's folder: what it says, and where it is.

    The Data Docs that it links to are rendered before. It is read from the files of the warehouse,
    as `tapestry report` does it without Spark.
    """
    settings = {WAREHOUSE: str(folder.resolve() / "warehouse")}
    tables = tables_at_hand(settings, schema, folder)
    if tables is None:
        return ["nothing: the package deltalake is not installed, or nothing has run"], folder
    build_data_docs(folder / schema / "target")
    report = make_report(tables, folder / schema / "target", schema)
    report.write(folder / FILE)
    return report.told(), folder / FILE
