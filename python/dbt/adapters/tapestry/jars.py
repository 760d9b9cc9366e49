"""The jars that pip does not bring: Delta Lake for this Spark, and the catalog's database."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlparse

from dbt_common.exceptions import DbtRuntimeError

SCALA = "2.13"
# The last H2 that Hive's metastore can use: 2.x has no LONGVARCHAR of the length it asks for.
CATALOG_PACKAGE = "com.h2database:h2:1.4.200"


def packages() -> str:
    """Maven coordinates for the installed pyspark and delta-spark (as in `delta.pip_utils`)."""
    try:
        spark, delta = version("pyspark"), version("delta-spark")
    except PackageNotFoundError as error:
        raise DbtRuntimeError(
            f"The embedded Spark needs the package {error.name}, which is not installed.\n"
            'Install it with: pip install "dbt-tapestry[local]"'
        ) from error
    minor = ".".join(spark.split(".")[:2])
    return f"io.delta:delta-spark_{minor}_{SCALA}:{delta},{CATALOG_PACKAGE}"


def jar_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Add the jars: their files if an earlier start fetched them, else their Maven coordinates.

    Asking Ivy costs a second at each start, even where it fetches nothing, and needs its cache
    to be writable; a list of the files from the first start avoids both.
    """
    settings = dict(settings)
    given = settings.get("spark.jars.packages")
    settings["spark.jars.packages"] = ",".join(filter(None, [packages(), given]))
    known = _remembered(settings["spark.jars.packages"])
    if known:
        del settings["spark.jars.packages"]
        settings["spark.jars"] = ",".join(filter(None, [*known, settings.get("spark.jars")]))
    return settings


def remember(coordinates: str, jars: str) -> None:
    """Keep the list of files that Ivy found for these coordinates."""
    files = [urlparse(jar).path for jar in jars.split(",") if jar]
    if not files or not all(os.path.isfile(file) for file in files):
        return
    path = _memory(coordinates)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text("\n".join(files))
        partial.replace(path)
    except OSError:
        pass  # only the next start's second is lost


def _remembered(coordinates: str) -> list[str]:
    """The files for these coordinates, if all of them are still there."""
    try:
        files = _memory(coordinates).read_text().splitlines()
    except OSError:
        return []
    return files if files and all(os.path.isfile(file) for file in files) else []


def cache_folder() -> Path:
    """What is kept from start to start; whatever is missing there is made again."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "dbt-tapestry"


def _memory(coordinates: str) -> Path:
    key = hashlib.sha256(coordinates.encode()).hexdigest()[:16]
    return cache_folder() / f"jars-{key}.txt"
