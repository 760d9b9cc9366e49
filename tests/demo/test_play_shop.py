"""The shop from end to end, small: each run's tables are the answer, and say how they were kept."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator

import pytest

from tapestry.demo.__main__ import SHOP
from tapestry.demo.play import Player
from tapestry.demo.shop.histories import days_of_runs, make_shop
from tapestry.demo.shop.play_shop import ShopStep, compare_tables, play_shop

from .archives import ROOT

pytestmark = pytest.mark.spark

KEPT = re.compile(r"\d+ inserted, \d+ updated, \d+ deleted; (incremental|full: SMALL)")


@pytest.fixture(scope="module")
def player(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Player]:
    folder = tmp_path_factory.mktemp("shop")
    warehouse = {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    schema = f"shop_{uuid.uuid4().hex[:8]}"
    player = Player(ROOT, folder, SHOP, settings=warehouse, schema=schema)
    yield player
    for name in (player.schema, player.at_once_schema):
        player.session.run(f"drop schema if exists {name} cascade")


@pytest.fixture(scope="module")
def steps(player: Player) -> list[ShopStep]:
    return list(play_shop(player, make_shop(orders=300), days_of_runs(3)))


def test_each_table_is_its_recomputation_after_each_run(steps: list[ShopStep]) -> None:
    assert [one for step in steps for one in step.compared if not one.equal] == []
    assert {one.model for one in steps[0].compared} == {*SHOP}
    assert all(one.expected for one in steps[-1].compared)


def test_each_run_says_how_a_table_was_kept(steps: list[ShopStep]) -> None:
    told = [{one.model: one.message for one in step.ran} for step in steps[1:]]
    for model in ("customer_balance", "daily_revenue"):
        assert all(one[model].endswith("; incremental") for one in told), told
    assert all(KEPT.fullmatch(one["unpaid_orders"]) for one in told), told


def test_what_is_wrong_is_seen(player: Player, steps: list[ShopStep]) -> None:
    table = f"{player.schema}.unpaid_orders"
    player.session.run(f"insert into {table} select * from {table} limit 1")
    player.session.run(f"delete from {player.schema}.daily_revenue where product = 'tea'")
    found = {one.model: one for one in compare_tables(player, steps[-1].until)}
    assert (found["unpaid_orders"].missing, found["unpaid_orders"].surplus) == (0, 1)
    assert found["daily_revenue"].missing > 0 == found["daily_revenue"].surplus
    assert found["customer_balance"].equal
