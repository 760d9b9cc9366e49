"""Planted mistakes: ``full`` notices every run that goes wrong, ``sample`` within N runs.

The table of docs/explanation/theory/verification.md is what
``python -m tests.verification.levels`` measures over all queries;
here two queries that each mistake spoils.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.verification.levels import measure
from tests.verification.mutants import MUTANTS
from tests.verification.stream import QUERIES, right

from tapestry.sql import Rewriting, Scan, Window
from tapestry.sql.statement.render import Rendering

N = 40
RARE = {"late rows are taken for punctual"}
"""Spoils a row in a few runs of forty: a sample may miss it."""
TELLING = {
    "every < is <=": ("not in", "a left join"),
    "every > is >=": ("two bounds", "a join"),
    "every <= is <": ("not in", "a union"),
    "the guards against NULL are lost": ("not in",),
    "keys compare with = (a lost NULL rule)": ("distinct", "except"),
    "late rows are taken for punctual": ("two bounds", "a union"),
    "a re-opened answer is delivered again": ("gaps", "touch and go"),
    "an old value is delivered again": ("distinct",),
    "blocking rows are ignored": ("an anti-join", "not in"),
    "every start of an answer is delivered": ("gaps", "touch and go"),
    "the last start counts, not the first": ("distinct",),
    "rows of a table are one row": ("gaps", "touch and go"),
}
USUAL = ("a join", "a left join")


@pytest.mark.parametrize("name", MUTANTS)
def test_levels_notice(name: str) -> None:
    """Of the runs that go wrong full notices each, and a sample one of the first."""
    queries = {query: QUERIES[query] for query in TELLING.get(name, USUAL)}
    levels = measure(MUTANTS[name], queries, windows=N, full=2)
    assert levels, "the mistake spoils nothing"
    assert all(level.noticed == level.asked for level in levels), levels
    if name not in RARE:
        assert any(level.sample is not None and level.sample <= N for level in levels), levels


def _taken_for_unique(rewriting: Rewriting, window: Window, scans: dict[str, Scan]) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rendering, "unique", lambda *_: True)
        return right(replace(rewriting), window, scans)


def test_levels_notice_values_that_are_taken_for_unique() -> None:
    """The mistake once made: DISTINCT of fewer columns than the table of values below it has."""
    sql = "select distinct q.k from (select distinct m.k, m.v from m where now() >= m.due) as q"
    (level,) = measure(_taken_for_unique, {"values": sql}, windows=N, full=2)
    assert level.noticed == level.asked > 0
    assert level.sample is not None
