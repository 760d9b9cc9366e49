"""`make demo`: play a small made-up archive, or a file of messages, and check the result."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from tapestry.demo.archive import EXPECTED, Archive
from tapestry.demo.made_up import made_up_messages, made_up_transfers, real_messages
from tapestry.demo.report import write_report
from tapestry.demo.show import show_checks, show_model, show_report, show_steps

if TYPE_CHECKING:
    from tapestry.demo.play import Player

ROOT = Path(__file__).parents[3]

SHOP = tuple(path.stem for path in sorted((ROOT / "models/shop").glob("*.sql")))
"""`make demo` plays these unless another choice is made: three maintained models, and an alert."""

TRADING = tuple(
    path.stem for path in sorted((ROOT / "models/trading").iterdir()) if path.suffix != ".yml"
)
"""The trading application of the STRIP paper: rules, actions, and the tables that they keep."""

SHOWN = ("q3_replied_in_list", "q4_unanswered", "quiet_for_two_weeks")
"""A join, what is missing, and what has been missing for a while: three strategies."""

OF_A_FILE = (
    *("q1_one_list", "q2_family_of_lists", "q3_replied_in_list", "q4_unanswered"),
    *("q5_conversations", "quiet_for_two_weeks", "liked", "reminders_at_their_instant"),
    "date_in_future",
)
"""The queries of the paper's Figure 4, and one of each other kind: played over a file."""

TRANSFERS = tuple(
    path.stem
    for folder in ("transfers", "banks")
    for path in sorted((EXPECTED / folder).glob("*.sql"))
)
"""The seven examples of the ARGUS paper, over transfers of money, and one that reads a seed."""

