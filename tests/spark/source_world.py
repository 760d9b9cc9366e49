"""A small world for the tests of sources: one source, runs over it that land or crash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.late.examine import examine
from tapestry.runs.kinds.continuous.late.scans import Examination
from tapestry.runs.kinds.continuous.late.since_last_run import AskingRun, PinnedSource
from tapestry.runs.sources.describe import DeltaSource, describe
from tapestry.runs.sources.pins import Pin, newest_version

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
COLUMNS = "id INT, ts TIMESTAMP, body STRING"
MICRO = timedelta(microseconds=1)


def at(minutes: float) -> datetime:
    """The instant that many minutes after the start of this world."""
    return START + timedelta(minutes=minutes)


def literal(instant: datetime | None) -> str:
    """An instant as SQL."""
    if instant is None:
        return "CAST(NULL AS TIMESTAMP)"
    return f"TIMESTAMP '{instant:%Y-%m-%d %H:%M:%S.%f}+00:00'"


def row(number: int | None, minutes: float | None, body: str | None = "x") -> str:
    """A row of the source as SQL."""
    ts = literal(None if minutes is None else at(minutes))
    text = "CAST(NULL AS STRING)" if body is None else f"'{body}'"
    return f"({'CAST(NULL AS INT)' if number is None else number}, {ts}, {text})"


class World:
    """A source and the state that a model keeps of it between runs."""

    def __init__(
        self, session: Any, schema: str, *, columns: str = COLUMNS, arrival: str | None = "ts"
    ) -> None:
        self.session = session
        self.source = f"{schema}.source"
        self.target = f"{schema}.target"
        self.arrival = arrival
        self.generation, self.n = "g1", 0
        self.pin: Pin | None = None
        self.tau: datetime | None = None
        self.create(columns)

    def create(self, columns: str = COLUMNS, properties: str = "", more: str = "") -> None:
        """Make the source (again)."""
        listed = f" TBLPROPERTIES ({properties})" if properties else ""
        self.session.run(f"DROP TABLE IF EXISTS {self.source}")
        self.session.run(f"CREATE TABLE {self.source} ({columns}) USING delta {more}{listed}")

    def sql(self, text: str) -> None:
        """Execute a statement in which {source} stands for the source."""
        self.session.run(text.replace("{source}", self.source))

    def insert(self, *rows: str) -> None:
        """Append rows in one commit."""
        self.sql(f"INSERT INTO {{source}} VALUES {', '.join(rows)}")

    def table(self) -> DeltaSource:
        """The source as it stands."""
        table = describe(self.session, self.source)
        assert isinstance(table, DeltaSource)
        return table

    def newest(self) -> Pin:
        """The newest version of the source."""
        return Pin(self.table().table_id, newest_version(self.session, self.source))

    def examine(
        self,
        rules: ContinuousConfig | None = None,
        *,
        table: DeltaSource | None = None,
        pin: Pin | None = None,
        looks_back: bool = False,
    ) -> Examination:
        """Examine for the next run, without executing what belongs before its commit."""
        source = PinnedSource(
            table or self.table(), self.arrival, self.pin, pin or self.newest(), looks_back
        )
        run = AskingRun(self.target, self.generation, self.n + 1, self.tau)
        return examine(self.session, source, run, rules or ContinuousConfig())

    def run(
        self,
        minutes: float,
        rules: ContinuousConfig | None = None,
        *,
        looks_back: bool = False,
    ) -> Examination:
        """One run that lands and ends at ``minutes``."""
        table = self.table()
        pin = Pin(table.table_id, newest_version(self.session, self.source))
        examination = self.examine(rules, table=table, pin=pin, looks_back=looks_back)
        self.land(examination, pin, minutes)
        return examination

    def land(self, examination: Examination, pin: Pin, minutes: float) -> None:
        """Execute what belongs before the commit, and remember the run."""
        for statement in examination.before:
            self.session.run(statement)
        self.pin, self.tau, self.n = pin, at(minutes), self.n + 1

    def arrivals(
        self, examination: Examination, columns: Sequence[str] = ("id", "body")
    ) -> Counter[tuple[Any, ...]]:
        """The bag of (columns, arrival in minutes) that a query sees; checks the row ids too."""
        scan = examination.scan
        rows = self.session.rows(
            f"SELECT {', '.join(columns)}, unix_micros({scan.arrival}), {scan.row_id}"
            f" FROM {scan.relation}"
        )
        ids = [found[-1] for found in rows]
        assert len(set(ids)) == len(ids)
        assert None not in ids
        return Counter((*found[:-2], minutes_of(found[-2])) for found in rows)


def minutes_of(micros: int | None) -> float | None:
    """Microseconds since the epoch as minutes since the start; a late arrival has + 1 µs."""
    if micros is None:
        return None
    return (micros - int(START.timestamp()) * 1_000_000) / 60_000_000


def late(minutes: float) -> float:
    """When a row arrives that was missing at ``minutes``."""
    return (minutes * 60_000_000 + 1) / 60_000_000


def bag(*rows: tuple[Any, ...]) -> Counter[tuple[Any, ...]]:
    """A bag of rows."""
    return Counter(rows)
