"""Two texts of a query compared: which differences are columns alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tapestry.runs.kinds.continuous.other_columns import other_columns

BELOW = "\n-- session time zone UTC"
SAME: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


@pytest.mark.parametrize(
    ("then", "now", "found"),
    [
        ("select a from t", "select a, w from t", (("w",), ())),
        ("select a, b from t", "select b from t", ((), ("a",))),
        ("select a, b from t", "select b, a from t", SAME),
        ("select a from t", "select a as c from t", (("c",), ("a",))),
        ("select a from t", "select b as a from t", None),
        ("select a from t", "select a, w from t where w > 1", None),
        ("select distinct a from t", "select distinct a, w from t", (("w",), ())),
        ("select a from (select a from t) q",
         "select a, W from (select a, w from t) q", (("W",), ())),
        ("select a from (select a from t) q", "select a from (select a, w from t) q", SAME),
        ("select a from (select a from (select a, w from t) r) q",
         "select a, w from (select a, w from (select a, w from t) r) q", (("w",), ())),
        ("select a from (select distinct a from t) q",
         "select a from (select distinct a, w from t) q", None),
        ("select a from t union all select a from u",
         "select a, w from t union all select a, w from u", (("w",), ())),
        # Arms are put on each other by place: another order of one arm gives other rows.
        ("select a, b from t union all select a, b from u",
         "select a, b from t union all select b, a from u", None),
        ("select t.a from t join u on t.a = u.a",
         "select t.a, t.w from t join u on t.a = u.a and t.w = u.w", None),
        ("select a from t" + BELOW, "select a, w from t" + BELOW.replace("UTC", "EST"), None),
        ("all of them", "select a, w from t", None),
    ],
)  # fmt: skip
def test_which_differences_are_columns_alone(then: str, now: str, found: Any) -> None:
    query: Any = SimpleNamespace(canonical=now)
    told = other_columns(then, query)
    assert (None if told is None else (told.new, told.gone)) == found
