"""Items without a name beside QUALIFY are what they are without it."""

from __future__ import annotations

import pytest
from tests.sql.test_refusals import CATALOG

from tapestry.errors import Refusal
from tapestry.sql import rewrite

ITEMS = (
    "date '2026-01-01'",
    "timestamp '2026-01-01 00:00:00'",
    "interval '2' day",
    "interval 2 days 3 hours",
    "ts + interval '2' day",
    "X'1F'",
    "7L",
    "-1.5",
    "'a.b'",
    "'select'",
    "'2026 - 01'",
    "''",
)


def _answer(sql: str) -> str:
    try:
        return ", ".join(rewrite(sql, CATALOG).columns)
    except Refusal as refusal:
        return refusal.code


@pytest.mark.parametrize("item", ITEMS)
def test_an_item_without_a_name(item: str) -> None:
    plain = f"select id, {item} from db.messages m where now() > ts"
    qualified = f"{plain} qualify rank() over (order by id) < 3"
    assert _answer(qualified) == _answer(plain)
    assert _answer(qualified) in {f"id, {item.strip(chr(39))}", "unnamed-column"}
    assert _answer(f"select id from ({qualified}) q") == "id"
