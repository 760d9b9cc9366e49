"""The files of seeds/trading are those that the generator writes; its columns have types."""

from __future__ import annotations

from pathlib import Path

import duckdb
import jinja2
import pytest
import yaml
from benchmarks.trading.in_memory import black_scholes

from tapestry.demo.trading.market import Market, make_market
from tapestry.demo.trading.play_trading import bursts
from tapestry.demo.trading.seeds import FOLDER, HEADS, PLAN, dollars, seed_rows, symbol, write_seeds

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def market() -> Market:
    return make_market(PLAN)


def test_the_seeds_are_those_of_the_generator(market: Market, tmp_path: Path) -> None:
    for path in write_seeds(market, tmp_path):
        assert path.read_text("utf-8") == (FOLDER / path.name).read_text("utf-8")
    assert {path.stem for path in FOLDER.glob("*.csv")} == set(HEADS)


def test_each_column_has_a_type() -> None:
    seeds = yaml.safe_load((FOLDER / "trading.yml").read_text("utf-8"))["seeds"]
    told = {seed["name"]: tuple(seed["config"]["column_types"]) for seed in seeds}
    assert told == HEADS
    feeds = [seed["name"] for seed in seeds if "tblproperties" in seed["config"]]
    assert feeds == ["stocks"]


def test_each_burst_changes_prices(market: Market) -> None:
    """No commit leaves a price as it was, and some stock changes twice before a run."""
    first, *others = bursts(market, 3)
    assert first == []
    prices = {symbol(stock): dollars(price) for stock, price in enumerate(market.first)}
    for changes in others:
        assert len({one.symbol for one in changes}) < len(changes) == 6
        for one in changes:
            assert prices[one.symbol] != one.price
            prices[one.symbol] = one.price


def test_the_macro_computes_prices_of_options(market: Market) -> None:
    """SQL's prices are those of the function over error functions, to eleven digits."""
    macros = (ROOT / "project_macros/call_prices.sql").read_text("utf-8")
    query = jinja2.Template(macros + "{{ call_prices('given') }}").render()
    connection = duckdb.connect()
    connection.execute(
        "create table given (option_symbol varchar, price double, strike double, exp double,"
        " stdev double)"
    )
    expected = {}
    for number, stock, strike, years in seed_rows(market)["options_list"]:
        for price in (5, float(strike), 60.0, 500.0):
            for stdev in (0.01, 0.3):
                name = f"{number} {stock} {price} {stdev}"
                row = (name, price, float(strike), float(years), stdev)
                connection.execute("insert into given values (?, ?, ?, ?, ?)", row)
                expected[name] = black_scholes(price, float(strike), float(years), stdev)
    found = dict(connection.execute(query).fetchall())
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-11)
