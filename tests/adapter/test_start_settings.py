"""The settings that a Spark is started with."""

from __future__ import annotations

from pathlib import Path

from dbt.adapters.tapestry.settings import start_settings


def test_settings_are_overridden_and_lists_extended(tmp_path: Path) -> None:
    given = {
        "spark.sql.extensions": "mine.Extension",
        "spark.driver.memory": "7g",
        "spark.driver.extraJavaOptions": "-Dmine=1",
    }
    settings = start_settings(given, tmp_path, "local[3]")
    assert settings["spark.sql.extensions"].startswith("io.delta.sql.DeltaSparkSessionExtension,")
    assert settings["spark.sql.extensions"].endswith("mine.Extension")
    assert settings["spark.driver.extraJavaOptions"].endswith(" -Dmine=1")
    assert settings["spark.driver.memory"] == "7g"
    assert settings["spark.master"] == "local[3]"
    assert settings["spark.sql.session.timeZone"] == "UTC"
    assert settings["spark.sql.warehouse.dir"] == str(tmp_path / "warehouse")


def test_what_helps_one_process_is_not_set_on_a_cluster(tmp_path: Path) -> None:
    only = {
        "spark.storage.blockManagerHeartbeatTimeoutMs",
        "spark.driver.bindAddress",
        "spark.buffer.pageSize",
    }
    here = start_settings({}, tmp_path, None)
    there = start_settings({}, tmp_path, "spark://host:7077")
    assert only <= here.keys()
    assert not only & there.keys()
    larger = {"spark.driver.memory": "64g"}  # of so much a task may want more than 8,192 pages
    given = start_settings(larger, tmp_path, None)
    assert "spark.buffer.pageSize" not in given
