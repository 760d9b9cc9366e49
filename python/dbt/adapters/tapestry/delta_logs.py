"""Delta's logs as an embedded Spark knows them: a tenth of what DESCRIBE DETAIL costs.

A warm run with nothing new consists of such looks.  They go through Delta's own classes, which
promise nothing to others: whatever they do not answer, DESCRIBE DETAIL is asked.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tapestry.instants import from_micros
from tapestry.names import GENERATION_PROPERTY
from tapestry.runs.engine.glance import Glance

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG = "spark_catalog"


class DeltaLogs:
    """The logs that one session finds by the names of their tables."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def newest(self, name: str) -> Glance | None:
        """A table as its newest commit left it; None: DESCRIBE DETAIL knows, or says what is wrong.

        The log's folder is listed anew: another process may have committed.
        """
        try:
            return self._newest(name)
        except Exception:
            return None

    def _newest(self, name: str) -> Glance | None:
        *catalog, schema, table = name.replace("`", "").split(".")
        if (catalog or [self._catalog()]) != [CATALOG]:
            return None
        log, identifier, option = _classes(self._spark._jvm)  # type: ignore[attr-defined]
        named = identifier(table, option.apply(schema))
        snapshot = log.forTableWithSnapshot(self._session, named)._2()
        if snapshot.version() < 0:
            return None
        metadata = snapshot.metadata()
        generation = metadata.configuration().get(GENERATION_PROPERTY)
        return Glance(
            name,
            metadata.id(),
            generation.get() if generation.isDefined() else None,
            str(from_micros(snapshot.timestamp() * 1000)),
            snapshot.numOfFiles(),
            snapshot.sizeInBytes(),
        )

    @property
    def _session(self) -> Any:
        return self._spark._jsparkSession

    def _catalog(self) -> str:
        """The catalog in which a name of two parts is looked up."""
        return str(self._session.sessionState().catalogManager().currentCatalog().name())


@lru_cache(maxsize=1)
def _classes(jvm: Any) -> tuple[Any, Any, Any]:
    """What is called in a process of Spark's; each step of such a name is a call."""
    sql = jvm.org.apache.spark.sql
    return sql.delta.DeltaLog, sql.catalyst.TableIdentifier, jvm.scala.Option
