"""`make demo`: play a small generated archive, or a file of messages, and check the result."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pyarrow.parquet as pq
from rich.console import Console

from tapestry.demo import generator
from tapestry.demo.archive import EXPECTED, Archive, even_steps, monthly_steps
from tapestry.demo.choose import choose_variables
from tapestry.demo.report import write_report
from tapestry.demo.show import show_checks, show_model, show_report, show_steps

if TYPE_CHECKING:
    from tapestry.demo.play import Player

ROOT = Path(__file__).parents[3]
SEED, DAYS = 1, 120

SHOWN = (
    "q1_one_list",
    "q2_family_of_lists",
    "q3_replied_in_list",
    "q4_unanswered",
    "q5_conversations",
    "quiet_for_two_weeks",
    "liked",
    "reminders_at_their_instant",
    "date_in_future",
)
"""The queries of the paper's Figure 4, and one of each other kind."""

SMALL_DATA = {
    # A process that lives for minutes and reads kilobytes: compiling queries, and planning them
    # again while they run, costs more than it saves.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@click.command()
@click.option("--data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--rows", default=4_000, show_default=True, help="Messages to generate.")
@click.option("--steps", default=5, show_default=True, help="Runs over the generated messages.")
@click.option("--models", help="Names with commas, or `all` 22; by default nine of them.")
@click.option("--threads", default=2, show_default=True, help="dbt's threads.")
@click.option("--folder", type=click.Path(path_type=Path), default=ROOT / ".demo", hidden=True)
def main(
    data: Path | None, rows: int, steps: int, models: str | None, threads: int, folder: Path
) -> None:
    """Load messages in steps of simulated time, run dbt after each, compare with DuckDB.

    With --data a parquet file of messages is played in monthly steps.
    """
    from tapestry.demo.play import Player

    os.environ.setdefault("TAPESTRY_DATA_DOCS", "never")  # rendered once, with the report
    console = Console(width=None if Console().is_terminal else 100)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = _real(data, folder) if data else _generated(rows, steps, folder)
    chosen = models.split(",") if models else list(SHOWN)
    if models == "all":
        chosen = sorted(path.stem for path in EXPECTED.glob("*.sql"))
    began = time.monotonic()
    console.print(f"{len(archive.steps)} runs of {len(chosen)} models; Spark starts …")
    show_model(console, ROOT / "models/bboard/q4_unanswered.sql")
    settings = {} if data else SMALL_DATA
    player = Player(ROOT, folder, chosen, threads=threads, settings=settings)
    show_steps(console, player.play(archive), chosen)
    played = time.monotonic() - began
    good = _checks(console, player, archive)
    console.print(f"played in {played:.0f} s, {time.monotonic() - began:.0f} s with all checks")
    show_report(console, *write_report(folder, player.schema))
    raise SystemExit(0 if good else 1)


def _checks(console: Console, player: Player, archive: Archive) -> bool:
    from tapestry.demo.check import check

    title = f"after {len(archive.steps)} runs, compared with DuckDB's answer from the definition"
    good = show_checks(console, title, check(player, archive))
    player.play_at_once(archive)
    title = "one run over everything (no row is late then), compared in the same way"
    return show_checks(console, title, check(player, archive, at_once=True)) and good


def _generated(rows: int, steps: int, folder: Path) -> Archive:
    """Made-up messages, votes on them, and reminders."""
    messages = generator.messages(rows, seed=SEED, days=DAYS, late=0.06)
    files = {
        "messages": messages,
        "votes": generator.votes(rows // 8, messages, seed=SEED),
        "reminders": generator.reminders(max(rows // 20, 1), seed=SEED, days=DAYS),
    }
    paths = {name: folder / f"all_{name}.parquet" for name in files}
    for name, table in files.items():
        pq.write_table(table, paths[name])
    variables = choose_variables(paths["messages"]) | {
        "one_list": "comp.databases",
        "list_pattern": "comp.sys.%",
        "keyword": "database",
    }
    # one message in two weeks arrives after its run's end: play a little longer than they come
    return Archive(paths, even_steps(generator.START, DAYS + 30, steps), variables)


def _real(data: Path, folder: Path) -> Archive:
    """A file of messages; votes and reminders are made up to go with it."""
    steps: Sequence = monthly_steps(data)
    days = (steps[-1] - steps[0]).days
    messages = pq.read_table(data, columns=["msgid", "ts"])
    made_up = {
        "votes": generator.votes(len(messages) // 8, messages, seed=SEED),
        "reminders": generator.reminders(1_000, seed=SEED, start=steps[0], days=days),
    }
    paths = {"messages": data.resolve()}
    for name, table in made_up.items():
        paths[name] = folder / f"all_{name}.parquet"
        pq.write_table(table, paths[name])
    return Archive(paths, steps, choose_variables(data))


if __name__ == "__main__":
    main()
