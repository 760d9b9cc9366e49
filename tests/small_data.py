"""Settings of Spark for tables of a few rows."""

from __future__ import annotations

SMALL_DATA = {
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    # A handful of rows is over before generated code is compiled.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
