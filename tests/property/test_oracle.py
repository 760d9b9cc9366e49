"""The judge judged: threaded queries against Q(s) read plainly, instants against a finer grid."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta

import sqlglot
from judge.case import random_case
from judge.data import MICRO
from judge.oracle import Definition, beginning, connect, instants, load
from tests.seeds import least, seeds

CASES = 50


def test_threaded_queries_give_the_static_answer_at_every_instant() -> None:
    """One query over all instants is what many queries over the visible rows are."""
    connection, compared = connect(), 0
    for number in seeds(CASES):
        case, rng = random_case(number), random.Random(number)
        load(connection, case.data)
        start = beginning(case.query, case.data, case.begin)
        if start is None:
            continue
        definition = Definition(case.query, connection)
        moments = instants(case.query, case.data, start, max(start, case.ends[-1]))
        chosen = rng.sample(moments, min(3, len(moments)))
        each = definition.at_each(chosen)
        for moment in chosen:
            compared += 1
            assert each.get(moment, Counter()) == definition.at(moment), case.sql
    assert compared


def test_nothing_changes_between_the_instants() -> None:
    """Instants between those of the grid add no answer and make none earlier."""
    connection = connect()
    for number in seeds(CASES):
        case, rng = random_case(number), random.Random(number)
        load(connection, case.data)
        start = beginning(case.query, case.data, case.begin)
        if start is None:
            continue
        moments = instants(case.query, case.data, start, max(start, case.ends[-1]))
        finer = {moment + timedelta(seconds=rng.randint(1, 21_000)) for moment in moments[:-1]}
        finer |= {moment - MICRO for moment in moments[1:]}
        definition = Definition(case.query, connection)
        kept = sorted({*moments, *(moment for moment in finer if moment < moments[-1])})
        assert definition.answers(moments) == definition.answers(kept), case.sql


def test_queries_parse_and_mostly_have_answers() -> None:
    """Every query is Spark SQL to sqlglot; a test of empty answers would see nothing."""
    connection, answered = connect(), 0
    for number in seeds(CASES):
        case = random_case(number)
        sqlglot.parse_one(case.sql, dialect="spark")
        load(connection, case.data)
        start = beginning(case.query, case.data, case.begin)
        if start is not None and start <= case.ends[-1]:
            moments = instants(case.query, case.data, start, case.ends[-1])
            answered += bool(Definition(case.query, connection).answers(moments))
    assert answered >= least(0.55, CASES)
