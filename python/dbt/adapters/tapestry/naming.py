"""Quoting of relations and columns in SQL, as one name whatever characters they hold.

dbt-spark writes a schema, an alias and a column as they are, or between two backticks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from dbt.adapters.base.relation import EventTimeFilter
from dbt.adapters.spark import SparkColumn
from dbt.adapters.spark.relation import SparkRelation
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry.column_names import time_sql
from tapestry.errors import ConfigurationError
from tapestry.quoting import identifier, rendered_name
from tapestry.runs.engine.column_types import sql_type

SESSION_CATALOG = "spark_catalog"


@dataclass(frozen=True, eq=False, repr=False)
class TapestryRelation(SparkRelation):
    """A relation; a schema or an alias that is no plain name is put in backticks."""

    def __post_init__(self) -> None:
        """Raise DbtRuntimeError for `database:`: Spark's tables have a schema and a name."""
        if not self.database or self.database == self.schema:
            return
        if str(self.database).lower() == SESSION_CATALOG:
            without = replace(self.path, database=None)
            object.__setattr__(self, "path", without)
            return
        error = ConfigurationError(
            f"database: {self.database} says nothing here: a table has a schema and a name, and"
            " lies in Spark's session catalog",
            where=f"{self.database}.{self.schema}.{self.identifier or ''}".rstrip("."),
            hint="take database: out of the YAML or the config (schema: names where it lies);"
            " copy a table of another catalog into a schema of this one",
        )
        raise DbtRuntimeError(str(error))

    def _render_iterator(self) -> Iterator[tuple[Any, str | None]]:
        for key, part in super()._render_iterator():
            yield key, None if part is None else rendered_name(part)

    def _render_event_time_filtered(self, event_time_filter: EventTimeFilter) -> str:
        named = replace(event_time_filter, field_name=time_sql(event_time_filter.field_name))
        return super()._render_event_time_filtered(named)

    def within(self, event_time: str, start: datetime, end: datetime) -> str:
        """Return the condition that a row belongs to a batch, in dbt's form for sources."""
        return self._render_event_time_filtered(EventTimeFilter(event_time, start, end))

    def quoted(self, identifier_: str) -> str:
        """Return a part in backticks, if it has none yet, where the project asks for quotes."""
        return identifier_ if identifier_.startswith("`") else identifier(identifier_)


@dataclass
class TapestryColumn(SparkColumn):
    """A column whose name and type can stand in SQL again."""

    @property
    def quoted(self) -> str:
        return identifier(self.column)

    @property
    def data_type(self) -> str:
        return sql_type(self.dtype)
