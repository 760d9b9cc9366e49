"""The jars that pip does not install: Delta Lake for this Spark, and the catalog's database."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlparse

from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry.cache_folders import cache_or_new, ivy_or_new, new_ivy
from tapestry.errors import ConfigurationError
from tapestry.folders import check_way, read_own, write_own

SCALA = "2.13"
# The last H2 that Hive's metastore can use: 2.x has no LONGVARCHAR of the length it asks for.
CATALOG_PACKAGE = "com.h2database:h2:1.4.200"


def packages() -> str:
    """Return Maven coordinates for the installed pyspark and delta-spark (`delta.pip_utils`)."""
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
    fetched = ""
    try:
        known = _remembered(settings["spark.jars.packages"])
    except ConfigurationError as error:
        # Ivy would find the same files where it keeps them.
        known, fetched = [], str(new_ivy(f"{error.reason}; {error.hint}"))
    if known:
        return _with_files(settings, known)
    if "spark.jars.ivy" not in settings:
        settings["spark.jars.ivy"] = fetched or str(ivy_or_new())
    return settings


def known_jars(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings, with files in place of coordinates that were fetched meanwhile."""
    with suppress(ConfigurationError):
        known = _remembered(settings["spark.jars.packages"])
        return _with_files(settings, known) if known else dict(settings)
    return dict(settings)


def _with_files(settings: Mapping[str, str], known: list[str]) -> dict[str, str]:
    others = {key: value for key, value in settings.items() if key != "spark.jars.packages"}
    return {**others, "spark.jars": ",".join(filter(None, [*known, settings.get("spark.jars")]))}


def remember(coordinates: str, jars: str) -> None:
    """Keep the list of files that Ivy found for these coordinates."""
    files = [urlparse(jar).path for jar in jars.split(",") if jar]
    if not files or not all(os.path.isfile(file) for file in files):
        return
    with suppress(OSError):  # the next start takes a second longer, nothing else
        write_own(_memory(coordinates), "\n".join(files).encode())


def _remembered(coordinates: str) -> list[str]:
    """Return the files for these coordinates, if all of them still exist, else none.

    Raises ConfigurationError where somebody else could have written one: Spark runs their code.
    """
    try:
        files = read_own(_memory(coordinates)).decode().splitlines()
    except OSError:
        return []
    if not files or not all(os.path.isfile(file) for file in files):
        return []
    for file in files:
        check_way(Path(file))
    return files


def _memory(coordinates: str) -> Path:
    key = hashlib.sha256(coordinates.encode()).hexdigest()[:16]
    return cache_or_new() / f"jars-{key}.txt"
