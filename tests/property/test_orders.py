"""Orders of times that conditions imply, against the definition; and whether that would notice.

Of the numbers that ``--queries`` and ``--seed`` ask for a few.
More: ``python -m pytest tests/property/test_orders.py --queries 4000``.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from judge.case import Case, expected
from judge.oracle import connect
from judge.orders import orders_case
from judge.report import Tally, judged, reproduction
from judge.shrink import shrink
from judge.verdict import Verdict, judge
from sqlglot import exp

from tapestry.sql.branches import net, order

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


# -- would it notice? -----------------------------------------------------------------------------
DAY = 86_400_000_000


def _edges_too_short(patch: pytest.MonkeyPatch) -> None:
    known = order.edges_in
    patch.setattr(
        order,
        "edges_in",
        lambda *said: ((one, other, length - DAY) for one, other, length in known(*said)),
    )


def _no_row_is_late(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(order.Order, "needs_late", lambda self, bound: False)


def _ranges_too_narrow(patch: pytest.MonkeyPatch) -> None:
    known = net.Net.over

    def over(self: net.Net, one: net.Node, other: net.Node) -> int | None:
        found = known(self, one, other)
        return found if found is None or found <= 0 else found - DAY

    patch.setattr(net.Net, "over", over)


def _one_way_is_both(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(net._SIDES, exp.LTE, (True, True, 0))


MUTANTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "orders are a day too strict": _edges_too_short,
    "a late row is taken for one in time": _no_row_is_late,
    "ranges are a day too narrow": _ranges_too_narrow,
    "at most is taken for equal": _one_way_is_both,
}
MOST = 400


@pytest.mark.parametrize("name", MUTANTS)
def test_a_slip_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)
    connection = connect()
    for number in range(MOST):
        if judge(orders_case(number), connection).kind == "different":
            print(f"{name}: case {number}")
            return
    pytest.fail("nothing tells")
