"""Twenty models over one source: with a memory that serves all of them, and without any.

Each joins transfers of great amounts to others of the same account, with conditions of its own, so
that a run needs all of history. The two projects have the same models over the same stream, and run
by turns; their answers are compared. A memory is built after the second run, whose seconds are
given by themselves.

``python -m benchmarks.one_memory [--models 20] [--ticks 5] [--rows 10000000] [--new 100000]``
"""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.common import save, start_spark
from benchmarks.options import options_of, parser
from benchmarks.sharing import Project, Stream

LEAST = 999_000
"""Of a million amounts those above it are great."""
PAIRS = (
    "select r1.tran_id, r2.tran_id as next_id, r1.amount from {{{{ source('s', 'stream') }}}} r1\n"
    "join {{{{ source('s', 'stream') }}}} r2\n"
    "  on r2.account = r1.account and r2.tran_id <> r1.tran_id\n"
    "where r1.amount > {least} and r2.amount > {least} and r1.type_code = {kind}"
)
KINDS = 10


def models(number: int) -> list[str]:
    """Models whose conditions overlap: a type each, and a few amounts."""
    return [PAIRS.format(least=LEAST + i // KINDS * 100, kind=i % KINDS) for i in range(number)]


def measure(stream: Stream, projects: dict[str, Project], arguments: Any) -> dict[str, Any]:
    """A first run, one that builds memories, one to warm up, then ticks."""
    at = stream.grow(arguments.rows)
    first = {name: project.seconds(at) for name, project in projects.items()}
    print("first", {name: round(seconds, 1) for name, seconds in first.items()}, flush=True)
    found: list[dict[str, float]] = []
    for number in range(arguments.ticks + 2):
        at = stream.grow(arguments.new)
        turn = list(projects.items())[:: -1 if number % 2 else 1]
        one = {name: project.seconds(at) for name, project in turn}
        print(number, {name: round(seconds, 1) for name, seconds in one.items()}, flush=True)
        found.append(one)
    kept = found[2:]
    ratios = [one["auto"] / one["off"] for one in kept]
    answers = {name: project.answers() for name, project in projects.items()}
    if len(set(answers.values())) > 1:
        raise SystemExit(f"the answers differ: {answers}")
    return {
        "seconds": {name: statistics.median(one[name] for one in kept) for name in projects},
        "building": found[0],
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "answers": answers["off"],
    }


def main() -> None:
    """Measure, show and keep it."""
    wanted = parser(__doc__)
    wanted.set_defaults(no_real=True)
    wanted.add_argument("--models", type=int, default=20)
    wanted.add_argument("--ticks", type=int, default=5)
    wanted.add_argument("--new", type=int, default=100_000)
    arguments = wanted.parse_args()
    options_of(arguments)
    stream, texts = Stream(start_spark()), models(arguments.models)
    projects = {
        name: Project(stream, f"memory_{name}", texts, {"verify": "off", "memories": name}, 1)
        for name in ("off", "auto")
    }
    found = measure(stream, projects, arguments)
    names = stream.spark.sql("SHOW TABLES IN memory_auto LIKE 'tapestry_memory__*'").collect()
    asked = {"rows": arguments.rows, "new": arguments.new, "models": arguments.models}
    print(f"ratio {found['ratio']:.2f}, {len(names)} memories, {found['answers']} answers")
    save("one_memory", {**asked, "memories": len(names), **found})


if __name__ == "__main__":
    main()
