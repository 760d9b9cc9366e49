"""Command-line options that all figures share, and the way from them to a run."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.common import DATA_ENV, REAL_ENV, real_messages, start_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Options:
    """What to measure, and how long."""

    rows: int = 10_000_000  # generated messages; 0: none
    real: bool = True  # the real messages too, where they are
    rounds: int = 5
    budget: float = 240.0  # seconds for the rounds of one query
    shares: tuple[float, ...] = (1.0, 0.1, 0.01, 0.001)  # windows of figures 5 and 6
    queries: tuple[str, ...] = ()  # some of the queries of figures 5 and 6

    @property
    def why_no_real(self) -> str:
        """Why the real messages were skipped."""
        return f"skipped: no real messages here; give their parquet file as ${REAL_ENV}"


Run = Callable[["SparkSession", Options], None]


def parser(description: str | None = None) -> argparse.ArgumentParser:
    """The options of a figure."""
    found = argparse.ArgumentParser(description=description)
    found.add_argument("--rows", type=int, default=Options.rows, help="generated messages; 0: none")
    found.add_argument("--rounds", type=int, default=Options.rounds)
    found.add_argument("--budget", type=float, default=Options.budget, help="seconds a query")
    found.add_argument("--shares", type=float, nargs="+", default=Options.shares)
    found.add_argument("--queries", nargs="+", default=(), help="some of figures 5 and 6")
    found.add_argument("--no-real", action="store_true", help="only generated messages")
    found.add_argument("--messages", help=f"parquet file of real messages (else ${REAL_ENV})")
    found.add_argument("--root", help=f"folder for data and warehouse (else ${DATA_ENV})")
    return found


def options_of(arguments: argparse.Namespace) -> Options:
    """The options; a path that was given goes where all look for it."""
    if arguments.messages:
        os.environ[REAL_ENV] = arguments.messages
    if arguments.root:
        os.environ[DATA_ENV] = arguments.root
    found = Options(
        arguments.rows,
        not arguments.no_real,
        arguments.rounds,
        arguments.budget,
        tuple(arguments.shares),
        tuple(arguments.queries),
    )
    if found.real and real_messages() is None:
        print(found.why_no_real)
    return found


def main(run: Run) -> None:
    """Run one figure from the command line."""
    options = options_of(parser(run.__doc__).parse_args())
    run(start_spark(), options)
