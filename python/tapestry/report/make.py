"""Makes the verdict, the page and the text for a terminal from tables and a target folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from tapestry.report.artifacts import Artifacts, read_artifacts
from tapestry.report.judge import judge
from tapestry.report.kept import TableBetween
from tapestry.report.memories import memories_of
from tapestry.report.network import sums_of
from tapestry.report.page import Live, make_page, write_page
from tapestry.report.read import Tables, TableSize, read_record, table_size
from tapestry.report.read_actions import read_actions
from tapestry.report.record import CLOCKS_DIFFER, Record
from tapestry.report.standing import Verdict
from tapestry.report.summary import summary
from tapestry.report.text import instant
from tapestry.runs.tables.beside_target import GROUPS
from tapestry.sql.choose_strategy import CUMULATIVE

FILE = "tapestry_report.html"
TOLD = 5


@dataclass(frozen=True)
class Report:
    """A verdict with the data that it was made from."""

    verdict: Verdict
    record: Record
    artifacts: Artifacts
    schema: str

    def html(self, folder: Path | None = None, live: Live | None = None) -> str:
        """Return the page, as it would stand in a folder."""
        return make_page(
            self.verdict,
            self.record,
            self.artifacts,
            schema=self.schema,
            folder=folder,
            live=live,
        )

    def write(self, path: Path) -> None:
        """Write the page (``write_page``)."""
        write_page(path, self.html(path.parent.resolve()))

    def summary(self, page: Path | None = None) -> dict[str, Any]:
        """Return the report as plain data."""
        return summary(
            self.verdict, self.artifacts.project or self.schema, str(page) if page else None
        )

    def told(self) -> list[str]:
        """Return the report in a few lines: the answer, and the first troubles."""
        troubles = self.verdict.all_troubles
        lines = [self.verdict.sentence]
        for trouble in troubles[:TOLD]:
            since = f", since {instant(trouble.since)} UTC" if trouble.since else ""
            where = f"{trouble.model}: " if trouble.model else ""
            lines.append(f"  {'✕' if trouble.serious else '!'} {where}{trouble.title}{since}")
        if len(troubles) > TOLD:
            lines.append(f"  … and {len(troubles) - TOLD} more")
        return lines


def make_report(
    tables: Tables,
    target: Path,
    schema: str,
    *,
    now: datetime | None = None,
    stale_after: timedelta | None = None,
) -> Report:
    """Read all data and return the report."""
    now = now or datetime.now(timezone.utc)
    record, artifacts = read_record(tables, now), read_artifacts(target)
    actions, unread = read_actions(tables, now + CLOCKS_DIFFER)
    record = replace(
        record,
        kept=kept_tables(tables, schema, record, artifacts),
        actions=actions,
        unread=(*record.unread, *unread),
    )
    verdict = judge(record, artifacts, now, stale_after)
    return Report(verdict, record, artifacts, schema)


def kept_tables(
    tables: Tables, schema: str, record: Record, artifacts: Artifacts
) -> tuple[TableBetween, ...]:
    """The memories of the schema that is reported on, and the sums of models that keep some."""
    keeping = {run.model for run in record.runs if run.strategy == CUMULATIVE.name}
    sums = {GROUPS.table_of(model) for model in keeping}

    def size(name: str) -> TableSize | None:
        return table_size(tables, name.rpartition(".")[2])

    def of_sums(name: str) -> TableSize | None:
        here = name.rpartition(".")[0].lower() == schema.lower()
        return size(name) if here and name in sums else None

    return (*memories_of(tables, schema, size), *sums_of(artifacts, of_sums))
