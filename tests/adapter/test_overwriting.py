"""The statement of insert_overwrite: a batch on Delta takes the place of the rows of its time."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import jinja2
import pytest

from dbt.adapters.tapestry.naming import TapestryRelation

MACROS = Path(__file__).parents[2] / "macros"
BATCH = {
    "event_time_start": datetime(2026, 1, 31, tzinfo=timezone.utc),
    "event_time_end": datetime(2026, 2, 1, tzinfo=timezone.utc),
}
OF_ITS_TIME = (
    "insert into table db.t replace where {} >= '2026-01-31 00:00:00+00:00'"
    " and {} < '2026-02-01 00:00:00+00:00' select id from s"
)
PARTED = "insert overwrite table db.t partition (m) select id from s"


def statement(strategy: str, batch: Any, **kind: Any) -> str:
    environment = jinja2.Environment(extensions=["jinja2.ext.do"])
    macros = environment.from_string((MACROS / "get_insert_overwrite_sql.sql").read_text("utf-8"))
    target = TapestryRelation.create(schema="db", identifier="t", type="table", **kind)
    config = {"incremental_strategy": strategy, "event_time": "read at"}
    given = {
        "model": {"batch": batch} if batch else {},
        "config": config,
        "partition_cols": lambda label: f"{label} (m)",
        "tapestry__columns_from": lambda source, table: "id",
    }
    module = macros.make_module(given)
    return " ".join(module.get_insert_overwrite_sql("s", target, target).split())


@pytest.mark.parametrize(
    ("strategy", "batch", "kind", "wanted"),
    [
        ("microbatch", BATCH, {"is_delta": True}, OF_ITS_TIME.replace("{}", "`read at`")),
        ("microbatch", BATCH, {}, PARTED),
        ("microbatch", None, {"is_delta": True}, PARTED),
        ("insert_overwrite", BATCH, {"is_delta": True}, PARTED),
        ("insert_overwrite", None, {"is_delta": True}, PARTED),
        (
            "microbatch",
            BATCH,
            {"is_iceberg": True},
            PARTED.replace("table ", "").replace("partition (m) ", ""),
        ),
    ],
)
def test_what_takes_the_place_of_what(
    strategy: str, batch: Any, kind: dict[str, Any], wanted: str
) -> None:
    plain = statement(strategy, batch, **kind)
    assert plain == wanted
