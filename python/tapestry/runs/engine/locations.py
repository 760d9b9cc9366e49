"""Tells whether a table's location is a folder of this machine, or other storage of Spark's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WAREHOUSE = "spark.sql.warehouse.dir"
CATALOG_FOLDER = "spark.tapestry.catalog.dir"
"""The folder of the adapter's own catalog, where it does not lie in the warehouse."""

_PARTS = re.compile(r"(?:([^/:]*):)?(?://([^/]*))?(.*)", re.DOTALL)
DEFAULT_FS = "spark.hadoop.fs.defaultFS"
_DEFAULT_FS = (DEFAULT_FS, "spark.hadoop.fs.default.name")
_URL = "spark.hadoop.javax.jdo.option.ConnectionURL"
_METASTORE = (
    "spark.hadoop.hive.metastore.uris",
    "spark.hive.metastore.uris",
    "hive.metastore.uris",
)
_DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"


def local_folder(location: str, settings: Mapping[str, Any] | None = None) -> Path | None:
    """Return the folder of this machine that a location means to Hadoop; None: it is none.

    Hadoop reads a location letter by letter: nothing is decoded, the scheme is in lower case, and
    a ``file:`` URL has no host. ``settings`` of Spark say where a location without a scheme lies.

    >>> local_folder("file:///data/w%20x"), local_folder("file:/data")
    (PosixPath('/data/w%20x'), PosixPath('/data'))
    >>> local_folder("file://data/w"), local_folder("s3a://bucket/w"), local_folder("file:w")
    (None, None, None)
    >>> local_folder("/data", {"spark.hadoop.fs.defaultFS": "hdfs://namenode"}) is None
    True
    """
    found = _PARTS.match(location)
    assert found is not None  # every part may be empty
    scheme, host, path = found.groups()
    if not path.strip():
        return None
    if scheme is None and host is None:
        default = next(
            (str(settings[key]) for key in _DEFAULT_FS if settings and key in settings), ""
        )
        here = not default or default.startswith("file:")
        return Path(path).absolute() if here else None
    if scheme != "file" or host or not path.startswith("/"):
        return None
    return Path("/" + path.lstrip("/"))


def same_location(one: str, other: str) -> bool:
    """Return whether two texts name one place; folders of this machine are compared as such."""
    here = local_folder(one)
    if here is not None:
        return here == local_folder(other)
    return one.rstrip("/") == other.rstrip("/")


def own_catalog(settings: Mapping[str, Any]) -> str:
    """Return the catalog that Spark's settings name themselves, for people; '' for none.

    >>> own_catalog({"spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:h2:tcp://host/c;PASSWORD=x"})
    'jdbc:h2:tcp://host/c'
    """
    for key in (_URL, *_METASTORE):
        if settings.get(key):
            return re.split(r"[;?]", str(settings[key]), maxsplit=1)[0]
    if settings.get("spark.sql.catalogImplementation") == "in-memory":
        return "in memory"
    named = str(settings.get("spark.sql.catalog.spark_catalog", _DELTA_CATALOG))
    return "" if named == _DELTA_CATALOG else named
