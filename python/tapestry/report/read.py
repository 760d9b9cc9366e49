"""Read the record of a schema: from its Delta files where they lie at hand, else by the session.

The embedded Spark keeps its tables in a folder that this process can read itself: a third of a
second instead of the ten to twenty that Spark takes to start. Both ways speak the same few SELECTs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tapestry.names import CHECKS_TABLE, DELIVERIES_TABLE, QUERIES_TABLE, RUNS_TABLE
from tapestry.quoting import relation_name
from tapestry.report.record import CHECK_COLUMNS, DELIVERY_COLUMNS, RUN_COLUMNS, Record
from tapestry.report.rows import TEXT, Unread
from tapestry.runs.engine.errors_of_delta import files_gone, not_found
from tapestry.runs.engine.locations import WAREHOUSE, local_folder, own_catalog
from tapestry.runs.engine.odd_rows import OddRow
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.queries import COLUMNS, QueryRow, queries_of

Found = TypeVar("Found")
TEXTS = ("string", "varchar")
MOST_RUNS, MOST_CHECKS = 50_000, 200_000


@dataclass(frozen=True)
class TableSize:
    """Files and bytes of the newest version; ``rows`` is None where the log does not say."""

    files: int
    bytes: int
    rows: int | None = None


class Tables(Protocol):
    """The tables of a schema: their columns, and rows of SELECTs on ``{table}``."""

    def columns(self, table: str) -> Mapping[str, str]:
        """Return a table's columns with types, in lower case; none if there is no such table."""
        ...

    def micros(self, expression: str) -> str:
        """Return SQL for a timestamp as microseconds since 1970, even beyond Python's range."""
        ...

    def alive(self) -> bool:
        """Return whether other queries work after an error, so that the table is to blame."""
        ...

    def rows(self, table: str, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a SELECT in which ``{table}`` stands for the table."""
        ...

    def size(self, table: str) -> TableSize | None:
        """Return the size of a table; None if it is not there, or is no Delta table."""
        ...


class DeltaFolder:
    """Tables in a folder of this machine, read without Spark (delta-rs).

    Raises ImportError where the package deltalake is not installed.
    """

    def __init__(self, folder: Path) -> None:
        import deltalake

        self._library = deltalake
        self.folder = folder
        self._open: dict[str, Any] = {}

    def columns(self, table: str) -> Mapping[str, str]:
        """Return a table's columns with types, in lower case; none if there is no such table."""
        if not (self.folder / table / "_delta_log").is_dir():
            return {}
        self._open[table] = self._library.DeltaTable(str(self.folder / table))
        fields = self._open[table].schema().fields
        return {field.name: str(getattr(field.type, "type", "")).lower() for field in fields}

    def micros(self, expression: str) -> str:
        """Return SQL for a timestamp as microseconds since 1970."""
        return f"CAST({expression} AS BIGINT)"

    def alive(self) -> bool:
        """Return True: each table is opened by itself."""
        return True

    def rows(self, table: str, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a SELECT, instants as aware datetimes in UTC."""
        import pyarrow

        builder = self._library.QueryBuilder().register(table, self._open[table])
        found = pyarrow.table(builder.execute(sql.format(table=table)).read_all())
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def size(self, table: str) -> TableSize | None:
        """Return the size of a table as its log has it; None where there is no such table."""
        if not (self.folder / table / "_delta_log").is_dir():
            return None
        import pyarrow

        added = self._library.DeltaTable(str(self.folder / table)).get_add_actions(flatten=True)
        found = pyarrow.table(added)
        sizes = found.column("size_bytes").to_pylist()
        there = "num_records" in found.column_names
        rows = found.column("num_records").to_pylist() if there else [None] * len(sizes)
        return TableSize(len(sizes), sum(sizes), None if None in rows else sum(rows))


class SessionTables:
    """Tables through a session, whatever engine stands behind it."""

    def __init__(self, session: Session, schema: str) -> None:
        self._session, self._schema = session, schema

    def columns(self, table: str) -> Mapping[str, str]:
        """Return a table's columns with types, in lower case; none if there is no such table."""
        try:
            rows = self._session.rows(f"DESCRIBE TABLE {self._name(table)}")
        except Exception as error:
            if not_found(error) or files_gone(error):
                return {}
            raise
        listed = takewhile(lambda row: row[0] and not str(row[0]).startswith("#"), rows)
        return {str(row[0]): str(row[1]).lower() for row in listed}

    def micros(self, expression: str) -> str:
        """Return SQL for a timestamp as microseconds since 1970."""
        return f"unix_micros({expression})"

    def alive(self) -> bool:
        """Return whether the engine answers."""
        try:
            return self._session.rows("SELECT 1") == [(1,)]
        except Exception:
            return False

    def rows(self, table: str, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a SELECT."""
        return self._session.rows(sql.format(table=self._name(table)))

    def size(self, table: str) -> TableSize | None:
        """Return the size of a table; None for a table that is no Delta table.

        Delta counts rows by its log alone where every file has statistics.
        """
        name = self._name(table)
        ((kind, files, size),) = [
            (row[0], row[9], row[10]) for row in self._session.rows(f"DESCRIBE DETAIL {name}")
        ]
        if str(kind).lower() != "delta":
            return None
        ((rows,),) = self._session.rows(f"SELECT count(*) FROM {name}")
        return TableSize(int(files), int(size), int(rows))

    def _name(self, table: str) -> str:
        return relation_name(f"{self._schema}.{table}")


def tables_at_hand(
    settings: Mapping[str, Any], schema: str, root: Path, master: str | None = None
) -> DeltaFolder | None:
    """The schema's folder in the embedded Spark's warehouse; None where only Spark knows.

    ``settings`` are the profile's Spark settings, which can name another catalog or warehouse.
    """
    if master and not master.startswith("local"):
        return None
    if own_catalog(settings):
        return None
    warehouse = local_folder(str(settings.get(WAREHOUSE, root / "warehouse")), settings)
    folder = None if warehouse is None else warehouse / f"{schema.lower()}.db"
    if folder is None or not folder.is_dir():
        return None
    try:
        return DeltaFolder(folder)
    except ImportError:
        return None


def table_size(tables: Tables, table: str) -> TableSize | None:
    """The size of a table; None where it is not there, is no Delta table, or cannot be read."""
    try:
        return tables.size(table)
    except Exception:
        if not tables.alive():
            raise
        return None


def read_record(tables: Tables, now: datetime | None = None) -> Record:
    """Return runs, checks, newest SQL of each model and waiting sinks (of many, the newest).

    A row or a table that no run can have written is left out and told (``Record.unread``).
    """
    unread: list[Unread] = []
    nothing: tuple[list[dict[str, Any]], bool] = ([], False)
    asked = partial(_or_else, tables, unread)
    runs, limited = asked(
        RUNS_TABLE, nothing, lambda: _newest(tables, RUNS_TABLE, RUN_COLUMNS, MOST_RUNS)
    )
    checks, _ = asked(
        CHECKS_TABLE, nothing, lambda: _newest(tables, CHECKS_TABLE, CHECK_COLUMNS, MOST_CHECKS)
    )
    nowhere: dict[str, str] = {}
    sql = asked(RUNS_TABLE, nowhere, lambda: _newest_sql(tables))
    nobody: list[dict[str, Any]] = []
    waiting = asked(DELIVERIES_TABLE, nobody, lambda: list(_waiting(tables)))
    nothing_said: dict[str, QueryRow | OddRow] = {}
    queries = asked(QUERIES_TABLE, nothing_said, lambda: _queries(tables))
    odd = [row for row in queries.values() if isinstance(row, OddRow)]
    unread += [Unread(QUERIES_TABLE, len(odd), str(odd[0]))] if odd else []
    told = {one.table: one for one in reversed(unread)}.values()
    record = Record.from_rows(runs, checks, waiting, now)
    known = {model: row for model, row in queries.items() if isinstance(row, QueryRow)}
    unread = [*told, *record.unread]
    return replace(record, sql=sql, limited=limited, queries=known, unread=tuple(unread))


def _or_else(
    tables: Tables, unread: list[Unread], table: str, otherwise: Found, ask: Callable[[], Found]
) -> Found:
    """Return what ``ask`` finds, or ``otherwise`` if it fails and the table is to blame."""
    try:
        return ask()
    except Exception as error:
        if not tables.alive():
            raise
        unread.append(Unread(table, None, " ".join(str(error).split("\n\n")[0].split())[:300]))
        return otherwise


def _newest(
    tables: Tables, table: str, wanted: Sequence[str], most: int
) -> tuple[list[dict[str, Any]], bool]:
    there = tables.columns(table)
    columns = [name for name in wanted if name in there]
    if not there:
        return [], False
    if "model" not in columns:
        raise ValueError("it has no column model")
    items = [f"{_item(tables, name, there[name])} AS {name}" for name in columns]
    order = " ORDER BY ended_at DESC" if _is_instant(there.get("ended_at", "")) else ""
    rows = tables.rows(
        table,
        f"SELECT {', '.join(items)}"
        f" FROM (SELECT * FROM {{table}}{order} LIMIT {most + 1}) AS newest",
    )
    return [dict(zip(columns, row, strict=True)) for row in rows[:most]], len(rows) > most


def _item(tables: Tables, name: str, kind: str) -> str:
    """Return SQL that reads a column: a text shortened, an instant as its microseconds."""
    if _is_instant(kind):
        return tables.micros(name)
    if kind not in TEXTS:
        return name
    # What a check that held has to say is long, and nobody asks for it here.
    text = "CASE WHEN status = 'pass' THEN NULL ELSE details END" if name == "details" else name
    return f"substring({text}, 1, {TEXT})"


def _is_instant(kind: str) -> bool:
    return kind.startswith("timestamp")


def _newest_sql(tables: Tables) -> dict[str, str]:
    there = tables.columns(RUNS_TABLE)
    texts = all(there.get(name) in TEXTS for name in ("model", "sql"))
    if not texts or not _is_instant(there.get("ended_at", "")):
        return {}
    rows = tables.rows(
        RUNS_TABLE,
        f"SELECT model, substring(sql, 1, {TEXT}) AS sql FROM"
        " (SELECT model, sql, row_number() OVER"
        " (PARTITION BY model ORDER BY ended_at DESC) AS nth"
        " FROM {table} WHERE sql IS NOT NULL AND model IS NOT NULL) AS numbered WHERE nth = 1",
    )
    return dict(rows)


def _queries(tables: Tables) -> dict[str, QueryRow | OddRow]:
    """Return the operator's row for each model."""
    there = tables.columns(QUERIES_TABLE)
    if not there:
        return {}
    missing = [name for name in COLUMNS if name not in there]
    if missing:
        raise ValueError(f"it has no column {missing[0]}")
    items = [f"{_item(tables, name, there[name])} AS {name}" for name in COLUMNS]
    rows = tables.rows(QUERIES_TABLE, f"SELECT {', '.join(items)} FROM {{table}}")
    return queries_of(QUERIES_TABLE, [dict(zip(COLUMNS, row, strict=True)) for row in rows])


def _waiting(tables: Tables) -> Iterable[dict[str, Any]]:
    """Return the sinks whose newest batch was claimed and is not done."""
    there = tables.columns(DELIVERIES_TABLE)
    if not set(DELIVERY_COLUMNS) <= set(there):
        return
    since = "min(noted_at)"
    since = tables.micros(since) if _is_instant(there["noted_at"]) else since
    rows = tables.rows(
        DELIVERIES_TABLE,
        f"SELECT model, sink, m, {since} AS since,"
        " max(CASE WHEN event IN ('begun', 'done') THEN 1 ELSE 0 END) AS done"
        " FROM {table} GROUP BY model, sink, m",
    )
    newest: dict[tuple[Any, Any], tuple[Any, ...]] = {}
    for model, sink, m, *told in rows:
        known = newest.get((model, sink))
        if known is None or (type(m) is int and (known[0] is None or m > known[0])):
            newest[model, sink] = (m if type(m) is int else None, *told)
    for (model, sink), (m, claimed, done) in newest.items():
        if not done or m is None:
            yield {"model": model, "sink": sink, "since": claimed}
