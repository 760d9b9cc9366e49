"""Chains of LEFT JOINs to tables that grow, against the definition; and whether that would notice.

Of the numbers that ``--queries`` and ``--seed`` ask for a few, since each case joins many tables.
More: ``python -m pytest tests/property/test_chains.py --queries 4000``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from judge.case import Case, expected
from judge.chains import chain_case
from judge.oracle import connect
from judge.report import Tally, judged, reproduction
from judge.shrink import shrink
from judge.verdict import Verdict, catalog_of, judge
from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql import rewrite
from tapestry.sql.strategies.stage import AFTER, BEFORE, HIT, Stage

SHARE = 4  # of the numbers asked for, one in so many is judged
MOST = 400


def _staged(numbers: range) -> Iterator[Case]:
    """Those of the cases that are evaluated one join after the other."""
    for number in numbers:
        case = chain_case(number)
        with suppress(Refusal):
            if rewrite(case.sql, catalog_of(case.data)).strategy == "stages":
                yield case


def test_chains_equal_the_definition(numbers: range) -> None:
    """Each run's rows are the answers whose first instant lies in its window."""
    connection, tally = connect(), Tally()

    def verdict_of(case: Case) -> Verdict:
        return judge(case, connection)

    for case in _staged(numbers[::SHARE]):
        tally.add(case, verdict_of(case))
        if tally.failures:
            small = shrink(case, judged(case, verdict_of), MOST)
            right = expected(small, connection)
            pytest.fail(reproduction(small, right, verdict_of(small)), pytrace=False)
    print(tally.text())


# -- would they notice? ---------------------------------------------------------------------------
Patch = Callable[[pytest.MonkeyPatch], None]


def _patched(owner: Any, name: str, new: Any) -> Patch:
    return lambda patch: patch.setattr(owner, name, new)


def _by_kind(name: str, kind: int, value: Callable[[Stage], Any]) -> Patch:
    known = getattr(Stage, name)
    return _patched(
        Stage, name, lambda self, asked: value(self) if asked == kind else known(self, asked)
    )


def _of_one_interval(self: Stage, pairs: exp.Subquery, keys: Any) -> exp.Select:
    return RANKED(Stage(self.number, exp.Literal.number(1), self.high, self.ends), pairs, keys)


RANKED = Stage.ranked
MUTANTS: dict[str, tuple[Patch, int]] = {
    "a pair holds before its row": (_by_kind("lower", HIT, lambda one: one.column("b")), 0),
    "a pair holds after its match": (_by_kind("upper", HIT, lambda one: one.high.copy()), 161),
    "no row is without a match at first": (_by_kind("holds", BEFORE, lambda one: [exp.false()]), 0),
    "NULLs stay though a match begins": (
        _by_kind("upper", BEFORE, lambda one: one.high.copy()),
        0,
    ),
    "no NULLs come back where a match ends": (
        _by_kind("holds", AFTER, lambda one: [exp.false()]),
        0,
    ),
    "a row's intervals are taken together": (_patched(Stage, "ranked", _of_one_interval), 194),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_slip_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed stage gives other answers for one of the first cases from a number on."""
    patch, first = MUTANTS[name]
    patch(monkeypatch)
    connection = connect()
    for case in _staged(range(first, first + MOST)):
        if judge(case, connection).kind == "different":
            print(f"{name}: case {case.number}")
            return
    pytest.fail("nothing tells")
