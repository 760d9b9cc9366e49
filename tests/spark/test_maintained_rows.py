"""What a row of a maintained model is: its key, what is expected of it, what it says of its run."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from tests.killed import killed_at
from tests.marks import more
from tests.seeds import seeds
from tests.spark.run_world import literal
from tests.spark.test_maintained import COUNTS, QUERIES, Shop, change, into, order

from tapestry.errors import ConfigurationError, ExpectationFailed, Refusal
from tapestry.runs.kinds.maintained.reasons import NotIncremental
from tapestry.runs.model.model import Model

pytestmark = pytest.mark.gate


@pytest.fixture
def shop(session: Any, schema: str) -> Shop:
    return Shop(session, schema).create()


@pytest.mark.more
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


def falls_apart(shop: Shop, model: Model, condition: str, seconds: float) -> bool:
    """Are table and rejected rows together the answer, each row where the condition has it?"""
    sql = model.sql.replace("now()", literal(seconds))
    fits, broken = (
        Counter(map(tuple, shop.session.rows(f"select * from ({sql}) where {where}")))
        for where in (f"coalesce({condition}, true)", f"not coalesce({condition}, true)")
    )
    return shop.table() == fits and rejected(shop) == broken


def rejected(shop: Shop) -> Counter[tuple[Any, ...]]:
    """The rejected rows, without what is known of each."""
    columns = [str(row[0]) for row in shop.session.rows(f"describe {shop.schema}.target")]
    found = shop.session.rows(f"show tables in {shop.schema} like 'target__rejected'")
    if not found:
        return Counter()
    listed = ", ".join(f"`{one}`" for one in columns)
    rows = shop.session.rows(f"select {listed} from {shop.schema}.target__rejected")
    return Counter(map(tuple, rows))


def dropping(shop: Shop, sql: str, condition: str, **config: Any) -> Model:
    expected = [{"name": "fits", "expect": condition, "on_violation": "drop"}]
    return shop.maintained(sql, expectations=expected, **config)


@pytest.mark.more
def test_rejected_rows_are_those_of_now(shop: Shop) -> None:
    """A row that leaves the answer leaves them, too; one that is mended goes into the table."""
    run, s = shop.session.run, shop.schema
    into(shop, order(1, 1, 5), order(2, 2, 1), order(3, None, 1), order(4, 4, 1))
    model = dropping(shop, "select id, cust, amount from {s}.orders", "amount > 2")
    assert shop.run(model, 10).rejected_rows == 3
    assert falls_apart(shop, model, "amount > 2", 10)
    run(f"delete from {s}.orders where id = 2")
    run(f"update {s}.orders set amount = 9 where id = 3")
    run(f"update {s}.orders set amount = 0 where id = 1")
    outcome = shop.run(model, 20)
    assert str(outcome) == "1 inserted, 0 updated, 1 deleted; incremental, 1 rejected"
    assert falls_apart(shop, model, "amount > 2", 20)
    assert shop.run(model, 30).action == "nothing"
    into(shop, order(5, 5, 7))
    assert str(shop.run(model, 40)) == "1 inserted, 0 updated, 0 deleted; incremental"
    assert falls_apart(shop, model, "amount > 2", 40)


@pytest.mark.more
@pytest.mark.parametrize("here", ["staged", "rejected", "ready", "committed", "confirmed"])
def test_no_rejected_row_is_lost_or_twice_when_a_run_is_killed(shop: Shop, here: str) -> None:
    into(shop, order(1, 1, 5), order(2, 2, 1), order(3, 3, 1))
    model = dropping(shop, "select id, amount from {s}.orders", "amount > 2")
    shop.run(model, 10)
    shop.session.run(f"update {shop.schema}.orders set amount = 6 - amount where id < 3")
    with killed_at(here):
        shop.run(model, 20)
    shop.recall = type(shop.recall)()  # another process
    shop.run(model, 30)
    assert falls_apart(shop, model, "amount > 2", 30)
    into(shop, order(4, 4, 1))
    shop.run(model, 40)
    assert falls_apart(shop, model, "amount > 2", 40)


DROPPED = (
    (QUERIES[0], "n < 2"),
    (QUERIES[6], "cust <> 2"),
    (QUERIES[7], "cust is not null"),
    (QUERIES[8], "region <> 'z'"),
    (QUERIES[15], "k > 3"),
    (QUERIES[4], "s > 5"),
    (QUERIES[19], "amount > 5"),
)


@pytest.mark.parametrize(("sql", "condition"), [more(*one) for one in DROPPED])
def test_the_table_and_its_rejected_rows_are_the_answer(
    shop: Shop, sql: str, condition: str
) -> None:
    (number,) = seeds(1)
    refresh = "auto" if "limit" in sql else "incremental"
    model, rng = dropping(shop, sql, condition, refresh=refresh), random.Random(number)
    for _ in range(3):
        change(shop, rng)
    for seconds in (10, 20, 30, 40):
        outcome = shop.run(model, seconds)
        assert falls_apart(shop, model, condition, seconds), f"{number} {outcome}"
        for _ in range(rng.choice((0, 1, 2))):
            change(shop, rng)


@pytest.mark.more
def test_other_expectations_make_another_table(shop: Shop) -> None:
    into(shop, order(1, 1, 5), order(2, 2, 1))
    sql = "select id, amount from {s}.orders"
    shop.run(dropping(shop, sql, "amount > 2"), 10)
    other = dropping(shop, sql, "amount > 0", refresh="auto")
    assert str(shop.run(other, 20)).endswith("full: SETTINGS_CHANGED")
    assert falls_apart(shop, other, "amount > 0", 20)


@pytest.mark.parametrize(
    ("condition", "at"),
    [
        ("amount > hour(now())", "the clock"),
        ("id in (select id from x)", "other tables"),
        ("id < 10 * rand()", r"rand\(\)"),
    ],
)
@pytest.mark.more
def test_a_row_is_dropped_for_what_it_is_alone(shop: Shop, condition: str, at: str) -> None:
    shop.session.run(f"create view {shop.schema}.x as select 1 as id")
    condition = condition.replace(" x)", f" {shop.schema}.x)")
    with pytest.raises(ConfigurationError, match=f"on_violation: drop looks at {at}"):
        shop.run(dropping(shop, "select id, amount from {s}.orders", condition), 10)


@pytest.mark.more
def test_what_is_expected_of_all_rows_is_asked_of_the_whole_table(shop: Shop) -> None:
    into(shop, *(order(number, number) for number in range(1, 5)))
    count = {"expect_table_row_count_to_be_between": {"max_value": 5}, "on_violation": "fail"}
    model = shop.maintained("select id, cust from {s}.orders", expectations=[count])
    shop.run(model, 10)
    into(shop, order(5, 5))
    shop.run(model, 20)
    into(shop, order(6, 6))
    with pytest.raises(ExpectationFailed):
        shop.run(model, 30)


STAMPED = (
    "select now() as at, id, cust, amount from {s}.orders",
    "select now() as at, cust from {s}.orders",
    QUERIES[0].replace("select", "select now() as at,", 1),
    QUERIES[7].replace("distinct", "distinct now() as at,", 1),
    "select now() as at, cust as k from {s}.orders union all select now(), id from {s}.customers",
    "select now() as at, id, case when due < now() then 'late' else 'open' end as status"
    " from {s}.orders",
)


def moved_on(before: Counter[Any], answer: Counter[Any], at: Any) -> Counter[Any]:
    """The definition: of each row the copies that were written first stay, new ones bear ``at``."""
    written: dict[Any, list[Any]] = {}
    for (stamp, *row), n in before.items():
        written.setdefault(tuple(row), []).extend([stamp] * n)
    found: Counter[Any] = Counter()
    for (_, *row), n in answer.items():
        old = sorted(written.get(tuple(row), []))[:n]
        found.update((stamp, *row) for stamp in [*old, *[at] * (n - len(old))])
    return found


@pytest.mark.more
@pytest.mark.parametrize("refresh", ["incremental", more("auto")])
@pytest.mark.parametrize("sql", [STAMPED[1], *(more(sql) for sql in STAMPED if "," in sql)])
def test_a_row_keeps_the_time_at_which_it_was_written(shop: Shop, sql: str, refresh: str) -> None:
    (number,) = seeds(1)
    model, rng, before = (
        shop.maintained(sql, refresh=refresh),
        random.Random(number),
        Counter[Any](),
    )
    into(shop, order(1, 1), order(2, 1), order(3, 2))
    for seconds in (10, 20, 30):
        outcome = shop.run(model, seconds)
        ((at,),) = shop.session.rows(f"select {literal(seconds)}")
        before = moved_on(before, shop.answer(model, seconds), at)
        assert shop.table() == before, f"{number} {outcome}"
        assert all(one.status == "pass" for one in outcome.results)
        change(shop, rng)
        into(shop, order(4, 1))
    assert str(shop.run(model, 40)) != "nothing new"
    assert str(shop.run(model, 50)) == "nothing new" or "due" in sql


@pytest.mark.more
def test_what_reads_the_clock_and_a_column_is_a_value(shop: Shop) -> None:
    into(shop, order(1, 1))
    model = shop.maintained("select id, hour(now()) + id as h from {s}.orders")
    shop.run(model, 10)
    into(shop, order(2, 2))
    with pytest.raises(NotIncremental, match=r"\[TIME_FUNCTION\]"):
        shop.run(model, 3610)
    whole = shop.maintained(model.sql, refresh="auto")
    shop.run(whole, 3610)
    assert shop.table() == shop.answer(whole, 3610)


@pytest.mark.more
def test_a_rejected_row_keeps_its_time_and_its_time_drops_none(shop: Shop) -> None:
    into(shop, order(1, 1, 1), order(2, 2, 5))
    sql = "select id, amount, now() as at from {s}.orders"
    model = dropping(shop, sql, "amount > 2")
    shop.run(model, 10)
    into(shop, order(3, 3, 1))
    shop.run(model, 20)
    found = shop.session.rows(f"select id, at from {shop.schema}.target__rejected order by id")
    ((first,),), ((second,),) = (shop.session.rows(f"select {literal(t)}") for t in (10, 20))
    assert [tuple(row) for row in found] == [(1, first), (3, second)]
    with pytest.raises(ConfigurationError, match="on_violation: drop looks at the clock"):
        shop.run(dropping(shop, sql, "at is not null"), 30)


@pytest.mark.more
def test_a_row_whose_sum_differs_by_rounding_alone_stays(shop: Shop) -> None:
    """Not NULL and a number, not infinite and a number; of two equal groups each by itself."""
    run, s = shop.session.run, shop.schema
    into(shop, order(1, 1), order(2, 2), order(3, 3), order(4, 4), order(5, 5))
    run(f"update {s}.orders set rate = double('infinity') where id = 4")
    sql = "select cust, now() as at, sum(rate) as r from {s}.orders group by cust"
    model = shop.maintained(sql)
    shop.run(model, 10)
    before = shop.table()
    run(f"update {s}.orders set rate = rate + 1e-14 where id in (1, 2)")
    run(f"update {s}.orders set rate = NULL where id = 3")
    run(f"update {s}.orders set rate = 5 where id = 4")
    run(f"update {s}.orders set rate = rate + 1e-7 where id = 5")
    shop.run(model, 20)
    after = {row[0]: row for row in shop.table()}
    stays = {row[0] for row in before if after[row[0]] == row}
    assert stays == {1, 2}
    assert (after[3][2], after[4][2]) == (None, 5)
    run(f"update {s}.orders set rate = rate - 1e-14 where id in (1, 2)")
    assert str(shop.run(model, 30)) == "nothing new"
