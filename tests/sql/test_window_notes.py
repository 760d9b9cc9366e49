"""Where ranges of tables come from in a window: what `tapestry explain` says above Q^I."""

from __future__ import annotations

import pytest

from tapestry.sql import Catalog, Column, Source, rewrite
from tapestry.sql.look.trace import Q_I
from tapestry.sql.passes.sequence import passes_with

COLUMNS = (
    Column("id", "int"),
    Column("day", "date"),
    Column("amount", "decimal(15,2)"),
    Column("ts", "timestamp"),
)
CATALOG = Catalog({"t": Source("t", COLUMNS, "ts")})
FROM = "select 1 as one from t a, t b, t c where "
STEP = "b.ts <= a.ts + INTERVAL '10' DAY"
# title: (query, assume, lines)
CASES = {
    "a chain of conditions": (
        f"{FROM} c.ts <= b.ts + interval 10 day and b.ts <= a.ts + interval 10 day",
        (),
        {
            "b.ts > :tau - INTERVAL '240' HOUR follows from"
            " c._arrival > :tau AND c.ts <= b.ts + INTERVAL '10' DAY",
            "a.ts > :tau - INTERVAL '480' HOUR follows from"
            f" c._arrival > :tau AND c.ts <= b.ts + INTERVAL '10' DAY AND {STEP}",
        },
    ),
    "an assumption": (
        f"{FROM} {STEP}",
        ("b.ts + interval 1 day >= c.ts",),
        {
            "a.ts > :tau - INTERVAL '264' HOUR follows from"
            f" c._arrival > :tau AND assume b.ts + interval 1 day >= c.ts AND {STEP}",
        },
    ),
    "a subquery": (
        "select 1 as one from t a where not exists (select 1 from t n where n.ts > a.ts)",
        (),
        {"n.ts > :tau + INTERVAL '1' MICROSECOND follows from a._arrival > :tau AND n.ts > a.ts"},
    ),
    "what is measured": (
        "select 1 as one from t a, t b where a.day <= b.day and a.amount > 5 and a.id <> b.id",
        (),
        {
            "least and greatest a.day are measured where a.amount > 5 AND a._arrival > :tau AND"
            " a._arrival <= :t and bound what they are chained to",
            "least and greatest b.day are measured where b._arrival > :tau AND b._arrival <= :t and"
            " bound what they are chained to",
        },
    ),
    "nothing is chained": ("select 1 as one from t a, t b where a.id <> b.id", (), set()),
}


@pytest.mark.parametrize("title", CASES)
def test_notes(title: str) -> None:
    query, assume, lines = CASES[title]
    (shown,) = (s.sql for s in rewrite(query, CATALOG, assume).trace if s.name == Q_I)
    said = {line.removeprefix("-- ") for line in shown.splitlines() if line.startswith("-- ")}
    if lines:
        assert lines <= said, said
    else:
        assert not said


def test_nothing_is_measured_where_nothing_is_inferred() -> None:
    query = CASES["what is measured"][0]
    off = rewrite(query, CATALOG, passes=passes_with(infer=False))
    (shown,) = (step.sql for step in off.trace if step.name == Q_I)
    assert "measured" not in shown
