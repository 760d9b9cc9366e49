"""Contracts and constraints: Delta enforces NOT NULL and CHECK once the table is there."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.constraints import fixtures, test_constraints

pytestmark = pytest.mark.conformance


def _in_spark(yml: str) -> str:
    return yml.replace("text", "string").replace("primary key", "")


SCHEMA = _in_spark(fixtures.model_schema_yml)
FOREIGN_KEY_SCHEMA = _in_spark(fixtures.model_fk_constraint_schema_yml)
EXPECTED_SQL = """
create or replace table <model_identifier> using delta as
select `id`, `color`, `date_day` from (
    -- depends_on: <foreign_key_model_identifier>
    select 'blue' as color, 1 as id, '2019-01-01' as date_day ) as model_subq
"""


class Types:
    """Spark's names: `sql value, type in YAML, type in the message`."""

    @pytest.fixture
    def string_type(self) -> str:
        return "string"

    @pytest.fixture
    def int_type(self) -> str:
        return "int"

    @pytest.fixture
    def schema_string_type(self) -> str:
        return "STRING"

    @pytest.fixture
    def schema_int_type(self) -> str:
        return "INT"

    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        return [
            ["1", "INT", "int"],
            ['"1"', "STRING", "string"],
            ["true", "boolean", "boolean"],
            ["array(1,2,3)", "array<int>", "array<int>"],
            ["cast('2019-01-01' as date)", "date", "date"],
            ["cast('2019-01-01' as timestamp)", "timestamp", "timestamp"],
            ["cast(1.0 AS DECIMAL(4, 2))", "decimal(4,2)", "decimal(4,2)"],
        ]


class TestTableColumnsEqual(Types, test_constraints.BaseTableConstraintsColumnsEqual):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model_wrong_order.sql": fixtures.my_model_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_wrong_name_sql,
            "constraints_schema.yml": SCHEMA,
        }


class TestViewColumnsEqual(Types, test_constraints.BaseViewConstraintsColumnsEqual):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model_wrong_order.sql": fixtures.my_model_view_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_view_wrong_name_sql,
            "constraints_schema.yml": SCHEMA,
        }


class TestIncrementalColumnsEqual(Types, test_constraints.BaseIncrementalConstraintsColumnsEqual):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model_wrong_order.sql": fixtures.my_model_incremental_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_incremental_wrong_name_sql,
            "constraints_schema.yml": SCHEMA,
        }


class Enforced:
    MODEL = fixtures.my_model_wrong_order_depends_on_fk_sql

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model.sql": self.MODEL,
            "foreign_key_model.sql": fixtures.foreign_key_model_sql,
            "constraints_schema.yml": FOREIGN_KEY_SCHEMA,
        }

    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return EXPECTED_SQL


class TestTableDdl(Enforced, test_constraints.BaseConstraintsRuntimeDdlEnforcement):
    pass


class TestIncrementalDdl(
    Enforced, test_constraints.BaseIncrementalConstraintsRuntimeDdlEnforcement
):
    MODEL = fixtures.my_model_incremental_wrong_order_depends_on_fk_sql


class TestModelConstraints(Enforced, test_constraints.BaseModelConstraintsRuntimeEnforcement):
    pass


class Rollback:
    MODEL = fixtures.my_model_sql

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"my_model.sql": self.MODEL, "constraints_schema.yml": SCHEMA}

    @pytest.fixture(scope="class")
    def expected_error_messages(self) -> list[str]:
        return [
            "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION",
            "DELTA_NEW_NOT_NULL_VIOLATION",
            "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
            "DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
        ]

    def assert_expected_error_messages(self, message: str, expected: list[str]) -> None:
        """The first constraint that fails is told."""
        assert any(text in message for text in expected), message


class TestTableRollback(Rollback, test_constraints.BaseConstraintsRollback):
    @pytest.fixture(scope="class")
    def expected_color(self) -> str:
        """dbt-spark adds constraints after it has replaced the table."""
        return "red"


class TestIncrementalRollback(Rollback, test_constraints.BaseIncrementalConstraintsRollback):
    MODEL = fixtures.my_incremental_model_sql


class TestQuotedColumn(test_constraints.BaseConstraintQuotedColumn):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, Any]:
        yml = fixtures.model_quoted_column_schema_yml
        return {
            "my_model.sql": fixtures.my_model_with_quoted_column_name_sql.replace('"', "`"),
            "constraints_schema.yml": yml.replace("text", "string").replace('"from"', "`from`"),
        }

    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return """
create or replace table <model_identifier> using delta as
select `id`, `from`, `date_day` from (
    select 'blue' as `from`, 1 as id, '2019-01-01' as date_day ) as model_subq
"""
