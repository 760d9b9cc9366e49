"""What is said never to end never ends: at no instant is there less than at one before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import duckdb
import pytest
import tests.property.test_lifted_arms as arms
from judge.case import random_case
from judge.oracle import Definition, beginning, connect, instants, load
from judge.verdict import CATALOG
from tests.seeds import seeds

from tapestry.errors import Refusal
from tapestry.sql import rewrite
from tapestry.sql.look.static_answer import static_answer

CASES = 3
RANDOM = 80


def ended(answers: Iterable[Counter[tuple[Any, ...]]]) -> bool:
    """Is one of them gone, or there fewer times, at a later instant?"""
    before: Counter[tuple[Any, ...]] = Counter()
    for now in answers:
        if before - now:
            return True
        before = now
    return False


@pytest.mark.parametrize("template", arms.TEMPLATES)
def test_an_arm_at_instants(template: str) -> None:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for number in seeds(CASES):
        case = arms.random_case(number, template)
        if rewrite(case.sql, arms.CATALOG).endings:
            continue
        arms.load(connection, case)
        texts = (
            static_answer(case.sql, arms.CATALOG, arms.at(s), arms.scans(), "duckdb")
            for s in range(arms.LAST + 1)
        )
        answers = (Counter(connection.execute(text).fetchall()) for text in texts)
        assert not ended(answers), case


def test_random_queries() -> None:
    """Of those that are said to end some do, and of the others none."""
    connection, lasting, ending, seen = connect(), 0, 0, 0
    for number in seeds(RANDOM):
        case = random_case(number)
        try:
            said = rewrite(case.sql, CATALOG).endings
        except Refusal:
            continue
        load(connection, case.data)
        start = beginning(case.query, case.data, None)
        if start is None:
            continue
        moments = instants(case.query, case.data, start, max(start, case.ends[-1]))
        each = Definition(case.query, connection).at_each(moments)
        gone = ended(each.get(moment, Counter()) for moment in moments)
        assert said or not gone, (case.number, case.sql)
        lasting, ending, seen = lasting + (not said), ending + bool(said), seen + gone
    assert lasting > RANDOM // 20
    assert seen > ending // 4, (lasting, ending, seen)
