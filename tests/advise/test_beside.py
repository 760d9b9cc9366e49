"""Macros that a monorepo keeps beside the project are found without being named."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.advise.made import PROJECT, made, of

from tapestry.advise.project import local_packages, neighbours, repository
from tapestry.advise.records import CONTINUOUS, UNREAD

HEAD = "{{ config(materialized='table') }} "
TEXT = HEAD + "select {{ cents('n') }} as c from {{ source('s', 't') }}"
CENTS = "{% macro cents(a) %}{{ a }} * 100{% endmacro %}"


def _repository(root: Path) -> Path:
    (root / ".git").mkdir()
    project = root / "finance"
    project.mkdir()
    return project


@pytest.mark.parametrize("there", ["macros/a.sql", "shared/macros/a.sql"])
def test_macros_of_a_neighbour_in_the_repository_are_known(tmp_path: Path, there: str) -> None:
    path = tmp_path / there
    path.parent.mkdir(parents=True)
    path.write_text(CENTS)
    if there.startswith("shared"):
        (tmp_path / "shared/dbt_project.yml").write_text("name: shared\n")
    project = tmp_path / "finance"
    assert of(made(project, {"models/m.sql": TEXT}), "m").kind == UNREAD, "no repository"
    (tmp_path / ".git").mkdir()
    assert of(made(project, {"models/m.sql": TEXT}), "m").kind == CONTINUOUS


def test_what_only_lies_beside_takes_no_name(tmp_path: Path) -> None:
    project = _repository(tmp_path)
    (tmp_path / "macros").mkdir()
    (tmp_path / "macros/a.sql").write_text(CENTS.replace("100", "nonsense("))
    files = {"models/m.sql": TEXT, "macros/own.sql": CENTS}
    assert of(made(project, files), "m").kind == CONTINUOUS


def test_local_packages_are_a_part_of_the_project(tmp_path: Path) -> None:
    project = _repository(tmp_path)
    package = tmp_path / "libraries/money"
    (package / "macros").mkdir(parents=True)
    (package / "dbt_project.yml").write_text("name: money\n")
    (package / "macros/a.sql").write_text(CENTS)
    text = TEXT.replace("cents(", "money.cents(")
    assert of(made(project, {"models/m.sql": text}), "m").kind == UNREAD
    named = {"models/m.sql": text, "packages.yml": "packages: [{local: ../libraries/money}]"}
    assert of(made(project, named), "m").kind == CONTINUOUS


def test_nothing_outside_of_the_repository_is_looked_at(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / ".git").mkdir()
    (inner / "dbt_project.yml").write_text(PROJECT)
    assert repository(inner) == inner
    assert list(neighbours(inner)) == []
    said = {"packages": [{"local": "../outside"}, {"local": "."}, {"local": 7}, "x", {"git": "y"}]}
    assert list(local_packages(inner, said)) == []
    assert list(local_packages(inner, {"packages": "none"})) == []
