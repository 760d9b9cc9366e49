"""The passes are named in the documentation as they run: in the order of `rewriter.py`."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

from tapestry.sql.look.trace import FORM
from tapestry.sql.passes.sequence import PASSES, REFUSE
from tapestry.sql.read.read_query import READ
from tapestry.sql.rewriter import FORMED

IN_ORDER = [
    *(("tree", one.name, one.why) for one in (*READ, *REFUSE)),
    ("tree → IR", FORM, FORMED),
    *(("IR", one.name, one.why) for one in PASSES),
]


def test_the_table_of_the_passes_is_the_tuple() -> None:
    text = (ROOT / "docs/explanation/architecture.md").read_text("utf-8")
    _, _, section = text.partition("### The passes\n")
    rows = re.findall(r"^\| (tree|tree → IR|IR) \| `(\w+)` \| (.*) \|$", section, re.MULTILINE)
    assert rows == IN_ORDER


def test_the_theory_has_a_row_for_each_in_that_order() -> None:
    text = (ROOT / "docs/explanation/theory/index.md").read_text("utf-8")
    found = re.findall(r"`(?:passes/tree|passes/ir|read)/(\w+)\.py`", text)
    names = [name for _, name, _ in IN_ORDER if name != FORM]
    assert [name for name in found if name in names] == names
    assert text.index(f"`passes/tree/{REFUSE[-1].name}") < text.index(f"normalize/{FORM}.py")
    assert text.index(f"normalize/{FORM}.py") < text.index(f"`passes/ir/{PASSES[0].name}")
