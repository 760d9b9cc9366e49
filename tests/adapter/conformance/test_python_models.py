"""Python models in the embedded Spark."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.python_model import test_python_model, test_spark
from dbt.tests.util import run_dbt

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
    def test_different_dataframes(self, project: Any) -> None:
        """koalas has been part of pyspark since 3.2; pandas is the user's to install."""
        pytest.importorskip("pandas", minversion="2.2")
        assert len(run_dbt(["run", "--exclude", "koalas_df"])) == 3

    def test_pyspark_dataframe(self, project: Any) -> None:
        assert len(run_dbt(["run", "--select", "pyspark_df"])) == 1
