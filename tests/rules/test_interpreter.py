"""The reference interpreter against outcomes that were found by hand, and what always holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from tests.rules.case import Act, Case, Look, history, shown, wanted
from tests.rules.interpreter import Interpreter
from tests.rules.log_cases import LOGS, random_log_case
from tests.rules.named_batches import BATCHES, BY_CLOCK, FAILURES, RELEASES
from tests.rules.named_cases import FIRINGS, OTHERS
from tests.rules.overwrites import OVERWRITES
from tests.rules.queues import Waiting
from tests.rules.random_cases import random_case
from tests.seeds import seeds

CASES = (*FIRINGS, *OTHERS, *BATCHES, *RELEASES, *FAILURES, *BY_CLOCK, *LOGS, *OVERWRITES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_named_cases(case: Case) -> None:
    """What each run of an action executes, in its order."""
    found = Interpreter(case.program).read(history(case))
    assert [[shown(one) for one in run] for run in found] == [
        [wanted(one) for one in run] for run in case.expected
    ]


def test_cases_have_names_of_their_own() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("make", [random_case, random_log_case])
@pytest.mark.parametrize("number", seeds(20))
def test_each_fired_row_is_in_one_batch_or_waits(number: int, make: Callable[[int], Case]) -> None:
    case = make(number)
    interpreter = Interpreter(case.program)
    runs = iter(interpreter.read(history(case)))
    parts: dict[str, list[Waiting]] = {
        name: list(queue.waiting) for name, queue in interpreter.queues.items()
    }
    for step in case.steps:
        if isinstance(step, Act):
            parts[step.action] += [part for batch in next(runs) for part in batch.parts]
    for name, found in parts.items():
        queue = interpreter.queues[name]
        fired: Counter[object] = Counter()
        for one in interpreter.firings:
            if one.rule.name in queue.action.rules:
                for bound, table in one.bound.items():
                    if not queue.action.unique_on or queue.splits(table):
                        fired.update((one.place, bound, row) for row in table.rows)
        left = Counter(
            (one.firing.place, bound, row)
            for one in found
            for bound, rows in one.rows.items()
            if not queue.action.unique_on or queue.splits(one.firing.bound[bound])
            for row in rows
        )
        assert left == fired, case


def test_actions_are_there_from_the_beginning() -> None:
    """Each acts before one of its rules looks for a second time: when its life begins is settled
    there, and the interpreter knows nothing of it."""
    drawn = [make(number) for make in (random_case, random_log_case) for number in range(20)]
    for case in (*CASES, *drawn):
        for action in case.actions:
            looks: Counter[str] = Counter()
            for step in case.steps:
                if isinstance(step, Look) and step.rule in action.rules:
                    looks[step.rule] += 1
                    assert looks[step.rule] == 1, case.name
                elif isinstance(step, Act) and step.action == action.name:
                    break
