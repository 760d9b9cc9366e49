"""Orders of times that conditions imply, against the definition; and whether that would notice.

Of the numbers that ``--queries`` and ``--seed`` ask for a few.
More: ``python -m pytest tests/property/test_orders.py --queries 4000``.
"""

from __future__ import annotations

import pytest
from judge.case import Case, expected
from judge.oracle import connect
from judge.orders import orders_case
from judge.report import Tally, judged, reproduction
from judge.shrink import shrink
from judge.verdict import Verdict, judge

SHARE = 2


def test_orders_equal_the_definition(numbers: range) -> None:
    """Each run's rows are the answers whose first instant lies in its window."""
    connection, tally = connect(), Tally()

    def verdict_of(case: Case) -> Verdict:
        return judge(case, connection)

    for number in numbers[::SHARE]:
        case = orders_case(number)
        tally.add(case, verdict_of(case))
        if tally.failures:
            small = shrink(case, judged(case, verdict_of), 400)
            right = expected(small, connection)
            pytest.fail(reproduction(small, right, verdict_of(small)), pytrace=False)
    print(tally.text())
