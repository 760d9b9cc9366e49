"""Snapshots: Delta without being told so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt.tests.adapter.simple_snapshot import fixtures, test_snapshot, test_various_configs

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
    pass


class TestSnapshotCheck(test_snapshot.BaseSnapshotCheck):
    pass


class TestSnapshotColumnNames(WithoutDatabase, test_various_configs.BaseSnapshotColumnNames):
    pass


class TestSnapshotDbtValidToCurrent(
    WithoutDatabase, test_various_configs.BaseSnapshotDbtValidToCurrent
):
    pass


class TestSnapshotInvalidColumnNames(
    WithoutDatabase, test_various_configs.BaseSnapshotInvalidColumnNames
):
    pass


class TestSnapshotMultiUniqueKey(FromPostgres, test_various_configs.BaseSnapshotMultiUniqueKey):
    pass
