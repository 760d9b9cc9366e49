"""The made-up shop is the same each time, has what is odd about shops, and changes in all ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import jinja2
import pytest
import yaml

from tapestry.demo.shop.changes import KEYS, SHOP_TYPES, RowChanges, changes_between
from tapestry.demo.shop.histories import Row, Shop, days_of_runs, make_shop, rows_at

from .archives import ROOT

STEPS = days_of_runs(3)
Tables = Mapping[str, Sequence[Row]]


@pytest.fixture(scope="module")
def shop() -> Shop:
    return make_shop()


@pytest.fixture(scope="module")
def last(shop: Shop) -> Tables:
    return rows_at(shop, STEPS[-1])


def test_a_seed_makes_one_shop(shop: Shop) -> None:
    assert make_shop() == shop
    assert make_shop(seed=8) != shop
    assert len(make_shop(orders=10).orders) == 10


def test_rows_have_the_columns_of_their_table(last: Tables) -> None:
    assert set(last) == set(SHOP_TYPES)
    for name, rows in last.items():
        assert {len(row) for row in rows} == {len(SHOP_TYPES[name])}


@pytest.mark.parametrize("name", KEYS)
def test_keys_tell_rows_apart(last: Tables, name: str) -> None:
    assert set(Counter(row[: KEYS[name]] for row in last[name]).values()) == {1}


def test_the_data_are_odd_enough(last: Tables) -> None:
    """Guests, ties, equal rows, each state, refunds of orders that are not there."""
    orders, payments = last["orders"], last["payments"]
    assert any(row[1] is None for row in orders)
    assert len({row[5] for row in orders}) < len(orders)
    assert {row[4] for row in orders} == {"open", "shipped", "cancelled"}
    assert len(set(payments)) < len(payments)
    numbers, paid = {row[0] for row in orders}, {row[0] for row in payments}
    refunded = {row[1] for row in last["refunds"]}
    assert refunded - numbers
    assert refunded - paid


def _changes(shop: Shop, since: datetime, until: datetime) -> dict[str, RowChanges]:
    before, after = rows_at(shop, since), rows_at(shop, until)
    return {
        name: changes_between(before[name], after[name], KEYS.get(name, 0)) for name in SHOP_TYPES
    }


@pytest.mark.parametrize("step", [1, 2])
def test_each_step_inserts_updates_and_deletes(shop: Shop, step: int) -> None:
    changes = _changes(shop, STEPS[step - 1], STEPS[step])
    for name, one in changes.items():
        assert one.inserted
        assert bool(one.updated) == bool(one.deleted) == (name in KEYS), name


def test_changes_lead_from_one_state_to_the_next(shop: Shop) -> None:
    before, after = rows_at(shop, STEPS[0]), rows_at(shop, STEPS[1])
    for name, one in _changes(shop, STEPS[0], STEPS[1]).items():
        key = KEYS.get(name, len(SHOP_TYPES[name]))
        gone = {row[:key] for row in (*one.deleted, *one.updated)}
        stay = [row for row in before[name] if row[:key] not in gone]
        assert Counter([*stay, *one.inserted, *one.updated]) == Counter(after[name]), name


def test_the_project_knows_the_tables() -> None:
    (source,) = yaml.safe_load((ROOT / "models/shop/sources.yml").read_text("utf-8"))["sources"]
    told = {table["name"]: [c["name"] for c in table["columns"]] for table in source["tables"]}
    assert told == {name: list(columns) for name, columns in SHOP_TYPES.items()}
    arrivals = {table["name"] for table in source["tables"] if "config" in table}
    assert arrivals == set(SHOP_TYPES) - set(KEYS), "what changes has no column of arrival"


def test_each_model_says_its_kind() -> None:
    """Three that stay current, one of them kept by keys for sure; and an alert."""
    told = [_config(path) for path in sorted((ROOT / "models/shop").glob("*.sql"))]
    kinds = Counter(said["materialized"] for said in told)
    assert kinds == {"maintained": 3, "continuous": 1}
    assert "incremental" in {said.get("refresh") for said in told}


def _config(path: Path) -> dict[str, str]:
    said: dict[str, str] = {}
    template = jinja2.Template(path.read_text("utf-8"))
    template.render(config=said.update, source="{}.{}".format)
    return said
