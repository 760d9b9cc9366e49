"""When a run may do nothing: no answer begins before the least of the bounds, without new rows."""

from __future__ import annotations

from datetime import datetime, timedelta

from judge.case import random_case
from judge.oracle import connect, load
from judge.schema import ARRIVAL, TABLES
from judge.verdict import CATALOG
from tests.verification.judged import LONGEST, aware, utc

from tapestry.errors import Refusal
from tapestry.sql import Rewriting, Scan, Window, rewrite

SCANS = {name: Scan(name, None if ARRIVAL[name] is None else "_arr", "_rid") for name in TABLES}
NUMBERS = range(200, 300)
"""Number 212 has answers from the begin of time on, of a look-up table alone."""


def _rewriting(number: int) -> Rewriting | None:
    case = random_case(number)
    try:
        return rewrite(case.sql, CATALOG, begin=utc(case.begin))
    except Refusal:
        return None


def test_no_answer_begins_before_the_least_bound() -> None:
    """All rows are there already, those of the future too; only time passes."""
    connection, answered, quiet = connect(), 0, 0
    for number in NUMBERS:
        case, rewriting = random_case(number), _rewriting(number)
        if rewriting is None:
            continue
        load(connection, case.data)
        for end in (case.ends[0] - timedelta(days=9), *case.ends):
            tau, far = aware(end), aware(case.ends[-1]) + timedelta(days=90)
            text = rewriting.incremental(Window(tau, far), SCANS, "duckdb")
            if len(text) > LONGEST:
                break
            first = _least(connection, f"SELECT MIN(_matched_at) FROM ({text})")
            due = [
                _least(connection, bound) for bound in rewriting.bounds(tau, tau, SCANS, "duckdb")
            ]
            least = min((instant for instant in due if instant is not None), default=None)
            if first is not None:
                assert least is not None, (number, case.sql, first)
                assert least <= first, (number, case.sql, first)
                answered += 1
            quiet += least is None
    assert answered > 100
    assert quiet > 8


def _least(connection: object, text: str) -> datetime | None:
    ((found,),) = connection.execute(text).fetchall()  # type: ignore[attr-defined]
    return found if found is None or found.tzinfo else aware(found)
