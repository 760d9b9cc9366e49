"""Rules and actions on Spark against the reference interpreter: cases with a name, random ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.rules.case import Case
from tests.rules.log_cases import LOGS, random_log_case
from tests.rules.named_batches import BATCHES, BY_CLOCK, FAILURES, RELEASES
from tests.rules.named_cases import FIRINGS, OTHERS
from tests.rules.overwrites import OVERWRITES
from tests.rules.random_cases import random_case
from tests.seeds import seeds
from tests.spark.interpreted import World, agree, agree_in_numbers, all_in_one_place

pytestmark = pytest.mark.more


def _marked(case: Case) -> Any:
    marks = (
        [pytest.mark.xfail(reason=case.gap, raises=AssertionError, strict=True)] if case.gap else []
    )
    return pytest.param(case, marks=marks, id=case.name)


@pytest.mark.parametrize(
    "case",
    [
        _marked(one)
        for one in (
            *FIRINGS,
            *OTHERS,
            *BATCHES,
            *RELEASES,
            *FAILURES,
            *BY_CLOCK,
            *LOGS,
            *OVERWRITES,
        )
    ],
)
def test_named_cases(session: Any, schema: str, case: Case) -> None:
    world = World(session, schema)
    world.perform(case)
    agree(world, case)
    agree_in_numbers(world, case)


@pytest.mark.parametrize("number", seeds(24))
def test_random_cases(session: Any, schema: str, number: int) -> None:
    case = random_case(number)
    world = World(session, schema)
    world.perform(case)
    all_in_one_place(world, case, agree(world, case))
    agree_in_numbers(world, case)


@pytest.mark.parametrize("number", seeds(6))
def test_random_cases_by_versions(session: Any, schema: str, number: int) -> None:
    """The versions before and after each commit are compared."""
    case = random_case(number)
    case = replace(case, rules=tuple(replace(one, changes="diff") for one in case.rules))
    world = World(session, schema)
    world.perform(case)
    all_in_one_place(world, case, agree(world, case))


@pytest.mark.parametrize("number", seeds(10))
def test_random_logs(session: Any, schema: str, number: int) -> None:
    case = random_log_case(number)
    world = World(session, schema)
    world.perform(case)
    all_in_one_place(world, case, agree(world, case))
    agree_in_numbers(world, case)
