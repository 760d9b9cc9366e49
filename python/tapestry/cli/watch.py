"""`tapestry watch`: run the project's models again and again, each as often as it says."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import click

from tapestry.children import TimeoutExpired
from tapestry.cli.models import Manifest, read_manifest
from tapestry.cli.options import DbtOptions, project_options, selection_options
from tapestry.cli.project import runtime_config
from tapestry.cli.replay import refuse_fixed_instant, selection
from tapestry.errors import ConfigurationError, TapestryError, parted
from tapestry.runs.context.clock import ENVIRONMENT
from tapestry.runs.engine.instants import parse_every, parse_length
from tapestry.runs.kinds.registry import kind_named
from tapestry.schedule.pool import Pool
from tapestry.schedule.stop import Stop
from tapestry.schedule.ticks import Ticks
from tapestry.schedule.timings import by_graph, timings
from tapestry.schedule.wakes import Wakes
from tapestry.schedule.warm import Warm, name_of
from tapestry.schedule.watcher import Pace, Watcher, WatchView
from tapestry.schedule.worker import Task

MAINTAINED = "maintained"
EXAMPLE = """\b
Examples:
  tapestry watch
  tapestry watch --every 30s --select config.materialized:continuous
  tapestry watch --every 5m --workers 3 --json >> watch.jsonl

A model runs in the interval `every:` of its configuration, otherwise in that of --every. If two
models are due, the one with the greater `priority:` runs first, with the models that it reads.
Models that `tapestry queries` has switched off are skipped. A maintained model runs earlier if a
table that it reads has a new version and is on this machine; an action when its first batch is
released, or due for another attempt. A tick that passes while the model runs is counted and
skipped, so ticks do not drift. A model that fails pauses, twice as long after each failure, up to
ten minutes; the others go on. SIGTERM or Ctrl-C ends the command after the current runs, a second
one immediately. When you start it again, each model goes on from its table.

Exit codes: 0 it was ended, or the time of --for is over, and no model is failing; 1 the last run of
a model failed, or the command could not start; 2 wrong usage or settings.
"""


@click.command(epilog=EXAMPLE, short_help="Run the models again and again, each in its interval.")
@click.option(
    "--every", default="30s", show_default=True, help="The interval of models without `every:`."
)
@click.option("--workers", default=2, show_default=True, type=click.IntRange(1, 64))
@click.option("--for", "lasting", metavar="LENGTH", help="End after this time; default: never.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one line of JSON for each run of a model."
)
@selection_options
@project_options
def watch(
    every: str,
    workers: int,
    lasting: str | None,
    as_json: bool,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    given: DbtOptions,
) -> None:
    """Run the project's models again and again, with one Spark and dbt that stay loaded."""
    from tapestry.schedule.by_priority import parents_of

    length = parse_every(every, "--every")
    seconds = parse_length(lasting, "--for").total_seconds() if lasting else None
    manifest = read_manifest(given)
    config = runtime_config(given)
    _refuse_fixed_clock(config)
    planned = by_graph(
        timings(_chosen(manifest, select, exclude), length), parents_of(manifest.parsed)
    )
    engine = Engine(config)
    with ExitStack() as stack:
        stack.callback(engine.close)
        engine.start()
        pool = Pool(workers, lambda number: _task(manifest, config, engine, number))
        stack.callback(lambda: pool.close())
        pool.start()
        wakes = Wakes(read_by_kept(manifest, {one.name for one in planned}))
        ticks = Ticks(planned, time.monotonic())
        ends_at = None if seconds is None else ticks.start + seconds
        pace = Pace(config.threads, ends_at=ends_at)
        failing = _watch(ticks, pool, engine, wakes, pace, as_json)
    if failing:
        click.echo(f"failing: {', '.join(failing)}", err=True)
        click.get_current_context().exit(1)


def _chosen(manifest: Manifest, select: tuple[str, ...], exclude: tuple[str, ...]) -> list[Any]:
    nodes = Warm(manifest.arguments, manifest.parsed).selected(selection(select, exclude))
    if not nodes:
        raise ConfigurationError(
            "no models are selected: there is nothing to run",
            str(manifest.root),
            "dbt ls --resource-type model lists those that there are",
        )
    return nodes


def _refuse_fixed_clock(config: Any) -> None:
    refuse_fixed_instant(config)
    if os.environ.get(ENVIRONMENT):
        raise ConfigurationError(
            f"{ENVIRONMENT} is set: every run would end at the same instant",
            hint=f"unset {ENVIRONMENT}; for past data there is tapestry replay",
        )


