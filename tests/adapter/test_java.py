"""Which Java there is."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry.java import check_java

JAVA_SH = Path(__file__).parents[2] / "tools" / "java.sh"


def _java(folder: Path, text: str) -> None:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('Picked up JAVA_TOOL_OPTIONS: -Da="8"\nopenjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_412"', None),
        ('openjdk version "11.0.2" 2019-01-15', None),
        ("hello", None),
    ],
)
def test_java_is_17_or_21(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, found: int | None
) -> None:
    _java(tmp_path, text)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if found:
        assert check_java() == found
        home = subprocess.run([JAVA_SH], capture_output=True, text=True, check=True).stdout
        assert home.strip() == str(tmp_path)
        return
    with pytest.raises(DbtRuntimeError) as error:
        check_java()
    assert "Spark needs Java 17 or 21" in str(error.value.msg)
    assert len(str(error.value.msg).splitlines()) == 2


def test_the_release_file_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _java(tmp_path, "never asked")
    (tmp_path / "release").write_text('IMPLEMENTOR="X"\nJAVA_VERSION="21.0.2"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert check_java() == 21


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DbtRuntimeError, match="found none on PATH"):
        check_java()
