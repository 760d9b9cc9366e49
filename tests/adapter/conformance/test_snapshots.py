"""Snapshots: Delta without being told so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt.tests.adapter.simple_snapshot import fixtures, test_snapshot, test_various_configs
from dbt.tests.util import check_relations_equal, run_dbt

pytestmark = pytest.mark.conformance


class FromPostgres:
    """The suite sets its tables up in PostgreSQL's SQL."""

    @pytest.fixture(scope="class")
    def project(self, project: Any, from_postgres: Callable[[Any], Any]) -> Any:
        return from_postgres(project)


class WithoutDatabase(FromPostgres):
    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        """A name has two parts here."""
        return {"snapshot.sql": fixtures.snapshot_actual_sql.replace("{{target.database}}.", "")}


class TestSnapshot(test_snapshot.BaseSimpleSnapshot):
    def add_fact_column(self, column: str | None = None, definition: str | None = None) -> None:
        """A new column of a Delta table is NULL without being told so."""
        super().add_fact_column(column, (definition or "").replace(" default null", ""))


class TestSnapshotCheck(test_snapshot.BaseSnapshotCheck):
    pass


class TestSnapshotColumnNames(WithoutDatabase, test_various_configs.BaseSnapshotColumnNames):
    pass


class TestSnapshotDbtValidToCurrent(
    WithoutDatabase, test_various_configs.BaseSnapshotDbtValidToCurrent
):
    def test_valid_to_current(self, project: Any) -> None:
        """As the suite's, which tells rows apart by the order in which they happen to come."""
        for sql in (
            fixtures.create_seed_sql,
            fixtures.create_snapshot_expected_sql,
            fixtures.seed_insert_sql,
            fixtures.populate_snapshot_expected_valid_to_current_sql,
        ):
            project.run_sql(sql)
        run_dbt(["snapshot"])
        check_relations_equal(project.adapter, ["snapshot_actual", "snapshot_expected"])
        project.run_sql(fixtures.invalidate_sql)
        project.run_sql(fixtures.update_with_current_sql)
        run_dbt(["snapshot"])
        check_relations_equal(project.adapter, ["snapshot_actual", "snapshot_expected"])


class TestSnapshotInvalidColumnNames(
    WithoutDatabase, test_various_configs.BaseSnapshotInvalidColumnNames
):
    pass


class TestSnapshotMultiUniqueKey(FromPostgres, test_various_configs.BaseSnapshotMultiUniqueKey):
    pass
