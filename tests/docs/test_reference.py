"""docs/reference/ is what the code says today."""

from __future__ import annotations

import inspect

import pytest
from tools.reference.__main__ import ROOT, written
from tools.reference.config import SOURCE, meanings
from tools.reference.errors import kinds

from tapestry.cli.commands import COMMANDS
from tapestry.runs.model.model import KEYS, ModelConfig


@pytest.mark.parametrize("path", written(), ids=lambda path: path.name)
def test_the_page_is_up_to_date(path: object) -> None:
    pages = {str(p): text for p, text in written().items()}
    shown = ROOT.joinpath(str(path)).read_text("utf-8")
    assert shown == pages[str(path)], "run: make reference"


def test_nothing_is_left_out() -> None:
    pages = {path.stem: text for path, text in written().items()}
    for name in COMMANDS:
        assert f"\n## {name}\n" in pages["options"]
    for kind in kinds():
        assert f"\n## {kind.__name__}\n" in pages["errors"]
    for key in set(KEYS) & set(ModelConfig.__dataclass_fields__):
        assert f"\n### {key}\n" in pages["config"]


def test_a_key_without_a_meaning_is_noticed() -> None:
    code = (ROOT / SOURCE).read_text("utf-8")
    told = meanings(code)
    assert set(told) == set(ModelConfig.__dataclass_fields__)
    text = next(doc for doc in told.values() if len(doc) > 40)
    assert text in inspect.cleandoc(" ".join(code.split()))
