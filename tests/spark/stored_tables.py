"""Tables as one format of the package wrote them, kept below ``tests/stored``, a folder a format.

``write`` makes the folder of a format, once, by the version that brings the format; a folder that
is there is never written again.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from tests.spark.run_world import UNANSWERED, World

from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.memories.keep import keep_memories
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.log import write_checks, write_log

STORED = Path(__file__).parents[1] / "stored"
SCHEMA = "stored"
COUNTS = "select m.author, count(*) as n from {s}.messages m group by m.author"


def models(world: World) -> list[Model]:
    """A query that looks back, with late rows and ends; one with groups, whose states are kept."""
    few = {"name": "few", "expect": "n < 3", "on_violation": "drop"}
    return [
        world.model(
            UNANSWERED,
            name="unanswered",
            verify="full",
            memories=["m"],
            on_source_rewrite="deletes_ok",
        ),
        world.model(COUNTS, name="counts", verify="full", memories="on", expectations=[few]),
    ]


def run_all(world: World, seconds: float) -> dict[str, list[tuple[Any, ...]]]:
    """Run both models, their log and their memories; what stands in their tables."""
    invocation = world.invocation(seconds)
    try:
        for model in models(world):
            planned = prepare(world.session, model, invocation)
            execute(world.session, planned, invocation)
        write_log(world.session, f"{world.schema}.tapestry_runs", "i", invocation.log)
        write_checks(world.session, f"{world.schema}.tapestry_checks", "i", invocation.log)
        keep_memories(world.session, invocation.asked.requests, "i")
    finally:
        invocation.shared.release(world.session)
    return answers(world)


def answers(world: World) -> dict[str, list[tuple[Any, ...]]]:
    """What stands in the tables of the models."""
    return {
        "unanswered": world.answers("unanswered"),
        "counts": world.answers("counts", "author, n"),
    }


def write(session: Any, folder: Path) -> None:
    """Make the tables of the format of today, and keep their files in a folder."""
    session.run(f"create schema {SCHEMA}")
    world = World(session, SCHEMA).create()
    run_all(world, 20)
    world.add((4, "a", None, 3), (5, "b", None, 18), (6, "c", 1, 25))
    run_all(world, 30)
    world.add((7, "c", None, 31))
    run_all(world, 45)
    for _, name, _ in session.rows(f"show tables in {SCHEMA}"):
        ((_, _, _, _, location, *_),) = session.rows(f"describe detail {SCHEMA}.{name}")
        place = folder / str(name)
        shutil.copytree(
            location.removeprefix("file:"), place, ignore=shutil.ignore_patterns("*.crc")
        )


def laid_out(session: Any, stored: Path, folder: Path) -> World:
    """A copy of the tables of a format, known to the catalog under their names."""
    session.run(f"create schema {SCHEMA}")
    for table in sorted(stored.iterdir()):
        shutil.copytree(table, folder / table.name)
        session.run(
            f"create table {SCHEMA}.{table.name} using delta location '{folder / table.name}'"
        )
    return World(session, SCHEMA)
