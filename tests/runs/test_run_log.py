"""A row of ``tapestry_runs`` says of a run that replaces rows how the table was kept."""

from __future__ import annotations

from typing import Any

import pytest
import sqlglot
from tests.runs.state_rows import ROW

from tapestry.runs.checks.checks import Findings
from tapestry.runs.checks.new_rows import NewRows
from tapestry.runs.kinds.registry import parse_config
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.log import RUNS, Entry, write_log
from tapestry.runs.protocol.plan import Figures, Planned, Told
from tapestry.runs.protocol.refreshed import NOT_REFRESHED, Refreshed
from tapestry.runs.protocol.writing import Appending

WHOLE = Refreshed("full", "HISTORY_GONE", "shop.orders", bytes_full=9)
CHANGED = Refreshed("incremental", "", "", 3, 2, 1, 9, 4)


class _Statements:
    def __init__(self) -> None:
        self.found: list[str] = []

    def run(self, sql: str) -> None:
        self.found.append(sql)


def _logged(refreshed: Refreshed, reason: str = "") -> dict[str, Any]:
    model = Model("m", "db.m", "select 1", parse_config("maintained", {}), {})
    rows = NewRows(model, ROW.identity, "select 1 as a", ("a",), ("a",))
    told = Told((), Figures("strategy", refreshed=refreshed))
    run = Planned(ROW, rows, Appending(ROW, ("a",)), "db.tapestry_state", told=told)
    session = _Statements()
    entry = Entry(ROW.identity, Findings(), 1.0, run, reason=reason)
    write_log(session, "db.tapestry_runs", "i", [entry])  # type: ignore[arg-type]
    (values,) = (sqlglot.parse_one(session.found[0], dialect="spark").find(sqlglot.exp.Tuple),)
    return dict(zip(RUNS, (value.sql("spark") for value in values.expressions), strict=True))


@pytest.mark.parametrize(
    ("refreshed", "failed", "told"),
    [
        (CHANGED, "", ["incremental", None, None, 3, 2, 1, 9, 4]),
        (WHOLE, "", ["full", "HISTORY_GONE", "shop.orders", None, None, None, 9, None]),
        (CHANGED, "a check", ["incremental", None, None, None, None, None, 9, 4]),
        (NOT_REFRESHED, "", [None] * 8),
    ],
)
def test_how_a_table_was_kept_is_in_the_log(
    refreshed: Refreshed, failed: str, told: list[Any]
) -> None:
    row = _logged(refreshed, failed)
    names = ("refresh", "reason", "reason_about", "inserted_rows", "updated_rows", "deleted_rows")
    for name, value in zip((*names, "bytes_full", "bytes_changed"), told, strict=True):
        shown = "NULL" if value is None else str(value)
        assert row[name].strip("'").replace("r'", "") == shown, name
    assert "db.s" in row["pins_before"]
