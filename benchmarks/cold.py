"""Many small models with one new row, each invocation in a new process: against dbt's tables.

The models are selections, joins and NOT EXISTS over two small sources; each stands twice in one
project, as `table` and as `continuous` with the default checks. Every round appends a row to each
source, then runs both halves by turns, each as `dbt run` in a new process. Seconds are those of the
whole process; memory is the greatest resident size of its JVM, read twice a second.

``python -m benchmarks.cold [--models 60] [--rounds 5] [--threads 2]``
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.common import bench_root, save
from benchmarks.dbt_project import source_file, with_config, write_project
from benchmarks.options import options_of, parser

ROWS = 1_000
NAME = "cold"
TEMPLATES = (
    "select id, account, amount from {{{{ source('s', 'payments') }}}} where amount % 100 = {i}",
    "select p.id, a.owner from {{{{ source('s', 'payments') }}}} p\n"
    "join {{{{ source('s', 'accounts') }}}} a on a.account = p.account where p.amount % 100 = {i}",
    "select p.id from {{{{ source('s', 'payments') }}}} p where p.amount % 100 = {i}\n"
    "and not exists (select 1 from {{{{ source('s', 'accounts') }}}} a where a.account = p.id)",
)
GROW = """{% macro grow(first, rows) %}
{% do run_query("create schema if not exists " ~ target.schema) %}
{% for name, values in [
  ("payments", "id, id % 500 as account, id % 1000 as amount"),
  ("accounts", "id + 100000 as account, concat('owner ', id) as owner"),
] %}
{% set rows_of = "select " ~ values ~ ", current_timestamp() as ts from range(" ~ first ~ ", "
  ~ (first + rows) ~ ")" %}
{% set table = target.schema ~ "." ~ name %}
{% if first == 0 %}
{% do run_query("create table " ~ table ~ " using delta as " ~ rows_of) %}
{% else %}
{% do run_query("insert into " ~ table ~ " " ~ rows_of) %}
{% endif %}
{% endfor %}
{% endmacro %}
"""


class Project:
    """The project's folder, with a catalog of its own."""

    def __init__(self, models: int, threads: int) -> None:
        self.folder = bench_root() / f"{NAME}_{models}"
        tables = {name: {"loaded_at_field": "ts"} for name in ("payments", "accounts")}
        files = {**source_file("s", NAME, tables), "macros/grow.sql": GROW}
        for number in range(models):
            text = TEMPLATES[number % len(TEMPLATES)].format(i=number % 100)
            for kind in ("table", "continuous"):
                place = f"models/{kind}/{kind}_{number}.sql"
                files[place] = with_config(text, materialized=kind)
        write_project(self.folder, NAME, files, {"method": "session", "threads": threads})

    def grow(self, first: int, rows: int) -> None:
        """Append rows to both sources, in a process that is not measured."""
        self.dbt("run-operation", "grow", "--args", f"{{first: {first}, rows: {rows}}}")

    def dbt(self, *arguments: str) -> tuple[float, float]:
        """Run dbt in a process of its own; seconds, and MiB of the JVM at its greatest.

        Raises SystemExit where it fails.
        """
        command = [str(Path(sys.executable).parent / "dbt"), *arguments, "--profiles-dir", "."]
        log = self.folder / "last.log"
        began, most = time.perf_counter(), 0.0
        with log.open("w") as out:
            running = subprocess.Popen(command, cwd=self.folder, stdout=out, stderr=out)
            while running.poll() is None:
                most = max([most, *_jvms(running.pid)])
                time.sleep(0.5)
        if running.returncode:
            raise SystemExit(f"{' '.join(arguments)} failed:\n{log.read_text()[-4000:]}")
        return time.perf_counter() - began, most


def _jvms(parent: int) -> Iterator[float]:
    """The greatest resident size so far of each JVM below a process, in MiB (Linux)."""
    waiting = [parent]
    while waiting:
        process = waiting.pop()
        try:
            status = Path(f"/proc/{process}/status").read_text()
            children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        except OSError:
            continue
        lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        if lines.get("Name", "").strip() == "java":
            yield int(lines["VmHWM"].split()[0]) / 1024
        waiting += map(int, children)


def measure(models: int, rounds: int, threads: int) -> dict[str, Any]:
    """Rounds of both halves after a first one that makes all tables."""
    project = Project(models, threads)
    project.grow(0, ROWS)
    first, _ = project.dbt("run")
    print(f"first {first:.1f}", flush=True)
    found = []
    for number in range(rounds):
        project.grow(ROWS + number, 1)
        kinds = ["table", "continuous"][:: -1 if number % 2 else 1]
        one = {kind: project.dbt("run", "--select", f"models/{kind}") for kind in kinds}
        print(number, {kind: [round(x, 1) for x in pair] for kind, pair in one.items()}, flush=True)
        found.append(one)
    idle = [project.dbt("run", "--select", "models/continuous")[0] for _ in range(1 + rounds)]
    return {
        "seconds": {k: statistics.median(one[k][0] for one in found) for k in found[0]},
        "jvm_mib": {k: statistics.median(one[k][1] for one in found) for k in found[0]},
        "ratio": statistics.median(one["continuous"][0] / one["table"][0] for one in found),
        "nothing_new_first_seconds": idle[0],
        "nothing_new_seconds": statistics.median(idle[1:]),
    }


def listed(result: dict[str, Any]) -> tuple[list[str], list[list[str]], str]:
    """Head, rows and a sentence for the page."""
    at, seconds, memory = result["measured"], result["seconds"], result["jvm_mib"]
    head = ["an invocation of", "seconds", ": `table`", "JVM, MiB"]
    rows = [
        ["`table` models", f"{seconds['table']:.1f}", "1.00", f"{memory['table']:.0f}"],
        [
            "`continuous` models",
            f"{seconds['continuous']:.1f}",
            f"**{result['ratio']:.2f}**",
            f"{memory['continuous']:.0f}",
        ],
    ]
    for key, named in (
        ("nothing_new_first_seconds", "the same, nothing new, first"),
        ("nothing_new_seconds", "the same, nothing new"),
    ):
        if key in result:
            rows.append([named, f"{result[key]:.1f}", "", ""])
    said = (
        f"{result['models']} models, medians of {result['rounds']} rounds, {result['threads']}"
        f" threads; {at['at'][:10]}, {at['cores']} cores, load average {at['load_average']},"
        f" commit {at['commit']}."
    )
    return head, rows, said


def main() -> None:
    """Measure, show and keep it."""
    wanted = parser(__doc__)
    wanted.set_defaults(no_real=True)
    wanted.add_argument("--models", type=int, default=60)
    wanted.add_argument("--threads", type=int, default=2)
    arguments = wanted.parse_args()
    options_of(arguments)
    os.environ.pop("TAPESTRY_AS_OF", None)
    found = measure(arguments.models, arguments.rounds, arguments.threads)
    print(found)
    asked = {name: getattr(arguments, name) for name in ("models", "rounds", "threads")}
    save(NAME, {**asked, **found})


if __name__ == "__main__":
    main()
