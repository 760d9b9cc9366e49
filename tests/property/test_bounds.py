"""When a run may do nothing: no answer begins before the least of the bounds, without new rows."""

from __future__ import annotations

from datetime import datetime, timedelta

import duckdb
from judge.oracle import connect, load
from tests.verification.judged import LONGEST, aware, cases, everything_of

from tapestry.sql import Window

NUMBERS = range(200, 280)
"""Number 212 has answers from the begin of time on, of a look-up table alone."""


def test_no_answer_begins_before_the_least_bound() -> None:
    """All rows are there already, those of the future too; only time passes."""
    connection, answered, quiet = connect(), 0, 0
    for case, rewriting in cases(NUMBERS):
        load(connection, case.data)
        scans = everything_of(case.data)
        for end in (case.ends[0] - timedelta(days=9), *case.ends):
            tau, far = aware(end), aware(case.ends[-1]) + timedelta(days=90)
            text = rewriting.incremental(Window(tau, far), scans, "duckdb")
            if len(text) > LONGEST:
                break
            first = _least(connection, f"SELECT MIN(_matched_at) FROM ({text})")
            due = [
                _least(connection, bound) for bound in rewriting.bounds(tau, tau, scans, "duckdb")
            ]
            least = min((instant for instant in due if instant is not None), default=None)
            if first is not None:
                assert least is not None, (case.number, case.sql, first)
                assert least <= first, (case.number, case.sql, first)
                answered += 1
            quiet += least is None
    assert answered > 60
    assert quiet > 5


def _least(connection: duckdb.DuckDBPyConnection, text: str) -> datetime | None:
    ((found,),) = connection.execute(text).fetchall()
    return found if found is None or found.tzinfo else aware(found)
