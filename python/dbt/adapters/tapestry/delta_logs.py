"""Delta's logs read through an embedded Spark, at a tenth of the cost of DESCRIBE DETAIL.

A warm run with nothing new consists of such reads. They go through Delta's own classes, which are
no public interface: for whatever they do not answer, DESCRIBE DETAIL is asked.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from tapestry.instants import from_micros
from tapestry.names import FIRST_KIND, GENERATION_PROPERTY, KIND_PROPERTY
from tapestry.runs.engine.glance import Glance, LoggedCommit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG = "spark_catalog"
MOST_COMMITS = 200
"""More commits than these are read by Spark: DESCRIBE HISTORY does it with all processors."""
MOST_ACTIONS = 50
"""So many actions are read of a commit to find what it says of itself; Delta writes that first."""
LONGEST = 1_000_000
"""So many characters may an action have that is looked at."""

_Key: TypeAlias = tuple[str, str, int, int]
"""A commit: the folder and the id of its table, its version, its time in milliseconds."""
_seen: dict[str, tuple[_Key, Glance]] = {}
"""The newest commit that was seen of each table, by the table's name."""


class DeltaLogs:
    """The logs that one session finds by the names of their tables."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def newest(self, name: str) -> Glance | None:
        """Return a table as its newest commit left it; None: the caller asks DESCRIBE DETAIL.

        The log's folder is listed anew: another process may have committed.
        """
        try:
            return self._newest(name)
        except Exception:
            return None

    def knows(self, name: str) -> bool | None:
        """Return whether the catalog has a table or view of that name; None: it cannot tell."""
        try:
            identifier = self._identifier(name)
            if identifier is None:
                return None
            return bool(self._session.sessionState().catalog().tableExists(identifier))
        except Exception:
            return None

    def commits(self, name: str, above: int, most: int) -> list[LoggedCommit] | None:
        """Return at most so many of a table's newest commits above a version, newest first.

        Older ones that the log no longer has are left out. None: the log cannot be read this way,
        and the caller asks DESCRIBE HISTORY.
        """
        try:
            return self._commits(name, above, most)
        except Exception:
            return None

    def _newest(self, name: str) -> Glance | None:
        found = self._at(name)
        if found is None:
            return None
        log, snapshot = found
        metadata, place = snapshot.metadata(), str(log.dataPath())
        # What a table's commit says never changes: it is asked for once.
        key = (place, metadata.id(), snapshot.version(), snapshot.timestamp())
        known, glance = _seen.get(name, (None, None))
        if glance is None or known != key:
            glance = _glance_of(name, key, snapshot, metadata)
            _seen[name] = key, glance
        return glance

    def _commits(self, name: str, above: int, most: int) -> list[LoggedCommit] | None:
        found = self._at(name)
        if found is None:
            return None
        log, snapshot = found
        newest = snapshot.version()
        first = max(above, newest - most, -1) + 1
        if newest - first >= MOST_COMMITS:
            return None
        settings = self._session.sessionState().newHadoopConf()
        names = _file_names(self._spark._jvm)
        commits: list[LoggedCommit] = []
        for version in range(newest, first - 1, -1):
            try:
                info = _info(log.store(), names.unsafeDeltaFile(log.logPath(), version), settings)
            except Exception as error:
                if commits and "FileNotFoundException" in str(error):
                    break  # the log was cleaned up to here
                raise
            if info is None:
                return None
            commits.append(LoggedCommit(version, info))
        return commits

    def _at(self, name: str) -> tuple[Any, Any] | None:
        """Return a table's log and its newest snapshot; None for another catalog or format."""
        identifier = self._identifier(name)
        if identifier is None:
            return None
        log, *_ = _classes(self._spark._jvm)
        found = log.forTableWithSnapshot(self._session, identifier)
        return None if found._2().version() < 0 else (found._1(), found._2())

    def _identifier(self, name: str) -> Any:
        """Return a table's name as Spark's own; None for one of another catalog."""
        *catalog, schema, table = name.replace("`", "").split(".")
        if (catalog or [self._catalog()]) != [CATALOG]:
            return None
        _, identifier, option = _classes(self._spark._jvm)
        return identifier(table, option.apply(schema))

    @property
    def _session(self) -> Any:
        return self._spark._jsparkSession

    def _catalog(self) -> str:
        """Return the catalog in which a name of two parts is looked up."""
        return str(self._session.sessionState().catalogManager().currentCatalog().name())


def _glance_of(name: str, key: _Key, snapshot: Any, metadata: Any) -> Glance:
    place, table_id, version, millis = key
    generation = metadata.configuration().get(GENERATION_PROPERTY)
    kind = metadata.configuration().get(KIND_PROPERTY)
    # The sum of a version's files stands beside its commit; else the log is replayed for it.
    sums = snapshot.checksumOpt()
    return Glance(
        name,
        table_id,
        generation.get() if generation.isDefined() else None,
        str(from_micros(millis * 1000)),
        sums.get().numFiles() if sums.isDefined() else snapshot.numOfFiles(),
        sums.get().tableSizeBytes() if sums.isDefined() else snapshot.sizeInBytes(),
        version,
        f"{place} {metadata.json()}",
        place,
        kind.get() if kind.isDefined() else FIRST_KIND,
    )


def _info(store: Any, file: Any, settings: Any) -> dict[str, Any] | None:
    """Return the ``commitInfo`` of a commit, {} if it has none; None if its first lines lack it."""
    lines = store.readAsIterator(file, settings)
    try:
        for _ in range(MOST_ACTIONS):
            if not lines.hasNext():
                return {}
            line = lines.next()
            if len(line) > LONGEST:
                return None
            action = json.loads(line)
            if "commitInfo" in action:
                return dict(action["commitInfo"])
        return None
    finally:
        lines.close()


@lru_cache(maxsize=1)
def _classes(jvm: Any) -> tuple[Any, Any, Any]:
    """Return Delta's log class and two helpers in the JVM; each step of a name is a call."""
    sql = jvm.org.apache.spark.sql
    return sql.delta.DeltaLog, sql.catalyst.TableIdentifier, jvm.scala.Option


@lru_cache(maxsize=1)
def _file_names(jvm: Any) -> Any:
    return jvm.org.apache.spark.sql.delta.util.FileNames
