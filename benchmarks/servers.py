"""What a model with nothing new costs over each way to a Spark: statements and seconds.

The same project (selections, self joins and NOT EXISTS with the clock in turn, over a table of one
row) is run from nothing, and then again and again with nothing new, in a process of its own for
each way. The ways after the first are those whose addresses are given; the servers run already.

``python -m benchmarks.servers [--models 50] [--thrift HOST:PORT] [--connect sc://HOST:PORT]
[--master spark://HOST:PORT]``
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.common import bench_root, save
from benchmarks.dbt_project import source_file, with_config, write_project

SCHEMA = "ways"
TEMPLATES = (
    "select msgid, author from {m} where n % 100 = {i} % 100",
    "select m.msgid, r.msgid as reply from {m} m, {m} r where r.parent = m.msgid and r.n >= {i}",
    "select m.msgid from {m} m where m.ts < now() - interval 28 days and m.n >= {i}\n"
    "  and not exists (select 1 from {m} r where r.parent = m.msgid)",
)
FILL = """{% macro fill() %}
  {% do run_query("create schema if not exists " ~ target.schema) %}
  {% do run_query("create or replace table " ~ target.schema ~ ".messages"
     ~ " (msgid int, parent int, author string, n int, ts timestamp) using delta") %}
  {% do run_query("insert into " ~ target.schema ~ ".messages"
     ~ " values (1, null, 'a', 1, timestamp'2026-01-01')") %}
{% endmacro %}
"""


def write_models(folder: Path, models: int, output: dict[str, Any]) -> None:
    """A project of so many models whose target is ``output``."""
    table = "{{ source('bboard', 'messages') }}"
    texts = source_file("bboard", SCHEMA, {"messages": {"loaded_at_field": "ts"}})
    for i in range(models):
        text = TEMPLATES[i % len(TEMPLATES)].format(m=table, i=i)
        texts[f"models/m{i}.sql"] = with_config(text, materialized="continuous", verify="off")
    texts["macros/fill.sql"] = FILL
    write_project(folder, SCHEMA, texts, {"threads": 2, **output})


def one_way(folder: Path, models: int, repeat: int) -> dict[str, Any]:
    """Seconds and statements a model: from nothing, and with nothing new (medians)."""
    from dbt.adapters.spark.connections import PyhiveConnectionWrapper
    from dbt.cli.main import dbtRunner

    from dbt.adapters.tapestry.handle import EmbeddedConnection

    asked: list[str] = []
    for kind in (EmbeddedConnection, PyhiveConnectionWrapper):
        kind.execute = _counted(kind.execute, asked)  # type: ignore[method-assign]

    def dbt(*words: str) -> tuple[float, float]:
        asked.clear()
        began = time.perf_counter()
        places = ["--project-dir", str(folder), "--profiles-dir", str(folder)]
        result = dbtRunner().invoke(["--quiet", *words, *places])
        if not result.success:
            raise SystemExit(f"dbt {words[0]} failed: {result.exception or result.result}")
        return (time.perf_counter() - began) / models, len(asked) / models

    dbt("run-operation", "fill")
    first = dbt("run")
    dbt("run")  # the first with nothing new asks when time alone will bring something
    again = [dbt("run") for _ in range(repeat)]
    seconds, statements = (statistics.median(one[i] for one in again) for i in (0, 1))
    return {"first": first, "seconds": seconds, "statements": statements}


def _counted(execute: Callable[..., Any], asked: list[str]) -> Callable[..., Any]:
    def counted(self: Any, sql: str, *rest: Any) -> Any:
        asked.append(sql)
        return execute(self, sql, *rest)

    return counted


def listed(result: dict[str, Any]) -> tuple[list[str], list[list[str]], str]:
    """Head, rows and a sentence for the page."""
    rows = []
    for name, one in result["ways"].items():
        row = [name, f"{one['statements']:.1f}", f"{one['seconds']:.2f}", f"**{one['ratio']:.1f}**"]
        row += [f"{one['first'][1]:.1f}", f"{one['first'][0]:.2f}", str(one["load_average"])]
        rows.append(row)
    head = ["a model, nothing new", "statements", "seconds", ": embedded"]
    head += ["first run: statements", "seconds", "load average"]
    at = result["measured"]
    said = (
        f"{result['models']} models, two threads, the median of {result['repeat']} runs;"
        f" {at['at'][:10]}, Spark {at['spark']}, {at['cores']} cores, commit {at['commit']}."
        " The load average says how much else the machine did meanwhile."
    )
    return head, rows, said


def ways(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The targets, by the names that the page gives them."""
    memory = {"spark.driver.memory": "1g"}
    warehouse = {"spark.sql.warehouse.dir": str(bench_root() / "ways" / "warehouse")}
    found = {"embedded": {"method": "session", "server_side_parameters": {**memory, **warehouse}}}
    if arguments.master:
        shared = {**memory, "spark.executor.memory": "512m"}
        shared["spark.sql.warehouse.dir"] = str(bench_root() / "ways" / "warehouse-cluster")
        found["spark://"] = {"method": "session", "master": arguments.master}
        found["spark://"]["server_side_parameters"] = shared
    if arguments.thrift:
        host, _, port = arguments.thrift.rpartition(":")
        found["Thrift"] = {"method": "thrift", "host": host, "port": int(port), "user": "dbt"}
    if arguments.connect:
        found["Connect"] = {"method": "session", "master": arguments.connect}
    return found


def main() -> None:
    """Each way in a process of its own, one after the other; then the ratios."""
    wanted = argparse.ArgumentParser(description=__doc__)
    wanted.add_argument("--models", type=int, default=50)
    wanted.add_argument("--repeat", type=int, default=3)
    wanted.add_argument("--thrift")
    wanted.add_argument("--connect")
    wanted.add_argument("--master")
    wanted.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    arguments = wanted.parse_args()
    if arguments.one:
        print(json.dumps(one_way(arguments.one, arguments.models, arguments.repeat)))
        return
    found: dict[str, Any] = {}
    for name, output in ways(arguments).items():
        folder = bench_root() / "ways" / f"project-{len(found)}"
        write_models(folder, arguments.models, output)
        command = [sys.executable, "-m", "benchmarks.servers", "--one", str(folder)]
        command += ["--models", str(arguments.models), "--repeat", str(arguments.repeat)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found[name] = json.loads(done.stdout.splitlines()[-1])
        found[name]["load_average"] = round(os.getloadavg()[0], 1)
        found[name]["ratio"] = found[name]["seconds"] / found["embedded"]["seconds"]
        print(name, found[name], flush=True)
        save("servers", {"models": arguments.models, "repeat": arguments.repeat, "ways": found})


if __name__ == "__main__":
    main()
