"""The wheel, installed into a fresh environment outside of the checkout, runs a new project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 1200.0
"""Seconds: half a gigabyte of Spark is installed."""


def ran(*command: str | Path, cwd: Path) -> str:
    """What a program says on its standard output; with the variables of a new user's shell."""
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "JAVA_HOME") if name in os.environ}
    done = subprocess.run(
        [str(one) for one in command],
        cwd=cwd,
        env={**kept, "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    ran(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


def test_it_holds_what_is_not_python_too(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for folder in ("python/tapestry", "python/dbt"):
        for path in (ROOT / folder).rglob("*"):
            name = path.relative_to(ROOT / "python").as_posix()
            if path.is_file() and "__pycache__" not in name:
                assert name in names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "tools/"))]


@pytest.mark.own_jvm
def test_a_new_environment_makes_a_project_seeds_and_runs(wheel: Path, tmp_path: Path) -> None:
    ran(sys.executable, "-m", "venv", tmp_path / "env", cwd=tmp_path)
    bin_ = tmp_path / "env" / "bin"
    quiet = ("--quiet", "--disable-pip-version-check")
    ran(bin_ / "python", "-m", "pip", "install", *quiet, f"{wheel}[local]", cwd=tmp_path)
    ran(bin_ / "tapestry", "init", "fresh", cwd=tmp_path)
    project = tmp_path / "fresh"
    (project / "seeds").mkdir(exist_ok=True)
    (project / "seeds" / "prices.csv").write_text("item,price\na,3\nb,4\n")
    (project / "models" / "total.sql").write_text(
        "{{ config(materialized='maintained') }}\n"
        "select count(*) as n, sum(price) as total from {{ ref('prices') }}\n"
    )
    ran(bin_ / "dbt", "seed", cwd=project)
    ran(bin_ / "dbt", "run", cwd=project)
    ran(bin_ / "dbt", "run", cwd=project)
    shown = ran(
        bin_ / "dbt", "--quiet", "show", "--inline", "select * from {{ ref('total') }}",
        "--output", "json", cwd=project,
    )  # fmt: skip
    assert json.loads(shown)["show"] == [{"n": 2, "total": 7}]
