"""Fetch Delta's jars into the local cache by starting Spark once; later starts need no network."""

from __future__ import annotations

import sys
import tempfile

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession


def main() -> int:
    """Write a small Delta table to prove that the jars are there; else say what is wrong."""
    builder = (
        SparkSession.builder.appName("fetch-jars")
        .master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config(
            "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
    )
    try:
        session = configure_spark_with_delta_pip(builder).getOrCreate()
        with tempfile.TemporaryDirectory() as folder:
            session.range(1).write.format("delta").save(f"{folder}/table")
        session.stop()
    except Exception as error:  # whatever it is, there are no jars
        print(f"Delta's jars could not be fetched: {str(error).splitlines()[0]}", file=sys.stderr)
        print(
            "Check the network, or the proxy of your Maven repository, and retry.", file=sys.stderr
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
