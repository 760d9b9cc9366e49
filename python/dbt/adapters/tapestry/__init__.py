"""The dbt adapter `type: tapestry`: dbt-spark whole, with an embedded Spark and Delta."""

from dbt.adapters.base import AdapterPlugin

from dbt.adapters.tapestry.connections import TapestryConnectionManager
from dbt.adapters.tapestry.credentials import TapestryCredentials
from dbt.adapters.tapestry.impl import TapestryAdapter
from dbt.include import tapestry

Plugin = AdapterPlugin(
    adapter=TapestryAdapter,  # type: ignore[arg-type]
    credentials=TapestryCredentials,
    include_path=tapestry.PACKAGE_PATH,
    dependencies=["spark"],
)

__all__ = ["Plugin", "TapestryAdapter", "TapestryConnectionManager", "TapestryCredentials"]
