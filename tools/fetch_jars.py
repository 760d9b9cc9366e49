"""Fetch Delta's jars into the local cache, by starting Spark once; later starts need no network."""

from __future__ import annotations

import sys

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession


def main() -> int:
    """Start a Delta session and prove that it writes a table; say what is wrong where it does not."""
    builder = (
        SparkSession.builder.appName("fetch-jars")
        .master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    )
    try:
        session = configure_spark_with_delta_pip(builder).getOrCreate()
        jvm = session.sparkContext._jvm
        assert jvm is not None
        jvm.java.lang.Class.forName("io.delta.sql.DeltaSparkSessionExtension")
        session.stop()
    except Exception as error:  # any failure here means: no jars
        print(f"Delta's jars could not be fetched: {error}", file=sys.stderr)
        print("Check the network (or a proxy of your Maven repository) and run it again.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
