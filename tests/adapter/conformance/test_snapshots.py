"""Snapshots: Delta without being told so."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.simple_snapshot import test_snapshot, test_various_configs

pytestmark = pytest.mark.conformance


class TestSnapshot(test_snapshot.BaseSimpleSnapshot):
    pass


class TestSnapshotCheck(test_snapshot.BaseSnapshotCheck):
    pass


class TestSnapshotColumnNames(test_various_configs.BaseSnapshotColumnNames):
    pass


class TestSnapshotDbtValidToCurrent(test_various_configs.BaseSnapshotDbtValidToCurrent):
    pass


class TestSnapshotInvalidColumnNames(test_various_configs.BaseSnapshotInvalidColumnNames):
    pass


class TestSnapshotMultiUniqueKey(test_various_configs.BaseSnapshotMultiUniqueKey):
    pass
