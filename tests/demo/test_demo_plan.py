"""What `make demo` runs by default, and what it says of it first."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
import yaml

from tapestry.demo.__main__ import (
    OF_A_FILE,
    SHOP,
    SHOWN,
    TRADING,
    TRANSFERS,
    chosen_models,
    shown_model,
    told_of_messages,
    told_of_shop,
    told_of_trading,
)
from tapestry.demo.archive import EXPECTED

from .archives import ROOT


def test_the_default_is_the_shop() -> None:
    assert chosen_models(None, None) == chosen_models("shop", None) == list(SHOP)
    assert len(SHOP) == 4
    with pytest.raises(click.UsageError, match="run together"):
        chosen_models(f"liked,{SHOP[0]}", None)
    with pytest.raises(click.UsageError, match="run together"):
        chosen_models("shop", Path("messages.parquet"))


def test_the_board_is_small() -> None:
    assert chosen_models("bboard", None) == list(SHOWN)
    assert len(SHOWN) in (3, 4)


def test_the_board_does_without_great_expectations() -> None:
    """Loading them, and rendering Data Docs, would take longer than a run."""
    text = (ROOT / "models/bboard/models.yml").read_text("utf-8")
    for model in yaml.safe_load(text)["models"]:
        if model["name"] in SHOWN:
            rules = model.get("config", {}).get("expectations", [])
            assert all("expect" in rule for rule in rules), model


def test_the_rest() -> None:
    assert chosen_models("all", None) == sorted(path.stem for path in EXPECTED.glob("*.sql"))
    assert {*SHOWN} < {*OF_A_FILE} < {*chosen_models("all", None)}
    for models in (None, "bboard"):
        assert chosen_models(models, Path("messages.parquet")) == list(OF_A_FILE)
    assert chosen_models("transfers", None) == list(TRANSFERS)
    assert chosen_models("liked,q4_unanswered", None) == ["liked", "q4_unanswered"]
    with pytest.raises(click.UsageError):
        chosen_models(f"liked,{TRANSFERS[0]}", None)


@pytest.mark.parametrize("models", [None, "bboard", "transfers", "trading", "liked"])
def test_a_model_is_shown_first(models: str | None) -> None:
    assert (ROOT / f"models/{shown_model(chosen_models(models, None))}.sql").exists()


@pytest.mark.parametrize(
    ("models", "runs", "at_once", "said"),
    [(3, 3, False, "about 56 s"), (22, 5, True, "about 10 minutes"), (9, 88, True, "60 minutes")],
)
def test_it_says_what_it_does_and_how_long_that_takes(
    models: int, runs: int, at_once: bool, said: str
) -> None:
    text = " ".join(told_of_messages(models, runs, at_once=at_once))
    assert text.startswith(f"{runs} runs of {models} models")
    assert said in text
    assert ("one run over everything" in text) is at_once


def test_the_shop_says_how_long_it_takes() -> None:
    text = " ".join(told_of_shop(3))
    assert text.startswith("3 runs of 4 models")
    assert "about 76 s" in text


def test_the_market_is_run_together() -> None:
    assert chosen_models("trading", None) == list(TRADING)
    assert {"do_comps", "compute_options", "comp_prices3"} < set(TRADING)
    for models, data in ((f"liked,{TRADING[0]}", None), ("trading", Path("messages.parquet"))):
        with pytest.raises(click.UsageError, match="run together"):
            chosen_models(models, data)
    text = " ".join(told_of_trading(2))
    assert text.startswith("2 runs of rules and actions")
    assert "about 101 s" in text
