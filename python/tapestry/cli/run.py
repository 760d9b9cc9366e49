"""`tapestry run`: one `dbt run`, in which models of greater priority go first."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import click

from tapestry.cli.models import Manifest, read_manifest
from tapestry.cli.options import DbtOptions, project_options, selection_options
from tapestry.cli.project import given_instant, runtime_config
from tapestry.cli.replay import selection
from tapestry.errors import ConfigurationError
from tapestry.runs.context.clock import ENVIRONMENT
from tapestry.runs.engine.instants import show
from tapestry.schedule.run_results import RunResults
from tapestry.schedule.timings import timings
from tapestry.schedule.warm import FAILED, OK, SKIPPED, Ran, Warm, name_of
from tapestry.words import counted

EXAMPLE = """\b
Examples:
  tapestry run
  tapestry run --select unanswered+ --full-refresh
  tapestry run --threads 4 --json
  tapestry run --select state:modified+ --state prod --defer --fail-fast

dbt alone orders models by the graph. This command runs dbt once for each value of `priority:`, the
greatest first, each time with the models that those models read. All runs end at one instant, and
no model runs twice. If all models have the same priority, it is one `dbt run`. A model that reads a
failed one is skipped, as dbt does it; `dbt retry` runs both. Hooks on-run-start and on-run-end run
each time. With --fail-fast no further run begins after a model has failed.

Exit codes: 0 every model is done, 1 one failed; 2 wrong usage or settings.
"""


@click.command(epilog=EXAMPLE, short_help="Run the models once, those of greater priority first.")
@click.option("--full-refresh", is_flag=True, help="dbt's own option.")
@click.option("--threads", type=click.IntRange(1), help="dbt's own option.")
@click.option("--json", "as_json", is_flag=True, help="Print the result of each model as JSON.")
@click.option("--fail-fast", "-x", is_flag=True, help="dbt's own option.")
@click.option("--defer/--no-defer", default=None, help="dbt's own option.")
@click.option("--state", metavar="FOLDER", help="dbt's own option.")
@click.option("--selector", metavar="NAME", help="dbt's own option.")
@selection_options
@project_options
def run(
    full_refresh: bool,
    threads: int | None,
    as_json: bool,
    fail_fast: bool,
    defer: bool | None,
    state: str | None,
    selector: str | None,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    given: DbtOptions,
) -> None:
    """Run the models once; those of greater `priority` go first, with what they read."""
    manifest = read_manifest(given)
    chosen = selection(select, exclude)
    chosen += [] if selector is None else [f"--selector={selector}"]
    compared = ["--fail-fast"] * fail_fast
    compared += [] if state is None else [f"--state={state}"]
    compared += [] if defer is None else ["--defer" if defer else "--no-defer"]
    options = [*compared, *["--full-refresh"] * full_refresh]
    options += [] if threads is None else ["--threads", str(threads)]
    nodes = Warm(manifest.arguments, manifest.parsed).selected([*chosen, *compared])
    quiet = "--log-level=none"
    shown = [one for one in manifest.arguments if one != quiet or as_json]
    warm = Warm(shown, manifest.parsed)
    priorities = _priorities(nodes)
    if len(set(priorities.values())) > 1:
        ran = _by_priority(warm, manifest, nodes, priorities, options, as_json)
    else:
        ran = warm.run((), None, [*chosen, *options])
        if as_json:
            _tell(ran, None, {})
    if any(one.status == FAILED for one in ran):
        click.get_current_context().exit(1)


def _priorities(nodes: Sequence[Any]) -> dict[str, int]:
    return {one.name: one.priority for one in timings(nodes, timedelta(0))}


def _by_priority(
    warm: Warm,
    manifest: Manifest,
    nodes: Sequence[Any],
    priorities: Mapping[str, int],
    options: Sequence[str],
    as_json: bool,
) -> list[Ran]:
    """One run of dbt a priority; then what all of them did together."""
    from tapestry.schedule.by_priority import ByPriority, parents_of

    fail_fast = _fails_fast()
    config = runtime_config(manifest.given)
    instant = None if _fixed(config) else datetime.now(timezone.utc)
    results = RunResults(Path(config.project_target_path))
    times: dict[int, list[str]] = {}

    def after(priority: int, ran: list[Ran]) -> None:
        results.add()
        times[priority] = [one.model for one in ran]

    going = ByPriority(warm, priorities, parents_of(manifest.parsed), after, fail_fast)
    ran = going.run(list(priorities), instant, options)
    ids = {name_of(node.unique_id): node.unique_id for node in nodes}
    known = results.unique_ids
    results.write(
        (ids[one.model], one.message)
        for one in ran
        if one.status == SKIPPED and ids.get(one.model) not in known
    )
    if as_json:
        _tell(ran, instant, times)
    else:
        click.echo(_sentence(ran, instant, len(times)))
    return ran


def _fails_fast() -> bool:
    """Return dbt's ``fail_fast``, from its options, environment and project at listing.

    Raises ConfigurationError for what several runs cannot do as one does.
    """
    from dbt.flags import get_flags

    flags: Any = get_flags()  # type: ignore[no-untyped-call]
    if flags.DEFER and flags.FAVOR_STATE:
        raise ConfigurationError(
            "favor_state: a model would be read from the state though a run of a greater priority"
            " has just built it",
            hint="leave out favor_state (DBT_FAVOR_STATE), or use dbt run",
        )
    return bool(flags.FAIL_FAST)


def _fixed(config: Any) -> bool:
    """Return whether the caller gives the run's instant, which all runs of dbt then have."""
    return bool(os.environ.get(ENVIRONMENT)) or given_instant(config) is not None


def _sentence(ran: Sequence[Ran], instant: datetime | None, runs: int) -> str:
    done = [one for one in ran if one.status == OK]
    parts = [f"{len(done)} done ({counted(sum(one.rows for one in done), 'row')})"]
    for status in (FAILED, SKIPPED):
        names = [one.model for one in ran if one.status == status]
        parts += [f"{len(names)} {status} ({', '.join(names)})"] if names else []
    until = "" if instant is None else f" to {show(instant)}"
    return f"{counted(len(ran), 'model')}{until} in {counted(runs, 'run')}: {', '.join(parts)}"


def _tell(ran: Sequence[Ran], instant: datetime | None, times: Mapping[int, list[str]]) -> None:
    told = {
        "as_of": None if instant is None else instant.isoformat(),
        "priorities": [{"priority": p, "models": names} for p, names in times.items()],
        "models": [asdict(one) for one in ran],
    }
    click.echo(json.dumps(told, indent=2))