SMALL_DATA = {
    # A process that lives for minutes and reads kilobytes: compiling queries, and planning them
    # again while they run, costs more than it saves.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


START, RUN, SHOP_RUN, TRADING_RUN = 15, 4.5, 5.1, 43
"""Seconds on two processors: until rows are made and Spark has started; of one model's run; of all
models of the market."""


@click.command()
@click.option("--data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--rows", default=4_000, show_default=True, help="Rows to make up.")
@click.option(
    "--steps", type=int, help="Runs over the made-up rows: 3, of the market 2, of chosen models 5."
)
@click.option(
    "--models",
    help="`shop`, the default: four over orders that change. `bboard`: three over messages, which"
    " only grow; nine of a file. `transfers`: eight over transfers of money. `trading`: rules and"
    " actions over a small stock market, in real time. Names with commas, or"
    " `all` 22 over messages, are also run at once over everything.",
)
@click.option("--threads", default=2, show_default=True, help="dbt's threads.")
@click.option("--folder", type=click.Path(path_type=Path), default=ROOT / ".demo", hidden=True)
def main(
    data: Path | None, rows: int, steps: int | None, models: str | None, threads: int, folder: Path
) -> None:
    """Load rows in steps of simulated time, run dbt after each step, compare with DuckDB.

    With --data a parquet file of messages is played in monthly steps.
    """
    os.environ.setdefault("TAPESTRY_DATA_DOCS", "never")  # rendered once, with the report
    console = Console(width=None if Console().is_terminal else 100)
    chosen = chosen_models(models, data)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive, more = None, bool(data) or models not in (None, "shop", "bboard")
    if chosen not in (list(SHOP), list(TRADING)):
        archive = _archive(chosen, data, rows, steps or (5 if more else 3), folder)
    began = time.monotonic()
    runs = len(archive.steps) if archive else steps or (2 if chosen == list(TRADING) else 3)
    plan = (
        _plan_of(chosen, runs) if not archive else told_of_messages(len(chosen), runs, at_once=more)
    )
    for line in plan:
        console.print(line, highlight=False)
    show_model(console, ROOT / f"models/{shown_model(chosen)}.sql")
    from tapestry.demo.play import Player  # loads dbt and Spark

    player = Player(ROOT, folder, chosen, threads=threads, settings={} if data else SMALL_DATA)
    if chosen == list(TRADING):
        good = _play_trading(console, player, runs)
    elif archive:
        good = _play(console, player, archive, at_once=more)
    else:
        good = _play_shop(console, player, rows, runs)
    console.print(f"{time.monotonic() - began:.0f} s with all checks")
    show_report(console, *write_report(folder, player.schema))
    raise SystemExit(0 if good else 1)


def shown_model(chosen: list[str]) -> str:
    """Return the model that is shown before it runs."""
    if chosen == list(SHOP):
        return "shop/customer_balance"
    if chosen == list(TRADING):
        return "trading/compute_comps3"
    return "transfers/q4_left_through_another_bank" if chosen[0] in TRANSFERS else (
        "bboard/q4_unanswered"
    )  # fmt: skip


def _archive(chosen: list[str], data: Path | None, rows: int, steps: int, folder: Path) -> Archive:
    """Make, or take, the rows that the chosen models read."""
    if data:
        return real_messages(data, folder)
    made_up = made_up_transfers if chosen[0] in TRANSFERS else made_up_messages
    return made_up(rows, steps, folder)


def _play(console: Console, player: Player, archive: Archive, *, at_once: bool) -> bool:
    """Play an archive; are all tables right at its end?"""
    began = time.monotonic()
    show_steps(console, player.play(archive), player.models)
    console.print(f"played in {time.monotonic() - began:.0f} s")
    return _checks(console, player, archive, at_once=at_once)


def _play_shop(console: Console, player: Player, rows: int, runs: int) -> bool:
    """Play the shop; are all tables right after each run?"""
    from tapestry.demo.shop.histories import days_of_runs, make_shop
    from tapestry.demo.shop.play_shop import play_shop
    from tapestry.demo.shop.show_shop import show_shop

    shop = make_shop(orders=max(rows // 4, 10))
    return show_shop(console, play_shop(player, shop, days_of_runs(runs)))


def _play_trading(console: Console, player: Player, runs: int) -> bool:
    """Play the market; is each derived table right after each run?"""
    from tapestry.demo.trading.market import make_market
    from tapestry.demo.trading.play_trading import bursts, play_trading
    from tapestry.demo.trading.seeds import PLAN
    from tapestry.demo.trading.show_trading import show_trading

    return show_trading(console, play_trading(player, bursts(make_market(PLAN), runs)))


def _plan_of(chosen: list[str], runs: int) -> Iterator[str]:
    """Say what is going to happen where no archive is played."""
    return told_of_trading(runs) if chosen == list(TRADING) else told_of_shop(runs)


def told_of_trading(runs: int) -> Iterator[str]:
    """Say what is going to happen, and how long it takes."""
    yield f"{runs} runs of rules and actions over a small stock market. Before each but the first,"
    yield "prices change in a burst, a commit each; a second later dbt runs, and each derived table"
    yield "is compared with its definition. A report ends it. On two processors that takes about"
    yield f"{START + TRADING_RUN * runs:.0f} s. Spark starts …"


def told_of_shop(runs: int) -> Iterator[str]:
    """Say what is going to happen, and how long it takes."""
    yield f"{runs} runs of {len(SHOP)} models over orders, prices, payments, refunds. Before each"
    yield "run rows are inserted, updated and deleted; after it every table is compared with what"
    yield "Spark computes from the definition. A report ends it. On two processors that takes about"
    yield f"{START + SHOP_RUN * len(SHOP) * runs:.0f} s. Spark starts …"


def told_of_messages(models: int, runs: int, *, at_once: bool) -> Iterator[str]:
    """Yield lines on what is going to happen, and how long it takes."""
    yield f"{runs} runs of {models} models: each step of time brings rows, then dbt runs."
    yield "At the end every table is compared with what DuckDB computes from the definition,"
    if at_once:
        yield "then again after one run over everything;"
    seconds = START + RUN * models * (runs + at_once)
    about = f"{seconds / 60:.0f} minutes" if seconds > 100 else f"{seconds:.0f} s"
    yield f"a report ends it. On two processors that takes about {about}. Spark starts …"


def _checks(console: Console, player: Player, archive: Archive, *, at_once: bool) -> bool:
    from tapestry.demo.check import check

    title = f"after {len(archive.steps)} runs, compared with DuckDB's answer from the definition"
    good = show_checks(console, title, check(player, archive))
    if not at_once:
        return good
    player.play_at_once(archive)
    title = "one run over everything (no row is late then), compared in the same way"
    return show_checks(console, title, check(player, archive, at_once=True)) and good


def chosen_models(models: str | None, data: Path | None) -> list[str]:
    """Return the models to run; UsageError where no archive has what all of them read."""
    named = {"bboard": SHOWN, "transfers": TRANSFERS, "shop": SHOP, "trading": TRADING}
    named["all"] = tuple(sorted(path.stem for path in EXPECTED.glob("*.sql")))
    models = models or ("" if data else "shop")
    if not models or (data and models == "bboard"):
        return list(OF_A_FILE)
    chosen = list(named.get(models, ())) or models.split(",")
    if {*chosen} & {*SHOP} and (data or chosen != list(SHOP)):
        raise click.UsageError("the models of the shop are run together: --models shop")
    if {*chosen} & {*TRADING} and (data or chosen != list(TRADING)):
        raise click.UsageError("the models of the market are run together: --models trading")
    about_money = [model in TRANSFERS for model in chosen]
    if any(about_money) and (data or not all(about_money)):
        raise click.UsageError("the models of transfers are run by themselves, without --data")
    return chosen


if __name__ == "__main__":
    main()
