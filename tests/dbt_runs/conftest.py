"""One Spark for the dbt runs inside the test process; a schema of its own for every class."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def embedded_spark(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The process's Spark; whichever folder of tests comes first has started it."""
    from dbt.adapters.tapestry import embedded

    settings = {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "1"}
    return embedded.start(settings, root=tmp_path_factory.mktemp("spark"))


@pytest.fixture(scope="class")
def dbt_profile_target(embedded_spark: Any) -> dict[str, Any]:
    """What dbt's `project` fixture writes to profiles.yml."""
    warehouse = Path(str(embedded_spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:"))
    return {
        "type": "tapestry",
        "method": "session",
        "threads": 2,
        "server_side_parameters": {"spark.sql.warehouse.dir": str(warehouse)},
    }


@pytest.fixture
def as_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Set the instant of the next invocations."""
    return lambda text: monkeypatch.setenv("TAPESTRY_AS_OF", text)
