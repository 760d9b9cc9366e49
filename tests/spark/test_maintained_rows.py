"""What a row of a maintained model is: its key, what is expected of it, what it says of its run."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.test_maintained import COUNTS, Shop, into, order

from tapestry.errors import ConfigurationError, ExpectationFailed, Refusal
from tapestry.runs.kinds.maintained.reasons import NotIncremental

pytestmark = pytest.mark.gate


@pytest.fixture
def shop(session: Any, schema: str) -> Shop:
    return Shop(session, schema).create()


def test_no_two_rows_have_one_key(shop: Shop) -> None:
    """Of all rows of a full run, of the new ones and those of their keys that stay of another."""
    run, s = shop.session.run, shop.schema
    into(shop, order(1, 1), order(2, 2), order(3, None))
    sql = "select id, cust, amount from {s}.orders"
    model = shop.maintained(sql, unique_key="ID")
    shop.run(model, 10)
    run(f"update {s}.orders set amount = 7 where id = 2")
    assert str(shop.run(model, 20)) == "0 inserted, 1 updated, 0 deleted; incremental"
    before = shop.table()
    into(shop, order(1, 2))  # beside a row that stays
    with pytest.raises(ExpectationFailed, match=r"unique_key: id \(2 rows\)"):
        shop.run(model, 30)
    assert shop.table() == before
    both = shop.maintained(sql, unique_key=["id", "cust"])
    with pytest.raises(NotIncremental, match=r"\[SETTINGS_CHANGED\]"):
        shop.run(both, 30)
    both = shop.maintained(sql, unique_key=["id", "cust"], refresh="auto")
    assert str(shop.run(both, 30)).endswith("full: SETTINGS_CHANGED")
    assert shop.table() == shop.answer(both, 30)
    by_cust = shop.maintained("select cust from {s}.orders", "custs", unique_key="cust")
    with pytest.raises(ExpectationFailed, match=r"unique_key: cust \(2 rows\)"):
        shop.run(by_cust, 30)  # the first run
    run(f"delete from {s}.orders where cust = 1 or id = 1")
    shop.run(by_cust, 40)
    into(shop, order(9, None))  # NULLs are equal
    with pytest.raises(ExpectationFailed, match=r"unique_key: cust \(2 rows\)"):
        shop.run(by_cust, 50)


@pytest.mark.more
def test_a_key_is_unique_in_the_table_and_not_in_its_arms(shop: Shop) -> None:
    shop.session.run(f"insert into {shop.schema}.customers values (1, 'x'), (2, 'y')")
    into(shop, order(7, 3))
    sql = "select id from {s}.customers union all select cust from {s}.orders"
    model = shop.maintained(sql, unique_key="id")
    shop.run(model, 10)
    into(shop, order(8, 2))
    with pytest.raises(ExpectationFailed, match=r"unique_key: id \(2 rows\)"):
        shop.run(model, 20)


@pytest.mark.more
def test_a_key_that_is_none_is_refused_before_anything_is_written(shop: Shop) -> None:
    with pytest.raises(ConfigurationError, match="there is no column custt") as unknown:
        shop.run(shop.maintained(COUNTS, unique_key="custt"), 10)
    assert "did you mean cust?" in str(unknown.value)
    with pytest.raises(Refusal, match=r"unique_key: n is COUNT\(\*\)"):
        shop.run(shop.maintained(COUNTS, unique_key=["cust", "n"]), 10)
