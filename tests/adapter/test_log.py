"""What others log is not the user's."""

from __future__ import annotations

import os
import subprocess
import sys


def test_a_python_model_brings_no_warning_of_pandas_on_spark() -> None:
    """dbt-spark's frame around a Python model imports it; the user saw its warning in every run."""
    code = "from dbt.adapters.tapestry.log import hush_pyspark as h; h(); import pyspark.pandas"
    environment = {k: v for k, v in os.environ.items() if k != "PYARROW_IGNORE_TIMEZONE"}
    program = [sys.executable, "-W", "error::UserWarning", "-c", code]
    ended = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
