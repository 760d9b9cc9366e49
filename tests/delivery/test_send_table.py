"""Tables as sinks."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from tapestry.delivery import send_table
from tapestry.delivery.batch import Delivery
from tapestry.delivery.cursors import Batch
from tapestry.delivery.declare import parse_sinks
from tapestry.delivery.retry import Refused
from tapestry.delivery.rows import AnswersToSend
from tapestry.runs.engine.session import Session


class Described(Session):
    """A session with one table, which takes whatever is inserted."""

    def __init__(self, **columns: str) -> None:
        self.columns, self.inserted = columns, list[str]()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        assert sql == "DESCRIBE TABLE `s`.`copy`"
        return [(name, kind, None) for name, kind in self.columns.items()]

    def run(self, sql: str) -> None:
        self.inserted.append(sql)


@pytest.mark.parametrize(
    ("kind", "taken"), [("double", True), ("decimal(9,2)", True), ("int", False)]
)
def test_a_table_of_a_narrower_type_is_not_rounded_into(kind: str, taken: bool) -> None:
    after, until = (
        datetime(2026, 1, 1, tzinfo=timezone.utc),
        datetime(2026, 1, 2, tzinfo=timezone.utc),
    )
    now = "double" if kind == "double" else "decimal(5,2)"
    answers = AnswersToSend("s.model", (("Price", now),), after, until)
    batch = Batch("s.model", "copied", 1, "g", after, until, "life")
    delivery = Delivery(batch, answers, [], Path(), "model")
    (sink,) = parse_sinks([{"name": "copied", "to": "table", "table": "copy"}], "model")
    session = Described(price=kind)
    if taken:
        send_table.send_table(session, sink, delivery)  # type: ignore[arg-type]
        assert len(session.inserted) == 1
        return
    with pytest.raises(Refused, match=r"its Price is int, the model's is decimal\(5,2\)"):
        send_table.send_table(session, sink, delivery)  # type: ignore[arg-type]
    assert not session.inserted
