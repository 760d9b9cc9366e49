"""The class of a model's configuration in this adapter."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.spark.impl import SparkConfig

DEFAULT_FORMAT = "delta"


@dataclass
class TapestryConfig(SparkConfig):
    """dbt-spark's model configuration, with Delta as the default file format."""

    file_format: str = DEFAULT_FORMAT
    liquid_clustered_by: list[str] | str | None = None
