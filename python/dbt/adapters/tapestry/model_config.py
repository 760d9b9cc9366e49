"""What dbt takes in a model's configuration where the adapter is ours."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.spark.impl import SparkConfig

DEFAULT_FORMAT = "delta"


@dataclass
class TapestryConfig(SparkConfig):
    """dbt-spark's model configuration; Delta unless said."""

    file_format: str = DEFAULT_FORMAT
    liquid_clustered_by: list[str] | str | None = None
