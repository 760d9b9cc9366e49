"""Every block of code on every page is run, or says why not (the marks are in pages.py)."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
import yaml
from tests.docs import yaml_blocks
from tests.docs.commands import commands_of, trouble
from tests.docs.pages import ROOT, Part, blocks, pages, parts
from tests.docs.sql_blocks import World, render

SHELL = ("sh", "console", "")
LANGUAGES = {*SHELL, "sql", "yaml", "python", "table", "text", "cron", "mail", "ini"}
UNMARKED = {"sh", "console", "", "sql", "yaml", "python", "cron"}
CRON = re.compile(r"(@(hourly|daily)|\S+ \S+ \S+ \S+ \S+) (.*)")


def _named(found: list[Part]) -> list[object]:
    return [pytest.param(part, id=part.name) for part in found]


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_each_block_has_a_language_that_is_tested(path: Path) -> None:
    for part in parts(path):
        assert part.language in LANGUAGES, f"{part.name}: {part.language}"
        if part.language not in UNMARKED:
            assert part.mark, f"{part.name}: {part.language} needs a mark"


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_sql_and_the_rows_that_it_gives(path: Path) -> None:
    page = parts(path)
    world = World.of(page)
    for part in page:
        try:
            world.take(part)
        except Exception as error:
            raise AssertionError(f"{part.name}: {error}") from error


@pytest.mark.parametrize("part", _named([p for p in blocks("sql") if p.mark in ("", "refused")]))
def test_the_configuration_in_sql_is_valid(part: Part) -> None:
    _, config = render(part.text)
    yaml_blocks.config_of(config)


@pytest.mark.parametrize("part", _named([p for p in blocks("yaml") if p.mark != "not run"]))
def test_yaml(part: Part) -> None:
    if part.mark == "parsed":
        assert yaml.safe_load(part.text)
    else:
        yaml_blocks.check(part.text)


@pytest.mark.parametrize("part", _named([p for p in blocks(*SHELL) if p.mark != "not run"]))
def test_commands_are_there_with_these_options(part: Part) -> None:
    found = commands_of(part.text)
    assert found, "no command in it"
    assert not [why for words in found if (why := trouble(words))]


@pytest.mark.parametrize("part", _named([p for p in blocks("cron") if p.mark != "not run"]))
def test_lines_of_a_crontab(part: Part) -> None:
    lines = [line for line in part.text.splitlines() if line and not line.startswith("#")]
    for line in lines:
        match = CRON.fullmatch(line)
        assert match, line
        assert not [why for words in commands_of(match.group(3)) if (why := trouble(words))]


@pytest.mark.parametrize("part", _named(blocks("python")))
def test_python(part: Part, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if part.mark == "not run" and "compiled" not in part.said:
        return
    code = compile(part.text, part.name, "exec") if ">>>" not in part.text else None
    if part.mark == "not run":
        return
    monkeypatch.chdir(tmp_path)
    if code is not None:
        exec(code, {"__name__": "page"})
        return
    example = doctest.DocTestParser().get_doctest(part.text, {}, part.name, part.name, part.line)
    assert doctest.DocTestRunner().run(example).failed == 0


def test_there_is_something_to_test() -> None:
    """A change of the layout that hides the blocks from the reader above would pass otherwise."""
    assert len(blocks("sql")) > 20
    assert len(blocks(*SHELL)) > 15
    assert len([p for path in pages() for p in parts(path) if p.mark == "run at"]) > 8
