"""The relations of a schema, read from Spark's catalog in one call.

`show table extended` formats every table's description, 5 to 10 ms each; dbt needs name, kind and
format. The `information` of a relation is looked up where docs need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.contracts.relation import RelationType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def list_relations(
    session: SparkSession, schema: str, relation: type[BaseRelation]
) -> list[BaseRelation]:
    """Return tables and views of a schema; none where there is no such schema."""
    catalog = session._jsparkSession.sessionState().catalog().externalCatalog()
    if not catalog.databaseExists(schema):
        return []
    found = catalog.getTablesByName(schema, catalog.listTables(schema))
    return [_relation(found.apply(place), schema, relation) for place in range(found.size())]


def list_schemas(session: SparkSession) -> list[str]:
    """Return the names of all schemas."""
    names = session._jsparkSession.sessionState().catalog().externalCatalog().listDatabases()
    return [names.apply(place) for place in range(names.size())]


def _relation(table: Any, schema: str, relation: type[BaseRelation]) -> BaseRelation:
    view = table.tableType().name() == "VIEW"
    provider = table.provider()
    name = provider.get().lower() if provider.isDefined() else ""
    return relation.create(
        schema=schema.lower(),  # as the catalog has it; dbt looks for it like that
        identifier=table.identifier().table(),
        type=RelationType.View if view else RelationType.Table,
        is_delta=name == "delta",
        is_iceberg=name == "iceberg",
        is_hudi=name == "hudi",
    )
