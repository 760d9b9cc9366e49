"""A command that gets the name of a model of any kind of ours does its work for it, or refuses.

It does its work: it gets as far as to ask the engine for this model. It refuses: in words that name
the kind and the way out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tapestry.cli import main, models
from tapestry.cli.commands import COMMANDS
from tapestry.cli.models import read_manifest
from tapestry.runs.kinds.registry import KINDS, OTHER_NAMES, kind_named, kinds_of_answers
from tapestry.words import with_article

PROFILE = "mine: {target: t, outputs: {t: {type: tapestry, method: session, schema: s}}}"
SOURCES = """
sources: [{name: shop, schema: s, tables: [{name: orders, config: {loaded_at_field: ts}}]}]
"""
MODEL = "{{{{ config(materialized='{}') }}}} select id, ts from {{{{ source('shop', 'orders') }}}}"
NAMES = (*KINDS, *OTHER_NAMES)
OF_NO_MODEL = {"advise", "completion", "datadocs", "doctor", "init", "load", "report"}
"""Commands that take no name of a model."""
WORDS: Mapping[str, list[str]] = {
    "adopt": ["adopt", "{}", "--yes"],
    "deliver": ["deliver", "{}"],
    "eject": ["eject", "{}"],
    "explain": ["explain", "{}"],
    "network": ["network", "{}"],
    "queries": ["queries", "--off", "{}", "--why", "a test"],
    "replay": ["replay", "--from", "2026-01-01", "--select", "{}"],
    "rewind": ["rewind", "{}", "--to", "2026-01-01", "--yes"],
    "rules drop": ["rules", "drop", "{}/1/1"],
    "rules replay": ["rules", "replay", "{}/1/1"],
    "rules run": ["rules", "run", "{}", "--now"],
    "rules show": ["rules", "show", "{}/1/1"],
    "run": ["run", "--select", "{}"],
    "verify": ["verify", "{}"],
    "verify --memories": ["verify", "--memories", "{}"],
    "watch": ["watch", "--select", "{}", "--for", "1s"],
}
"""Command -> how it gets a name."""
NO_ANSWER = {
    "rule": "--full-refresh begins it anew",
    "action": "`tapestry rules` lists its batches",
    "derived": "--full-refresh builds it anew",
}
NEED_ONE = ("adopt", "deliver", "eject", "replay", "rewind", "verify", "verify --memories")
"""Commands that are about the answer of a query."""
OF_BATCHES = tuple(command for command in WORDS if command.startswith("rules"))
OF_ACTIONS = "batches are those of actions"
OTHERS = tuple(kind for kind in KINDS if kind != "action")
REFUSED: Mapping[tuple[str, str], str] = {
    **{
        (command, kind): "batches are those of actions" for command in OF_BATCHES for kind in OTHERS
    },
    **{(command, kind): way for command in NEED_ONE for kind, way in NO_ANSWER.items()},
    ("deliver", "maintained"): "A continuous model over the same sources delivers",
    ("replay", "maintained"): "dbt run brings it up to date",
    ("verify --memories", "maintained"): "Without --memories its table is checked",
    ("verify --memories", "derived"): "Without --memories its table is checked",
}
REFUSED = {key: way for key, way in REFUSED.items() if key != ("verify", "derived")}
"""Command and kind -> the way out that a refusal names."""


class ReachedError(Exception):
    """The engine would be asked now."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("kinds")
    (root / "models").mkdir()
    (root / "dbt_project.yml").write_text("name: mine\nprofile: mine\n")
    (root / "profiles.yml").write_text(PROFILE)
    (root / "models/sources.yml").write_text(SOURCES)
    for name in NAMES:
        (root / f"models/of_{name}.sql").write_text(MODEL.format(name))
    return root


parsed_once = cache(read_manifest)


def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whatever would connect say so instead."""

    def reached(*_: Any, **__: Any) -> Any:
        raise ReachedError

    from tapestry.cli.watch import Engine
    from tapestry.schedule.warm import Warm

    for place in ("models", "explain", "replay", "queries", "network", "project"):
        monkeypatch.setattr(f"tapestry.cli.{place}.open_project", reached)
    for place in ("models", "explain"):
        monkeypatch.setattr(f"tapestry.cli.{place}.compile_models", reached)
    for place in sorted({words[0] for words in WORDS.values()}):
        monkeypatch.setattr(f"tapestry.cli.{place}.read_manifest", parsed_once)
    monkeypatch.setattr(Warm, "run", reached)
    monkeypatch.setattr(Engine, "start", reached)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", WORDS)
def test_each_command_works_on_each_kind_or_says_why_not_and_what_else(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    name: str,
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setenv("NO_COLOR", "1")
    _no_engine(monkeypatch)
    words = [word.format(f"of_{name}") for word in WORDS[command]]
    monkeypatch.setattr(sys, "argv", ["tapestry", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    said = re.sub(r"\s+", " ", shown.out + shown.err)
    kind = kind_named(name)
    way_out = REFUSED.get((command, str(kind)))
    assert ("ReachedError" in said) is (way_out is None), said
    if way_out is not None:
        assert ended.value.code == 2
        assert way_out in said
        assert f"of_{name} is {with_article(kind)} model" in said


def test_every_command_is_asked() -> None:
    asked = {words[0] for words in WORDS.values()}
    assert asked | OF_NO_MODEL == set(COMMANDS)
    assert not asked & OF_NO_MODEL
    assert {kind for _, kind in REFUSED} <= set(KINDS)


def test_each_kind_has_answers_or_a_way_out() -> None:
    assert set(models.NO_ANSWER) == set(KINDS) - set(kinds_of_answers())
