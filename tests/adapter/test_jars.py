"""Delta's jars are remembered while they are there, in a list that is ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt.adapters.tapestry import jars
from tapestry.folders import ivy_folder


def test_jars_are_remembered_while_they_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wanted = jars.packages()
    fetched = {"spark.jars.packages": wanted, "spark.jars.ivy": str(ivy_folder())}
    assert jars.jar_settings({}) == fetched
    given = {"spark.jars.ivy": str(tmp_path / "ivy")}
    assert jars.jar_settings(given) == {**fetched, **given}
    jar = tmp_path / "delta.jar"
    jar.touch()
    jars.remember(wanted, f"file://{jar}")
    assert jars.jar_settings({}) == {"spark.jars": str(jar)}
    jar.unlink()
    assert jars.jar_settings({}) == fetched


def test_a_list_of_jars_that_is_not_ours_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The jars are fetched anew, to a place that the list says nothing of."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jar = tmp_path / "fetched" / "delta.jar"
    jar.parent.mkdir()
    jar.touch()
    jars.remember(jars.packages(), f"file://{jar}")
    assert jars.jar_settings({}) == {"spark.jars": str(jar)}
    (memory,) = (tmp_path / "dbt-tapestry").glob("jars-*.txt")
    memory.rename(tmp_path / "other")
    memory.symlink_to(tmp_path / "other")
    settings = jars.jar_settings({})
    assert "spark.jars" not in settings
    assert settings["spark.jars.ivy"] == str(tmp_path / "dbt-tapestry" / "ivy")
