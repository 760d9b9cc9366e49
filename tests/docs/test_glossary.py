"""docs/reference/glossary.md: each term once, in one sentence, and where it is defined."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

TEXT = (ROOT / "docs/reference/glossary.md").read_text("utf-8")
TERM = re.compile(r"^\| \*\*(.+?)\*\* \| (.+) \| (.+) \|$", flags=re.MULTILINE)
PLACE = re.compile(r"`([\w/]+(?:\.py)?)`")


def test_each_term_is_there_once_and_in_order() -> None:
    terms = [term for term, _, _ in TERM.findall(TEXT)]
    assert len(terms) > 60
    assert len(set(terms)) == len(terms)
    for section in TEXT.split("\n## ")[1:]:
        plain = [re.sub(r"^τ \((.*)\)$", r"\1", term) for term, _, _ in TERM.findall(section)]
        assert plain == sorted(plain, key=str.lower), section.partition("\n")[0]


def test_each_term_has_one_sentence() -> None:
    for term, meaning, _ in TERM.findall(TEXT):
        assert meaning.endswith("."), term
        assert ". " not in meaning, f"{term}: more than one sentence"


def test_the_places_where_terms_are_defined_are_there() -> None:
    for line in TEXT.splitlines():
        if not line.startswith("| ") or line.startswith(("| term", "| strategy")):
            continue
        place = line.split("|")[-2]
        found = [p for p in PLACE.findall(place) if "/" in p or p.endswith(".py")]
        assert found, line
        for name in found:
            assert (ROOT / "python/tapestry" / name).exists(), name


def test_the_strategies_are_those_of_the_code() -> None:
    from tapestry.sql.choose_strategy import STRATEGIES

    rows = re.findall(r"^\| `(\w+)` \|", TEXT, flags=re.MULTILINE)
    assert set(rows) == {strategy.name for strategy in STRATEGIES}
