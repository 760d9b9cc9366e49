"""A dbt project that a benchmark writes, and runs again and again in one process."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from benchmarks.common import bench_root

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tapestry.schedule.warm import Ran, Warm


class DbtProject:
    """A folder of models whose tables stand in a schema of the folder's name.

    models
        The text of each model, by its name.
    files
        Further files, by their paths within the project.
    anew
        Is the schema emptied?
    """

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        models: Mapping[str, str],
        files: Mapping[str, str] | None = None,
        threads: int = 1,
        anew: bool = True,
    ) -> None:
        self.spark, self.name = spark, name
        self.folder = bench_root() / name
        if anew:
            spark.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")
            spark.sql(f"CREATE SCHEMA {name}")
        warehouse = {"spark.sql.warehouse.dir": str(bench_root() / "warehouse")}
        output = {"method": "session", "threads": threads, "server_side_parameters": warehouse}
        texts = {f"models/{model}.sql": text for model, text in models.items()}
        write_project(self.folder, name, {**texts, **(files or {})}, output)

    @cached_property
    def _warm(self) -> Warm:
        from tapestry.schedule.warm import Warm

        folder = str(self.folder)
        return Warm(["--project-dir", folder, "--profiles-dir", folder, "--quiet"])

    def run(self, at: datetime, models: Iterable[str] = ()) -> tuple[dict[str, Ran], float]:
        """One invocation as of an instant: what was done to each model, and the wall time.

        No models: all of them. Raises SystemExit where one fails.
        """
        began = time.perf_counter()
        ran = self._warm.run(list(models), at)
        wall = time.perf_counter() - began
        for one in ran:
            if one.status != "ok":
                raise SystemExit(f"{one.model}: {one.message}")
        return {one.model: one for one in ran}, wall

    def commits(self) -> int:
        """How many commits the logs of all tables of the schema have."""
        folder = bench_root() / "warehouse" / f"{self.name}.db"
        return sum(1 for _ in folder.glob("*/_delta_log/*[0-9].json"))


def write_project(
    folder: Path, name: str, texts: Mapping[str, str], output: Mapping[str, Any]
) -> None:
    """Write a project anew; ``output`` says how its target, a schema of its name, is reached."""
    shutil.rmtree(folder, ignore_errors=True)
    project = {
        "name": name,
        "version": "1.0",
        "profile": name,
        "flags": {"send_anonymous_usage_stats": False},
    }
    target = {"type": "tapestry", "schema": name, **output}
    frame = {
        "dbt_project.yml": yaml.safe_dump(project),
        "profiles.yml": yaml.safe_dump({name: {"target": "it", "outputs": {"it": target}}}),
    }
    for place, content in {**frame, **texts}.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")


def source_file(name: str, schema: str, tables: Mapping[str, Any]) -> dict[str, str]:
    """The file of a source, by its path within a project: its tables with their configuration."""
    listed = [{"name": table, "config": config} for table, config in tables.items()]
    source = {"name": name, "schema": schema, "tables": listed}
    return {"models/sources.yml": yaml.safe_dump({"sources": [source]})}


def rows_apart(spark: SparkSession, one: str, other: str) -> int:
    """Rows that one of two tables has more often than the other; 0: they are equal as bags."""
    sides = [f"SELECT * FROM {table}" for table in (one, other)]
    both = [f"({a} EXCEPT ALL {b})" for a, b in (sides, sides[::-1])]
    ((count,),) = spark.sql(f"SELECT count(*) FROM ({' UNION ALL '.join(both)})").collect()
    return int(count)


def with_config(text: str, **config: Any) -> str:
    """A model's text below its configuration."""
    listed = ", ".join(f"{key}={value!r}" for key, value in config.items())
    return f"{{{{ config({listed}) }}}}\n{text.strip()}\n"
