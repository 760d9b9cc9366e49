"""Read the record of a schema: from its Delta files where they lie at hand, else by the session.

The embedded Spark keeps its tables in a folder that this process can read itself: a third of a
second instead of the ten to twenty that Spark takes to start. Both ways speak the same few SELECTs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tapestry.names import CHECKS_TABLE, DELIVERIES_TABLE, RUNS_TABLE
from tapestry.quoting import relation_name
from tapestry.report.record import CHECK_COLUMNS, DELIVERY_COLUMNS, RUN_COLUMNS, Record
from tapestry.runs.errors_of_delta import files_gone, not_found
from tapestry.runs.locations import WAREHOUSE, local_folder, own_catalog
from tapestry.runs.session import Session

MOST_RUNS, MOST_CHECKS = 50_000, 200_000


class Tables(Protocol):
    """The tables of a schema: which columns one has, and rows of SELECTs on ``{table}``."""

    def columns(self, table: str) -> tuple[str, ...]:
        """Its columns; none where there is no such table."""
        ...

    def rows(self, table: str, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a SELECT in which ``{table}`` stands for the table."""
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

    def columns(self, table: str) -> tuple[str, ...]:
        """Its columns; none where there is no such table."""
        if not (self.folder / table / "_delta_log").is_dir():
            return ()
        self._open[table] = self._library.DeltaTable(str(self.folder / table))
        return tuple(field.name for field in self._open[table].schema().fields)

    def rows(self, table: str, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a SELECT, instants as aware datetimes in UTC."""
        import pyarrow  # type: ignore[import-untyped]

        builder = self._library.QueryBuilder().register(table, self._open[table])
        found = pyarrow.table(builder.execute(sql.format(table=table)).read_all())
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


class SessionTables:
    """Tables through a session, whatever engine stands behind it."""

    def __init__(self, session: Session, schema: str) -> None:
        self._session, self._schema = session, schema

    def columns(self, table: str) -> tuple[str, ...]:
        """Its columns; none where there is no such table."""
        try:
            rows = self._session.rows(f"DESCRIBE TABLE {self._name(table)}")
        except Exception as error:
            if not_found(error) or files_gone(error):
                return ()
            raise
        names = [str(row[0]) for row in rows]
        return tuple(names[: next((i for i, n in enumerate(names) if not n or n[0] == "#"), None)])

    def rows(self, table: str, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a SELECT."""
        return self._session.rows(sql.format(table=self._name(table)))

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


def read_record(tables: Tables) -> Record:
    """All runs and checks (of very many the newest), the SQL of each model's newest run, and the
    sinks that lack something."""
    runs, limited = _newest(tables, RUNS_TABLE, RUN_COLUMNS, MOST_RUNS)
    checks, _ = _newest(tables, CHECKS_TABLE, CHECK_COLUMNS, MOST_CHECKS)
    return Record.from_rows(runs, checks, _newest_sql(tables), limited, _waiting(tables))


def _newest(
    tables: Tables, table: str, wanted: Sequence[str], most: int
) -> tuple[list[dict[str, Any]], bool]:
    there = tables.columns(table)
    columns = [name for name in wanted if name in there]
    if "model" not in columns:
        return [], False
    # What a check that held has to say is long, and nobody asks for it here.
    items = [
        "CASE WHEN status = 'pass' THEN NULL ELSE details END AS details" if n == "details" else n
        for n in columns
    ]
    order = " ORDER BY ended_at DESC" if "ended_at" in columns else ""
    rows = tables.rows(table, f"SELECT {', '.join(items)} FROM {{table}}{order} LIMIT {most + 1}")
    return [dict(zip(columns, row, strict=True)) for row in rows[:most]], len(rows) > most


def _newest_sql(tables: Tables) -> dict[str, str]:
    if not {"model", "sql", "ended_at"} <= set(tables.columns(RUNS_TABLE)):
        return {}
    rows = tables.rows(
        RUNS_TABLE,
        "SELECT model, sql FROM (SELECT model, sql, row_number() OVER"
        " (PARTITION BY model ORDER BY ended_at DESC) AS nth"
        " FROM {table} WHERE sql IS NOT NULL) AS numbered WHERE nth = 1",
    )
    return dict(rows)


def _waiting(tables: Tables) -> Iterable[dict[str, Any]]:
    """Sinks whose newest batch was claimed and is not done: one that takes everything has none."""
    if not set(DELIVERY_COLUMNS) <= set(tables.columns(DELIVERIES_TABLE)):
        return
    rows = tables.rows(
        DELIVERIES_TABLE,
        "SELECT model, sink, m, min(noted_at) AS since,"
        " max(CASE WHEN event IN ('begun', 'done') THEN 1 ELSE 0 END) AS done"
        " FROM {table} GROUP BY model, sink, m",
    )
    newest = {(row[0], row[1]): row for row in sorted(rows, key=lambda row: int(row[2]))}
    for (model, sink), (*_, since, done) in sorted(newest.items()):
        if not done:
            yield {"model": model, "sink": sink, "since": since}
