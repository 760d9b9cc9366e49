"""Odd files and folders cost their own row only, and nothing outside is read."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.advise.made import PROJECT, made, of

from tapestry.advise import files as files_module
from tapestry.advise.records import CONTINUOUS, UNREAD
from tapestry.advise.survey import survey

GOOD = {"models/good.sql": "{{ config(materialized='table') }} select id from s.t"}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"select '\xff\xfe' as a", "it is not UTF-8 text"),
        (b"select 1 -- " + b"x" * 10_000_000, "it is longer than 1,000,000 bytes"),
        (b"", "it holds no query"),
        (b"  -- nothing", ""),
    ],
)
def test_an_odd_text(tmp_path: Path, content: bytes, why: str) -> None:
    found = made(tmp_path, {**GOOD, "models/odd.sql": content})
    if why:
        assert (of(found, "odd").kind, of(found, "odd").reason) == (UNREAD, why)
    assert of(found, "good").kind == CONTINUOUS


def test_links_and_pipes_are_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.sql").write_text("select secret from s.t")
    project = tmp_path / "project"
    (project / "models").mkdir(parents=True)
    (project / "models/linked.sql").symlink_to(outside / "secret.sql")
    (project / "models/folder").symlink_to(outside, target_is_directory=True)
    os.mkfifo(project / "models/pipe.sql")
    found = made(project, GOOD)
    assert [one.name for one in found.models] == ["good"]
    assert "2 links are not followed" in found.notes
    assert "1 file is no regular one" in found.notes


def test_a_project_cannot_name_folders_outside(tmp_path: Path) -> None:
    (tmp_path / "secret.sql").write_text("select secret from s.t")
    project = tmp_path / "project"
    found = made(project, {**GOOD, "dbt_project.yml": PROJECT.replace("[models]", "[models, ..]")})
    assert [one.name for one in found.models] == ["good"]
    assert any("lies outside of the folder" in note for note in found.notes)


def test_names_with_odd_characters(tmp_path: Path) -> None:
    text = "{{ config(materialized='table') }} select id from {{ ref('a b') }}"
    names = ("x\x1b[2J", "`; drop table t; --", "Größe")
    found = made(tmp_path, {f"models/{name}.sql": text for name in names})
    assert {one.kind for one in found.models} == {CONTINUOUS}
    assert "ref.a b" in found.columns


def test_two_files_of_one_name(tmp_path: Path) -> None:
    found = made(tmp_path, {**GOOD, "models/z/good.sql": "select 1 as a"})
    assert of(found, "models/z/good.sql").reason == "a file before it has the same name"


@pytest.mark.parametrize(
    "text",
    ["models: [", "a: &a [*a]", "- 1", "\t", "sources: [{name: 3, tables: [4, {name: [5]}]}]"],
)
def test_broken_yaml_counts_for_nothing(tmp_path: Path, text: str) -> None:
    found = made(tmp_path, {**GOOD, "models/s.yml": text})
    assert of(found, "good").kind == CONTINUOUS


def test_a_broken_project_file(tmp_path: Path) -> None:
    found = made(tmp_path, {**GOOD, "dbt_project.yml": "name: [\n"})
    assert of(found, "good").kind == CONTINUOUS
    assert "dbt_project.yml could not be read" in found.notes[0]


def test_more_files_than_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "MOST_FILES", 2)
    for number in range(4):
        (tmp_path / f"q{number}.sql").write_text("select id from t")
    found = survey(tmp_path)
    assert len(found.models) == 2
    assert any("more files" in note for note in found.notes)


def test_a_text_of_strangers_gets_two_seconds(tmp_path: Path) -> None:
    """As a model of one's own it is rewritten, in a few more."""
    arms = [f"(select ts, upper(a), upper(b), upper(c), upper(d) from t{n})" for n in range(300)]
    (tmp_path / "wide.sql").write_text("\nunion all\n".join(arms))
    before = time.process_time()
    (one,) = survey(tmp_path).models
    assert one.code == "too-costly"
    assert time.process_time() - before < 8


def test_rules_and_actions_stay_what_they_are(tmp_path: Path) -> None:
    """Their text calls a macro that only a run knows; they are no model to be judged."""
    text = "{{ config(materialized='KIND') }} {{ triggered_by(ref('x')) }} select * from inserted"
    kinds = ("rule", "action", "derived")
    found = made(tmp_path, {f"models/{one}.sql": text.replace("KIND", one) for one in kinds})
    assert [of(found, one).kind for one in kinds] == list(kinds)
    assert (found.counts["stays"], found.counts["unread"]) == (3, 0)
