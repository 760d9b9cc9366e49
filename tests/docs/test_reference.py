"""docs/reference/ is what the code says today."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tools.reference.__main__ import ROOT, written
from tools.reference.config import of_kind, spread
from tools.reference.errors import kinds, messages

from tapestry.cli.commands import COMMANDS
from tapestry.errors import Refusal
from tapestry.runs.kinds.registry import KINDS, all_keys, kind_called
from tapestry.runs.model.keys import ARRIVAL
from tapestry.runs.model.values import choice


@pytest.mark.parametrize("path", written(), ids=lambda path: path.name)
def test_the_page_is_up_to_date(path: Path) -> None:
    assert path.read_text("utf-8") == written()[path], "run: make reference"


def test_nothing_is_left_out() -> None:
    pages = {path.stem: text for path, text in written().items()}
    for name in COMMANDS:
        assert f"\n## {name}\n" in pages["options"]
    for kind in kinds():
        assert f"\n## {kind.__name__}\n" in pages["errors"]
    for key in set(all_keys()) - {ARRIVAL.name}:
        assert f"\n### {key}\n" in pages["config"]


def test_keys_are_listed_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a second kind has like the first is named; what has other values there is described."""
    monkeypatch.setitem(KINDS, "whole", "tests.kinds.whole:Whole")
    rows = kind_called("continuous").keys.rows
    text = "\n".join(of_kind("whole", {name: ("continuous", row) for name, row in rows.items()}))
    assert "- [`verify`](#verify): as on a continuous model\n" in text
    assert "###" not in text
    assert "late_rows" not in text
    other = {"verify": ("continuous", replace(rows["verify"], values=choice("full", "off")))}
    text = "\n".join(of_kind("whole", other))
    assert "### verify\n\n**`sample`** (default) · `full` · `off`\n" in text


def test_a_key_without_a_meaning_is_noticed() -> None:
    with pytest.raises(LookupError, match="arrival has no text"):
        spread(ARRIVAL)


def test_every_refusal_has_a_stable_code() -> None:
    found = [m for m in messages(ROOT) if m.kind == Refusal.__name__]
    refusals = [m for m in found if m.reason or m.code]
    assert len(refusals) > 100
    assert len(found) - len(refusals) == 1, "only one place passes a refusal on"
    for message in refusals:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", message.code), message
    page = next(text for path, text in written().items() if path.stem == "errors")
    section = page.split("\n## Refusal\n")[1].split("\n## ")[0]
    head, _line, *listed = re.findall(r"^\| ([a-z-]+) \|", section, re.M)
    assert (head, {m.code for m in refusals}) == ("code", set(listed))


def test_a_refusal_shows_its_code_and_survives_another_process() -> None:
    refusal = Refusal("no", "select x", "leave it out", code="some-kind")
    assert str(refusal).splitlines()[0] == "no [some-kind]"
    again = pickle.loads(pickle.dumps(refusal))
    assert (str(again), again.code, type(again)) == (str(refusal), "some-kind", Refusal)
