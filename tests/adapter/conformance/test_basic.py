"""The basic suite: seeds, views, tables, incremental models, tests, snapshots, docs."""

from __future__ import annotations

import getpass
from typing import Any

import pytest
from dbt.tests.adapter.basic import (
    expected_catalog,
    test_adapter_methods,
    test_base,
    test_docs_generate,
    test_empty,
    test_ephemeral,
    test_generic_tests,
    test_incremental,
    test_singular_tests,
    test_singular_tests_ephemeral,
    test_snapshot_check_cols,
    test_snapshot_timestamp,
    test_table_materialization,
    test_validate_connection,
)
from dbt.tests.util import run_dbt

pytestmark = pytest.mark.conformance


class TestSimpleMaterializations(test_base.BaseSimpleMaterializations):
    pass


class TestSingularTests(test_singular_tests.BaseSingularTests):
    pass


class TestSingularTestsEphemeral(test_singular_tests_ephemeral.BaseSingularTestsEphemeral):
    pass


class TestEmpty(test_empty.BaseEmpty):
    pass


class TestEphemeral(test_ephemeral.BaseEphemeral):
    pass


class TestIncremental(test_incremental.BaseIncremental):
    pass


class TestIncrementalNotSchemaChange(test_incremental.BaseIncrementalNotSchemaChange):
    pass


class TestIncrementalBadStrategy(test_incremental.BaseIncrementalBadStrategy):
    def test_incremental_invalid_strategy(self, project: Any) -> None:
        """dbt-spark checks the strategy itself, before dbt would miss a macro."""
        results = run_dbt(["run"], expect_pass=False)
        message = results.results[0].message
        assert "Invalid incremental strategy provided: bad_strategy" in message


class TestGenericTests(test_generic_tests.BaseGenericTests):
    pass


class TestSnapshotCheckCols(test_snapshot_check_cols.BaseSnapshotCheckCols):
    pass


class TestSnapshotTimestamp(test_snapshot_timestamp.BaseSnapshotTimestamp):
    pass


class TestAdapterMethods(test_adapter_methods.BaseAdapterMethod):
    pass


class TestTableMaterialization(test_table_materialization.BaseTableMaterialization):
    pass


class TestValidateConnection(test_validate_connection.BaseValidateConnection):
    pass


class TestDocsGenerate(test_docs_generate.BaseDocsGenerate):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any, profile_user: str) -> Any:
        return expected_catalog.base_expected_catalog(
            project,
            role=getpass.getuser(),
            id_type="bigint",
            text_type="string",
            time_type="timestamp",
            view_type="view",
            table_type="table",
            model_stats=expected_catalog.no_stats(),
        )


class TestDocsGenerateReferences(test_docs_generate.BaseDocsGenReferences):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any, profile_user: str) -> Any:
        """dbt-spark counts columns from 0, the suite's seed from 1."""
        catalog = expected_catalog.expected_references_catalog(
            project,
            role=getpass.getuser(),
            id_type="bigint",
            text_type="string",
            time_type="timestamp",
            bigint_type="bigint",
            view_type="view",
            table_type="table",
            model_stats=expected_catalog.no_stats(),
        )
        for node in (*catalog["nodes"].values(), *catalog["sources"].values()):
            first = min(column["index"] for column in node["columns"].values())
            for column in node["columns"].values():
                column["index"] -= first
        return catalog
