"""The adapter: dbt-spark's, with Delta as the default and the embedded Spark behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation, available
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.spark import SparkColumn
from dbt.adapters.spark.impl import SparkAdapter

from dbt.adapters.tapestry.column_doors import ColumnDoors
from dbt.adapters.tapestry.connections import TapestryConnectionManager
from dbt.adapters.tapestry.dbt_errors import dbt_errors
from dbt.adapters.tapestry.descriptions import (
    CATALOG_TEXTS,
    changed_columns,
    described,
    without_comment,
)
from dbt.adapters.tapestry.expectations import ExpectationDoors
from dbt.adapters.tapestry.limited import LimitedDoors
from dbt.adapters.tapestry.model_config import DEFAULT_FORMAT, TapestryConfig
from dbt.adapters.tapestry.naming import TapestryColumn, TapestryRelation
from dbt.adapters.tapestry.packages import prefer_own_macros, relations_like, tables_sql
from dbt.adapters.tapestry.query_doors import QueryDoors
from dbt.adapters.tapestry.run_doors import RunDoors
from dbt.adapters.tapestry.seeds import (
    SeedFile,
    read_cells,
    refused_by_spark,
    seed_batches,
    typed_columns,
)
from dbt.adapters.tapestry.session import DbtSession
from dbt.adapters.tapestry.set_aside import AsideDoors
from dbt.adapters.tapestry.tell_idle_keys import tell_idle_keys
from dbt.adapters.tapestry.unit_test_rows import fill_expected, row_as_sql
from tapestry.quoting import (
    escaped,
    identifier,
    properties,
    string,
    token,
    unescaped,
)
from tapestry.runs.after.dbt_results import keep_results
from tapestry.runs.engine.instants import parse_zone
from tapestry.runs.tables.empty_catalog import refuse_full_folder

if TYPE_CHECKING:
    import agate
    from pyspark.sql import SparkSession


class TapestryAdapter(
    RunDoors, QueryDoors, ExpectationDoors, ColumnDoors, LimitedDoors, AsideDoors, SparkAdapter
):
    """`type: tapestry`."""

    Relation = TapestryRelation
    Column = TapestryColumn
    ConnectionManager = TapestryConnectionManager
    AdapterSpecificConfigs = TapestryConfig

    def __init__(self, config: Any, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        prefer_own_macros(config)
        if target := getattr(config, "target_path", None):
            keep_results(Path(config.project_root, target))

    @classmethod
    def type(cls) -> str:
        return "tapestry"

    def pre_model_hook(self, config: Mapping[str, Any]) -> Any:
        """Write the default file format into a model's configuration; fill a unit test's rows.

        Keys that do nothing on the model are told.

        dbt-spark's materializations read `file_format` in a dozen places, each with its own
        fallback (parquet, or Spark's default); dbt calls this before any of them.
        """
        model = getattr(config, "model", None)
        extra = getattr(getattr(model, "config", None), "_extra", None)
        if extra is not None and hasattr(model, "unrendered_config"):
            tell_idle_keys(model, self.config)
        if extra is not None and not extra.get("file_format"):
            extra["file_format"] = DEFAULT_FORMAT
        fill_expected(getattr(model, "config", None))
        return super().pre_model_hook(config)

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """Return a schema's tables and views: from an embedded Spark in one step, else by SQL."""
        session = self._embedded_session()
        if session is None:
            return super().list_relations_without_caching(schema_relation)
        with self.connections.exception_handler("list relations"):
            return _list_relations(session, str(schema_relation.schema), self.Relation)

    def _build_spark_relation_list(self, row_list: Any, relation_info_func: Any) -> Any:
        """Return the relations that a server lists; comments are cut off before kinds are read."""

        def told(row: Any) -> tuple[str, str, str]:
            schema, name, information = relation_info_func(row)
            return schema, name, without_comment(information)

        return super()._build_spark_relation_list(row_list, told)

    def list_schemas(self, database: Any) -> list[str]:
        """Return the schemas; each invocation of dbt begins with this."""
        session = self._embedded_session()
        if session is None:
            return super().list_schemas(database)
        with self.connections.exception_handler("list schemas"):
            return _list_schemas(session)

    def create_schema(self, relation: BaseRelation) -> None:
        """Create a schema; refuse one whose folder is full though the catalog does not know it."""
        here = self._embedded_session() is not None
        with dbt_errors():
            refuse_full_folder(
                DbtSession(self),
                str(relation.schema),
                here,
            )
        super().create_schema(relation)

    @available
    def quote(self, identifier_: str) -> str:  # type: ignore[override]
        """Return one part of a name, in backticks."""
        return identifier(str(identifier_))

    @available
    def text(self, value: Any) -> str:
        """Return a value as SQL: an expression that is the same text in every session."""
        return string(str(value))

    @available
    def literal(self, value: Any) -> str:
        """Return a value as one literal, for places without expressions: a comment, a location."""
        return token(str(value))

    @available
    def escaped(self, value: Any) -> str:
        """Return a text as it stands between two quotes, or in `string_literal`."""
        return escaped(str(value))

    @available
    def unescaped(self, value: Any) -> str:
        """Return the text of which `escaped` made this; one that was not escaped is as it is."""
        return unescaped(str(value))

    @available
    def properties(self, named: Mapping[str, Any]) -> str:
        """Return the names and values of TBLPROPERTIES."""
        return properties(named)

    def parse_describe_extended(self, relation: BaseRelation, raw_rows: Any) -> list[SparkColumn]:
        """Return the columns of a relation, whose names and types can stand in SQL again."""
        found = super().parse_describe_extended(relation, raw_rows)
        return [TapestryColumn(**vars(column)) for column in found]

    @available.parse(lambda *_: {})
    def other_descriptions(
        self, relation: BaseRelation, text: str | None, columns: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the changed descriptions: the relation's (text None: not asked), its columns'.

        ``names`` are the columns that it has.
        """
        there, described_columns = described(self._describe(relation))
        changed = changed_columns(columns, described_columns)
        names = list(described_columns)
        return {"relation": text not in (None, there), "columns": changed, "names": names}

    def _describe(self, relation: BaseRelation) -> Any:
        return self.execute_macro("get_columns_in_relation_raw", kwargs={"relation": relation})

    def _get_columns_for_catalog(self, relation: BaseRelation) -> Iterable[dict[str, Any]]:
        """Yield the rows of dbt's catalog with descriptions, which dbt-spark lacks.

        dbt-spark searches for columns in a text that a description is a part of.
        """
        rows = self._describe(relation)
        comment, comments = described(rows)
        for column in self.parse_describe_extended(relation, rows):
            found = column.to_column_dict()
            name = found.pop("column", None)
            yield {
                **found,
                "column_name": name,
                "column_type": found.pop("dtype"),
                "table_database": None,
                "table_comment": comment or None,
                "column_comment": comments.get(str(name)) or None,
            }

    def _get_one_catalog(
        self, information_schema: Any, schemas: set[str], used_schemas: Any
    ) -> agate.Table:
        """Return one schema's part of dbt's catalog; descriptions like numbers stay text."""
        import agate
        from dbt_common.clients.agate_helper import build_type_tester

        (schema,) = schemas
        relations = self.list_relations(information_schema.database, schema)
        found = [row for one in relations for row in self._get_columns_for_catalog(one)]
        types = build_type_tester(CATALOG_TEXTS, string_null_values=())
        return agate.Table.from_object(found, column_types=types)

    @available
    def seed_statements(
        self,
        table: agate.Table,
        column_types: Mapping[str, str],
        quote_columns: bool | None,
        node: Mapping[str, Any],
    ) -> list[str]:
        """Return one SELECT of typed rows for each batch of a seed; together they are the seed.

        A cell that is no value of its column's type is an error, before anything is written.
        """
        columns = typed_columns(table, column_types, partial(self.convert_type, table))
        path = getattr(table, "original_abspath", None)
        shown = str(node.get("original_file_path") or path or "the seed")
        delimiter = str((node.get("config") or {}).get("delimiter") or ",")
        session = DbtSession(self)
        with dbt_errors():
            rows = read_cells(
                table,
                columns,
                SeedFile(Path(path) if path else None, shown, delimiter),
                lambda: parse_zone(session.time_zone),
                partial(refused_by_spark, session),
            )
        return seed_batches(columns, rows, quote=quote_columns is not False)

    @available.parse(lambda *_: {})
    def unit_test_row(
        self, row: Mapping[str, Any], types: Mapping[str, str], node: Mapping[str, Any]
    ) -> dict[str, str]:
        """Return the values of a row of a unit test as SQL, by the names of their columns."""
        session = DbtSession(self)
        with dbt_errors():
            return {**row_as_sql(row, types, node, lambda: parse_zone(session.time_zone))}

    @available.parse_list
    def relations_like(
        self, schema_pattern: str, table_pattern: str, exclude: str
    ) -> list[BaseRelation]:
        """Return the relations of all schemas that ILIKE patterns choose."""

        def relations(schema: str) -> list[BaseRelation]:
            return self.list_relations(database=None, schema=schema)

        patterns = (schema_pattern, table_pattern, exclude)
        return relations_like(self.list_schemas(None), relations, patterns)

    @available.parse(lambda *_: "")
    def tables_like_sql(self, schema_pattern: str, table_pattern: str, exclude: str) -> str:
        """Return a query that stands for `information_schema.tables` over such relations."""
        return tables_sql(self.relations_like(schema_pattern, table_pattern, exclude))

    @available.parse_list
    def constraint_names(self, relation: BaseRelation) -> list[str]:
        """Return the names of a Delta table's CHECK constraints, in lower case."""
        prefix = "delta.constraints."
        keys = [key.lower() for key in self.table_properties(relation)]
        return [key.removeprefix(prefix) for key in keys if key.startswith(prefix)]

    def table_properties(self, relation: BaseRelation) -> dict[str, str]:
        """Return the TBLPROPERTIES of a table."""
        rows = DbtSession(self).rows(
            # sql: a relation writes its own name (naming.py)
            f"SHOW TBLPROPERTIES {relation}"
        )
        return {str(row[0]): str(row[1]) for row in rows}

    @available.parse_list
    def get_missing_columns(
        self, from_relation: BaseRelation, to_relation: BaseRelation
    ) -> list[SparkColumn]:
        """Return the columns that a table lacks; names are compared without case.

        dbt's own method compares case, and Spark then refuses to add the column a second time.
        """
        there = {column.name.lower() for column in self.get_columns_in_relation(to_relation)}
        found = self.get_columns_in_relation(from_relation)
        return [column for column in found if column.name.lower() not in there]

    def submit_python_job(
        self, parsed_model: dict[str, Any], compiled_code: str
    ) -> AdapterResponse:
        """Run a Python model in this process, on its thread's session: embedded or of Connect.

        Raises DbtRuntimeError where the connection takes SQL only; Databricks' clusters are
        reached as dbt-spark does, where the model or the profile says which.
        """
        from dbt.adapters.tapestry.python_models import refuse_without_session, run_python_model

        credentials = self.config.credentials
        if not getattr(credentials, "embedded", False):
            refuse_without_session(credentials, parsed_model)
            response: AdapterResponse = super().submit_python_job(parsed_model, compiled_code)
            return response
        session = self.connections.get_thread_connection().handle.session
        run_python_model(session, parsed_model, compiled_code)
        return self.generate_python_submission_response(None)

    def _embedded_session(self) -> Any:
        """Return this thread's Spark session, or None where Spark is elsewhere."""
        if not getattr(self.config.credentials, "embedded", False):
            return None
        handle = self.connections.get_thread_connection().handle
        session = handle.session
        return session if hasattr(session, "_jsparkSession") else None


def _list_relations(
    session: SparkSession, schema: str, relation: type[BaseRelation]
) -> list[BaseRelation]:
    """Return tables and views of a schema; none where there is no such schema."""
    catalog = session._jsparkSession.sessionState().catalog().externalCatalog()
    if not catalog.databaseExists(schema):
        return []
    found = catalog.getTablesByName(schema, catalog.listTables(schema))
    return [_relation(found.apply(place), schema, relation) for place in range(found.size())]


def _list_schemas(session: SparkSession) -> list[str]:
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
