"""Failing rows of tests kept in tables and views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from dbt.tests.adapter.store_test_failures_tests import basic, test_store_test_failures

pytestmark = pytest.mark.conformance


class TestStoreFailures(test_store_test_failures.BaseStoreTestFailures):
    @pytest.fixture(autouse=True)
    def teardown_method(self, project: Any) -> Iterator[None]:
        yield
        suffix = test_store_test_failures.TEST_AUDIT_SCHEMA_SUFFIX
        with project.adapter.connection_named("__test"):
            relation = project.adapter.Relation.create(
                database=project.database, schema=f"{project.test_schema}_{suffix}"
            )
            project.adapter.drop_schema(relation)


class TestAsInteractions(basic.StoreTestFailuresAsInteractions):
    pass


class TestAsProjectLevelOff(basic.StoreTestFailuresAsProjectLevelOff):
    pass


class TestAsProjectLevelView(basic.StoreTestFailuresAsProjectLevelView):
    pass


class TestAsProjectLevelEphemeral(basic.StoreTestFailuresAsProjectLevelEphemeral):
    pass


class TestAsGeneric(basic.StoreTestFailuresAsGeneric):
    pass


class TestAsExceptions(basic.StoreTestFailuresAsExceptions):
    pass