def _task(manifest: Manifest, config: Any, engine: Engine, number: int) -> Task:
    logs = Path(config.project_root) / (config.log_path or "logs") / f"watch-{number}"
    # no artifact of dbt's a cycle: those of the last `dbt run` stay as they are
    options = ["--quiet", "--log-level-file", "info", "--log-path", str(logs), "--no-write-json"]
    arguments = (*manifest.arguments, *options, "--no-send-anonymous-usage-stats")
    environment = {"TAPESTRY_ENGINE": engine.offer} if engine.offer else {}
    return Task(arguments, environment, logs / "worker.log")


def read_by_kept(manifest: Manifest, names: Collection[str]) -> dict[str, set[str]]:
    """The tables that each of the maintained models reads, through views too."""
    from dbt.adapters.tapestry.nodes import depends_on
    from tapestry.runs.query.relations import plain

    found: dict[str, set[str]] = {}
    for unique_id, node in manifest.graph["nodes"].items():
        if name_of(unique_id) not in names or node["resource_type"] != "model":
            continue
        if kind_named(node["config"].get("materialized")) != MAINTAINED:
            continue
        left, tables = [node], set[str]()
        while left:
            for one in depends_on(left.pop(), manifest.graph):
                if one.get("config", {}).get("materialized") in ("view", "ephemeral"):
                    left.append(one)
                elif one.get("relation_name"):
                    tables.add(plain(one["relation_name"]))
        found[name_of(unique_id)] = tables
    return found


def _watch(
    ticks: Ticks,
    pool: Pool,
    engine: Engine,
    wakes: Wakes,
    pace: Pace,
    as_json: bool,
) -> list[str]:
    """Watch until the end; the models that fail then."""
    from tapestry.cli.show import console
    from tapestry.cli.watch_view import JsonView, LiveView, TextView

    to = console()
    with ExitStack() as stack:
        stop = stack.enter_context(Stop())
        live = LiveView(to, ticks, time.monotonic) if to.is_terminal and not as_json else None
        view: WatchView = live or (JsonView(ticks) if as_json else TextView(to))
        watcher = Watcher(ticks, pool, view, stop, pace)
        watcher.wakes = wakes
        if live is not None:
            live.lines = watcher.lines
            stack.enter_context(live)
        else:
            view.note(f"watching {len(ticks.turns)} models with {pool.size} workers")

        def healthy() -> None:
            if not engine.alive:
                view.note("the shared Spark ended; starting another")
                engine.start()
                pool.replace()

        watcher.healthy = healthy
        try:
            watcher.run()
        except KeyboardInterrupt:
            pool.replace()  # by force: what is under way has committed or has not
            raise click.Abort from None
    return watcher.failing


class EngineFailed(TapestryError):
    """The shared Spark did not start."""


class Engine:
    """The Spark that the workers share, in a process of its own (`engine_host`).

    ``offer`` is what others join it by, '' where none is needed.

    Spark Connect, Thrift and the like have a server of their own: nothing is started for them.
    """

    def __init__(self, config: Any) -> None:
        self._config = config
        self._process: Any = None
        self.offer = ""

    @property
    def wanted(self) -> bool:
        """Whether each worker would start a Spark of its own."""
        credentials = self._config.credentials
        return bool(credentials.embedded) and not str(credentials.master or "").startswith("sc://")

    @property
    def alive(self) -> bool:
        """Whether the shared Spark runs, or none is wanted."""
        return not self.wanted or (self._process is not None and self._process.poll() is None)

    def start(self) -> None:
        """Start it and wait until it can be joined; EngineFailed with what is wrong."""
        if not self.wanted:
            return
        self.close(patience=0)
        from dbt_common.exceptions import DbtRuntimeError

        from dbt.adapters.tapestry.engine import launch_engine

        credentials = self._config.credentials
        wanted = {
            "given": dict(credentials.server_side_parameters),
            "root": str(self._config.project_root),
            "master": credentials.master,
            "log_path": self._config.log_path,
        }
        try:
            self._process, offer = launch_engine(wanted)
        except DbtRuntimeError as error:
            reason, hint = parted(str(error.msg))
            raise EngineFailed(reason, hint=hint or "see logs/spark.log") from error
        self.offer = str(offer)

    def close(self, patience: float = 70.0) -> None:
        """End it once the other processes that have joined it are done; by force after a while."""
        process, self._process, self.offer = self._process, None, ""
        if process is None:
            return
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(patience)
        except TimeoutExpired:
            process.kill()
            process.wait()
