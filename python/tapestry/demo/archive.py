"""The archive that a demonstration plays: which step brings which row, and when it arrived.

A row can be read when the archive has reached it: the latest arrival of the rows up to it. A row
that can be read only after a run although it arrived before that run is late: it counts from one
microsecond after that run on (`arr`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

import duckdb

from tapestry.quoting import standard_identifier, standard_string

TABLES = ("messages", "votes", "reminders")
EXPECTED = Path(__file__).parent / "expected"
_ARRIVAL = {"transaction": "arrived_at"}
_PLACE = {"messages": "archive_seq", "transaction": "rid"}
"""The column that orders the archive of a table; for other tables it is their arrival."""
_APART = {"messages": "partition by newsgroup"}
"""Each list has an archive of its own."""

_STEPS = """
create table {name} as
with numbered as (select row_number() over () as rid, * from read_parquet({path})),
reached as (
  select *, max({arrival}) over ({apart} order by {place}, rid rows unbounded preceding) as readable
  from numbered
),
stepped as (
  select *, coalesce((select min(n) from steps where t >= readable), 1) as step from reached
)
select s.* exclude (readable),
  case when s.{arrival} <= b.t then b.t + interval 1 microsecond else s.{arrival} end as arr
from stepped s left join steps b on b.n = s.step - 1
"""


@dataclass
class Archive:
    """Files of rows, cut into steps; ``steps`` are the instants t of the runs."""

    files: Mapping[str, Path]
    steps: Sequence[datetime]
    variables: Mapping[str, str]
    database: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)

    def __post_init__(self) -> None:
        self.database.execute("set timezone = 'UTC'")
        self.database.execute("create table steps (n integer, t timestamptz)")
        self.database.executemany("insert into steps values (?, ?)", list(enumerate(self.steps, 1)))
        # sql: the names of our own tables
        for name, path in self.files.items():
            arrival, file = _arrival(name), standard_string(str(path))
            place, apart = _PLACE.get(name, arrival), _APART.get(name, "")
            self.database.execute(
                _STEPS.format(name=name, path=file, arrival=arrival, place=place, apart=apart)
            )
        for variable, value in self.variables.items():
            # sql: the value is bound
            self.database.execute(f"set variable {standard_identifier(variable)} = ?", [value])

    def write_step(self, name: str, step: int, path: Path) -> int:
        """Write the rows that a step brings to a parquet file; their number."""
        columns = "* exclude (rid, step, arr)"
        order = _PLACE.get(name, _arrival(name))
        self.database.execute(
            f"copy (select {columns} from main.{name} where step = {step} order by {order}, rid) "
            f"to {standard_string(str(path))} (format parquet)"
        )
        return self.number(f"select count(*) from main.{name} where step = {step}")

    def late_rows(self, step: int) -> int:
        """Return the number of late rows of a step."""
        rows = (
            f"select arr, {_arrival(name)} as ts from main.{name} where step = {step}"
            for name in self.files
        )
        return self.number(
            f"select count(*) from ({' union all '.join(rows)}) where arr is distinct from ts"
        )

    def expect(self, model: str, *, at_once: bool = False) -> str:
        """Name of a view with what a model must hold at the end; at once: as if no row was late."""
        self._show_rows(at_once)
        # sql: a query of our own
        query = next(EXPECTED.rglob(f"{model}.sql")).read_text("utf-8")
        end = self.steps[-1].isoformat()
        self.database.execute(f"set variable t = timestamptz {standard_string(end)}")
        self.database.execute(f"create or replace table due.expected as {query}")
        return "due.expected"

    def _show_rows(self, at_once: bool) -> None:
        """The tables as the expected queries see them: a row without arrival is never visible."""
        self.database.execute("create schema if not exists due")
        for name in self.files:
            arrival = _arrival(name)
            replace = f"* replace ({arrival} as arr)" if at_once else "*"
            self.database.execute(
                f"create or replace view due.{name} as "
                f"select {replace} from main.{name} where {arrival} is not null"
            )
        self.database.execute("set search_path = 'due'")

    def number(self, query: str) -> int:
        """The single number that a query gives."""
        row = self.database.execute(query).fetchone()
        assert row is not None
        return int(row[0])


def _arrival(table: str) -> str:
    """The arrival column of a table."""
    return _ARRIVAL.get(table, "ts")


def even_steps(start: datetime, days: float, count: int) -> list[datetime]:
    """Instants that cut a span into even steps."""
    return [start + timedelta(days=days * n / count) for n in range(1, count + 1)]


def monthly_steps(path: Path) -> list[datetime]:
    """The first of each month after the first message, up to the one after the last message."""
    file = standard_string(str(path))
    first, last = duckdb.execute(
        f"select min(ts at time zone 'UTC'), max(ts at time zone 'UTC') from read_parquet({file})"
    ).fetchone() or (None, None)
    if first is None or last is None:
        return []
    months = range(first.year * 12 + first.month, last.year * 12 + last.month + 1)
    return [datetime(m // 12, m % 12 + 1, 1, tzinfo=timezone.utc) for m in months]
