"""Play an archive: at each step its rows are appended, then `dbt run` covers the window."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from dbt.adapters.tapestry.embedded import start
from tapestry.demo.archive import EXPECTED, Archive
from tapestry.demo.tables import SEEDS, TABLE_TYPES
from tapestry.demo.trading.seeds import HEADS
from tapestry.mail.append import append_all, create_table
from tapestry.quoting import relation_name, token
from tapestry.schedule.steps import ReplayStep
from tapestry.schedule.warm import Ran, Warm, first_failure, new_rows

PROFILE = "tapestry"
WITH_SEEDS = frozenset(path.stem for path in (EXPECTED / "banks").glob("*.sql"))
"""Models that read a table of ``seeds/``: it is written before the first run."""
OF_THE_MARKET = "do_comps"
"""A model that reads the seeds of the market, with those that are run beside it."""


def _seeds(models: Sequence[str]) -> list[str]:
    """The tables of ``seeds/`` that some models read."""
    if OF_THE_MARKET in models:
        return list(HEADS)
    return sorted(SEEDS) if WITH_SEEDS.intersection(models) else []


class SparkSession:
    """The embedded Spark as the session protocol: SQL text in, rows out."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._spark: Any = start(settings)

    def run(self, sql: str) -> None:
        """Execute a statement."""
        self._spark.sql(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return [tuple(row) for row in self._spark.sql(sql).collect()]


@dataclass(frozen=True)
class Played(ReplayStep):
    """A step, and what was loaded before it: rows, and late ones among them."""

    loaded: int
    late: int


class Player:
    """A folder for everything that a demonstration leaves: warehouse, target, logs, profile."""

    def __init__(
        self,
        project: Path,
        folder: Path,
        models: Sequence[str],
        *,
        threads: int = 2,
        settings: Mapping[str, str] | None = None,
        schema: str = "demo",
    ) -> None:
        self.project, self.folder, self.models = project, folder, models
        self.seeds = _seeds(models)
        self.schema, self.at_once_schema = schema, f"{schema}_at_once"
        folder.mkdir(parents=True, exist_ok=True)
        warehouse = {"spark.sql.warehouse.dir": str(folder.resolve() / "warehouse")}
        settings = {**warehouse, **(settings or {})}
        self.session = SparkSession(settings)
        self._warm: dict[str, Warm] = {}
        profile = {
            "type": "tapestry",
            "method": "session",
            "threads": threads,
            "server_side_parameters": settings,
        }
        for name in (self.schema, self.at_once_schema):
            (folder / name).mkdir(exist_ok=True)
            outputs = {"demo": {**profile, "schema": name}}
            content = {PROFILE: {"target": "demo", "outputs": outputs}}
            (folder / name / "profiles.yml").write_text(yaml.safe_dump(content))

    def play(self, archive: Archive) -> Iterator[Played]:
        """Each step of the archive, when its run is over."""
        self.create_tables(self.schema, archive.files)
        for number, until in enumerate(archive.steps, 1):
            loaded = self._load_step(archive, number)
            began = time.monotonic()
            new = new_rows(self.dbt_run(self.schema, until, archive.variables))
            seconds = time.monotonic() - began
            since = archive.steps[number - 2] if number > 1 else None
            yield Played(number, since, until, new, seconds, loaded, archive.late_rows(number))

    def play_at_once(self, archive: Archive) -> None:
        """All rows, then one run to the end: a full refresh, in a schema of its own."""
        self.create_tables(self.at_once_schema, archive.files)
        for name, path in archive.files.items():
            append_all(self.session, f"{self.at_once_schema}.{name}", path, TABLE_TYPES[name])
        self.dbt_run(self.at_once_schema, archive.steps[-1], archive.variables)

    def create_tables(self, schema: str, names: Mapping[str, Path]) -> None:
        """The sources, empty."""
        for name in names:
            create_table(self.session, f"{schema}.{name}", TABLE_TYPES[name])

    def dbt_run(
        self, schema: str, until: datetime | None, variables: Mapping[str, str]
    ) -> list[Ran]:
        """One `dbt run` as of an instant, or of now; SystemExit where a model fails."""
        if schema not in self._warm:
            self._warm[schema] = Warm(self._arguments(schema, variables))
            if self.seeds:
                self._warm[schema].seed(self.seeds)
        ran = self._warm[schema].run(self.models, until)
        failed = first_failure(ran)
        if failed is not None:
            raise SystemExit(
                f"dbt run as of {until or 'now'} failed; see {self.folder / 'logs/dbt.log'}\n"
                f"{failed.model}: {failed.message}"
            )
        return ran

    def export(self, schema: str, table: str) -> Path | None:
        """A table as parquet files, for another engine to read; None: there is no such table."""
        if not self.session.rows(f"show tables in {relation_name(schema)} like {token(table)}"):
            return None
        path = self.folder / "export" / schema / table
        self.session.run(
            f"insert overwrite directory {token(str(path))} using parquet"
            f" select * from {relation_name(f'{schema}.{table}')}"
        )
        return path

    def _load_step(self, archive: Archive, number: int) -> int:
        loaded = 0
        for name in archive.files:
            path = self.folder / f"{name}.parquet"
            rows = archive.write_step(name, number, path)
            if rows:
                append_all(self.session, f"{self.schema}.{name}", path, TABLE_TYPES[name])
            loaded += rows
        return loaded

    def _arguments(self, schema: str, variables: Mapping[str, str]) -> list[str]:
        return [
            "--quiet",
            "--log-level-file=info",
            "--project-dir",
            str(self.project),
            "--profiles-dir",
            str(self.folder / schema),
            "--target-path",
            str(self.folder / schema / "target"),
            "--log-path",
            str(self.folder / "logs"),
            "--vars",
            yaml.safe_dump(dict(variables)),
        ]
