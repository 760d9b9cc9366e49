"""`tapestry doctor`: which storage lets one of two writers win."""

from __future__ import annotations

import pytest
from tests.cli.answers import Answers

from dbt.adapters.tapestry.log_store import CLASS
from tapestry.cli.check_storage import DYNAMO, check_storage, exclusion


@pytest.mark.parametrize(
    ("scheme", "log_store", "status"),
    [
        ("hdfs", "", "ok"),
        ("abfss", "", "ok"),
        ("gs", "", "ok"),
        ("s3a", "", "wrong"),
        ("s3a", DYNAMO, "ok"),
        ("s3a", "io.delta.storage.S3SingleDriverLogStore", "wrong"),
        ("file", "", "note"),
        ("file", CLASS, "ok"),
        ("file", "org.example.LogStore", "note"),
        ("cosn", "", "note"),
    ],
)
def test_which_storage_lets_one_of_two_writers_win(
    scheme: str, log_store: str, status: str
) -> None:
    finding = exclusion(f"{scheme}://bucket/warehouse", scheme, log_store)
    assert finding.status == status
    assert bool(finding.fix) == (status != "ok")


def test_the_schemas_location_counts_and_the_setting_for_its_scheme() -> None:
    answers = {
        "DESCRIBE SCHEMA": [("Namespace Name", "prod"), ("Location", "s3a://lake/prod.db")],
        "SET spark.delta.logStore.s3a.impl": [("spark.delta.logStore.s3a.impl", DYNAMO)],
    }
    assert check_storage(Answers(answers), "prod").status == "ok"
    answers["SET spark.delta.logStore.s3a.impl"] = [("…", "<undefined>")]
    answers["SET spark.delta.logStore.class"] = [("…", "<undefined>")]
    assert check_storage(Answers(answers), "prod").status == "wrong"
