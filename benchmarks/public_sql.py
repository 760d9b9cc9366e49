"""How much of other people's SQL is taken, and how long the rewriting takes.

``python -m benchmarks.public_sql FOLDER [--dialect D] [--write FILE]`` asks for each query of a dbt
project, or of a folder of .sql files, what `tapestry advise` asks (``tapestry.advise.survey``).  It
prints a table of reasons and writes the numbers as JSON: counts and times, none of the SQL.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.markdown import table
from tapestry.advise.records import CONTINUOUS, UNREAD, Advice, Survey
from tapestry.advise.survey import survey


def measured(found: Survey) -> dict[str, Any]:
    """Counts by verdict and reason, of all models and of the incremental ones, and times."""
    models = found.models
    incremental = [one for one in models if one.today == "incremental"]
    tried = [one for one in models if one.seconds]
    slowest = max(tried, key=lambda one: one.seconds, default=None)
    return {
        "project": found.project,
        "dialect": found.dialect,
        "all": counted(models),
        "incremental": counted(incremental),
        "rewriting": {
            "tried": len(tried),
            "seconds": round(sum(one.seconds for one in tried), 3),
            "longest_seconds": round(slowest.seconds, 3) if slowest else 0,
            "longest_characters": slowest.characters if slowest else 0,
            "characters": sum(one.characters for one in tried),
        },
    }


def counted(models: Sequence[Advice]) -> dict[str, Any]:
    """How many fit, are refused for which reason, and could not be judged."""
    return {
        "models": len(models),
        "continuous": sum(one.kind == CONTINUOUS for one in models),
        "continuous_if": sum(one.kind == CONTINUOUS and bool(one.conditions) for one in models),
        "unread": sum(one.kind == UNREAD for one in models),
        "refused": dict(
            Counter(one.code for one in models if one.code and one.kind != UNREAD).most_common()
        ),
    }


def rows(numbers: dict[str, Any]) -> list[list[str]]:
    """A row a verdict and reason: of all models, and of those that are incremental today."""
    every, some = numbers["all"], numbers["incremental"]
    lines = [
        [name, str(every[name]), str(some[name])]
        for name in ("models", "continuous", "continuous_if", "unread")
    ]
    for code, count in every["refused"].items():
        lines.append([f"refused: {code}", str(count), str(some["refused"].get(code, 0))])
    return lines


def main() -> None:
    """Measure one folder."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("folder", type=Path)
    given.add_argument("--dialect", default="spark")
    given.add_argument("--write", type=Path, help="the numbers as JSON")
    arguments = given.parse_args()
    numbers = measured(survey(arguments.folder, arguments.dialect))
    print(table(["verdict", "models", "of them incremental"], rows(numbers)))
    took = numbers["rewriting"]
    print(
        f"\nrewriting: {took['seconds']} s for {took['tried']} queries of {took['characters']:,}"
        f" characters; the longest {took['longest_seconds']} s for"
        f" {took['longest_characters']:,} characters"
    )
    if arguments.write:
        arguments.write.write_text(json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
