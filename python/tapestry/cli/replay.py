"""`tapestry replay`: a project over past data, one `dbt run` a step of simulated time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import click

from tapestry.cli.models import NO_ANSWER, read_manifest, refuse_kinds
from tapestry.cli.options import DbtOptions, project_options, selection_options
from tapestry.cli.project import (
    open_project,
    runtime_config,
)
from tapestry.errors import ConfigurationError
from tapestry.names import QUERIES_TABLE, STATE_TABLE
from tapestry.runs.context.clock import VARIABLE
from tapestry.runs.engine.instants import parse_instant, parse_length, show
from tapestry.runs.tables.queries import QueryRow, read_queries
from tapestry.schedule.steps import ReplayStep, Steps
from tapestry.schedule.stop import Stop
from tapestry.schedule.timings import timings
from tapestry.schedule.warm import Warm, name_of
from tapestry.words import counted, printable

if TYPE_CHECKING:
    from rich.console import Console

    from tapestry.runs.kinds.continuous.progress import Reached
    from tapestry.schedule.replay import Replay

SHOWN = 5
EXAMPLE = """\b
Examples:
  tapestry replay --from 2026-01-01 --to 2026-03-01 --step 1d
  tapestry replay --from 2026-01-01 --step "6 hours" --select unanswered
  tapestry replay --from 2026-01-01 --step 1w --full-refresh --target scratch

The first run covers everything up to --from, each further run one step, and the last one ends at
--to. Each is a `dbt run` with `tapestry_as_of`. If you start the command again, it continues after
the last complete step, which it finds in the models' tables. SIGTERM or Ctrl-C ends it after the
current step, a second one immediately.

Exit codes: 0 every step is complete; 1 a model failed, or the command was stopped before the end; 2
wrong usage or settings.
"""


INSTEAD = {
    "maintained": "its table is the answer as it is now and has no past to replay; dbt run brings"
    " it up to date",
}
"""Kind of model that cannot be replayed -> the reason, and the alternative."""


@click.command(epilog=EXAMPLE, short_help="Run the project over past data, in steps.")
@click.option("--from", "since", required=True, metavar="INSTANT", help="The end of the first run.")
@click.option("--to", "until", metavar="INSTANT", help="The end of the last run; default: now.")
@click.option(
    "--step", default="1d", show_default=True, metavar="LENGTH", help="The time between two runs."
)
@click.option("--full-refresh", is_flag=True, help="Build the tables again from the first step on.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON for each step.")
@selection_options
@project_options
def replay(
    since: str,
    until: str | None,
    step: str,
    full_refresh: bool,
    as_json: bool,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    given: DbtOptions,
) -> None:
    """Run the project over past data in steps, then show the new rows of each step."""
    from tapestry.cli.show import console
    from tapestry.schedule.by_priority import ByPriority, parents_of
    from tapestry.schedule.replay import Replay

    steps = read_steps(since, until, step)
    manifest = read_manifest(given)
    warm = Warm(manifest.arguments, manifest.parsed)
    chosen = warm.selected(selection(select, exclude))
    named = {name_of(node.unique_id): node for node in chosen}
    continuous = {k: n for k, n in named.items() if n.config.materialized == "continuous"}
    if not continuous:
        for one in chosen:
            refuse_kinds(one.to_dict(), {**NO_ANSWER, **INSTEAD})
        raise ConfigurationError(
            "no continuous models are selected: there is nothing to replay",
            str(manifest.root),
            "dbt ls --select config.materialized:continuous lists those that there are",
        )
    others = [name for name in named if name not in continuous]
    refuse_fixed_instant(runtime_config(given))
    priorities = {one.name: one.priority for one in timings(chosen, timedelta(0))}
    runner = ByPriority(warm, priorities, parents_of(manifest.parsed))
    with open_project(given) as project:
        going = _going(project.session, project.schema, continuous)
        reached = _reached(project.session, project.schema, going)
        run = Replay(runner, steps, reached, others, full_refresh=full_refresh)
        done = _play(run, console(), as_json)
    if not done:
        click.echo("stopped; the same command goes on from there", err=True)
        click.get_current_context().exit(1)


def selection(select: tuple[str, ...], exclude: tuple[str, ...]) -> list[str]:
    """dbt's options for what `--select` and `--exclude` said."""
    chosen = ["--select", *select] * bool(select)
    return chosen + ["--exclude", *exclude] * bool(exclude)


