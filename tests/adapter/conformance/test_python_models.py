"""Python models in the embedded Spark."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.python_model import test_python_model, test_spark

pytestmark = pytest.mark.conformance


class TestPythonModel(test_python_model.BasePythonModelTests):
    pass


class TestPythonIncremental(test_python_model.BasePythonIncrementalTests):
    pass


class TestPythonMetaGet(test_python_model.BasePythonMetaGetTests):
    pass


class TestPythonEmpty(test_python_model.BasePythonEmptyTests):
    pass


class TestPySpark(test_spark.BasePySparkTests):
    pass