def refuse_fixed_instant(config: Any) -> None:
    """Raise ConfigurationError where the project's variables fix the instant of every run."""
    if VARIABLE in f"{config.vars.to_dict()} {config.cli_vars}":
        raise ConfigurationError(
            f"the variable {VARIABLE} is set: every run would end at the same instant",
            hint=f"take {VARIABLE} out of vars",
        )


def read_steps(since: str, until: str | None, step: str) -> Steps:
    """The instants; ConfigurationError for what is none."""
    now = datetime.now(timezone.utc)
    end = parse_instant(until, "--to") if until else now
    if end > now + timedelta(days=1):
        raise ConfigurationError(
            f"--to {until} lies in the future: the models could not run until then",
            hint="give an earlier --to, or leave it out",
        )
    return Steps(parse_instant(since, "--from"), end, parse_length(step, "--step"))


def _reached(session: Any, schema: str, nodes: Mapping[str, Any]) -> dict[str, Reached]:
    from tapestry.runs.kinds.continuous.progress import reached
    from tapestry.runs.query.relations import plain
    from tapestry.runs.tables.state import read_states

    table = f"{schema}.{STATE_TABLE}"
    states = read_states(session, table)
    named = {name: plain(node.relation_name) for name, node in nodes.items()}
    return {name: reached(session, one, table, states) for name, one in named.items()}


def _going(session: Any, schema: str, nodes: Mapping[str, Any]) -> dict[str, Any]:
    """The models that are not switched off; says of each other one that it is left out.

    Raises ConfigurationError where none is left.
    """
    from tapestry.runs.query.relations import plain

    rows = read_queries(session, f"{schema}.{QUERIES_TABLE}")
    going = {}
    for name, node in nodes.items():
        row = rows.get(plain(node.relation_name))
        if isinstance(row, QueryRow) and not row.active:
            click.echo(f"{name} is switched off: left out ({printable(row.why)})", err=True)
        else:
            going[name] = node
    if going:
        return going
    raise ConfigurationError(
        "every model that is selected is switched off: there is nothing to replay",
        hint="tapestry queries --on … switches one on",
    )


def _play(run: Replay, to: Console, as_json: bool) -> bool:
    """Run the steps; False where a signal ended it before the last one."""
    if not as_json:
        _announce(run, to)
    done: list[ReplayStep] = []
    complete = run.complete
    try:
        with Stop() as stop:
            for step in _with_progress(run, to, quiet=as_json):
                done.append(step)
                complete = step.number
                if as_json:
                    click.echo(json.dumps(_described(step, run.total)))
                if stop.asked:
                    break
    finally:
        if done and not as_json:
            _show(done, to)
    return complete == run.total


def _announce(run: Replay, to: Console) -> None:
    if run.complete:
        to.print(f"{run.complete} of {run.total} steps are complete already")
    for name, until in run.ahead.items():
        to.print(
            f"{name} has run to {show(until)}: left out until then (--full-refresh starts anew)"
        )


def _with_progress(run: Replay, to: Console, quiet: bool) -> Iterator[ReplayStep]:
    """The steps, with a bar on a terminal, a line each elsewhere."""
    if quiet:
        yield from run
        return
    if not to.is_terminal:
        for step in run:
            to.print(f"{step.number}/{run.total} {_sentence(step)}", markup=False)
            yield step
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("steps, left:"), TimeLeft())
    with Progress(*columns, TextColumn("{task.description}"), console=to) as progress:
        bar = progress.add_task("", total=run.total, completed=run.complete)
        for step in run:
            progress.update(bar, completed=step.number, description=_sentence(step))
            yield step


def _sentence(step: ReplayStep) -> str:
    rows = counted(sum(step.new.values()), "new row")
    return f"to {show(step.until)}: {rows} in {step.seconds:.1f} s"


def _described(step: ReplayStep, total: int) -> dict[str, Any]:
    return {
        "step": step.number,
        "of": total,
        "since": step.since.isoformat() if step.since else None,
        "until": step.until.isoformat(),
        "new": dict(step.new),
        "seconds": round(step.seconds, 3),
    }


def _show(done: list[ReplayStep], to: Console) -> None:
    """Show the rows that each step delivered; models with most new rows have own columns."""
    from tapestry.schedule.steps_table import step_cells, steps_table

    rows: dict[str, int] = {}
    for step in done:
        for name, number in step.new.items():
            rows[name] = rows.get(name, 0) + number
    shown = sorted(rows, key=lambda name: (-rows[name], name))[:SHOWN]
    table = steps_table("what each step delivered: new rows", shown)
    for step in done:
        table.add_row(*step_cells(step, shown))
    to.print(table)
