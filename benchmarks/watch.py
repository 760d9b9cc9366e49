"""`tapestry watch`, measured: from a row's commit to its delivery, and memory over its cycles.

A watch runs one quick model every second and a few slow ones, while rows are committed to their
source at random moments by a writer without Spark. A row is delivered with the commit of the quick
model's table that holds it: both times are those of Delta's log files. Memory is what the kernel
says of each of its processes.

``python -m benchmarks.watch [--seconds 200] [--every 1s] [--pause 3] [--slow 0]``
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.common import bench_root, save

WARM = 100
"""After so many cycles what is alive in Java's heap is measured first, and at the end again."""
CREATE = """
import sys
from dbt.adapters.tapestry import embedded
spark = embedded.start(root=sys.argv[1])
spark.sql("create schema if not exists watched")
spark.sql("create table watched.messages (id bigint, ts timestamp) using delta")
"""
SOURCES = """
version: 2
sources:
  - name: watched
    tables: [{name: messages, config: {loaded_at_field: ts}}]
"""
QUICK = "{{ config(materialized='continuous', every='%s') }}"
QUICK += " select id from {{ source('watched', 'messages') }}"
SLOW = "{{ config(materialized='table', every='%s') }} select count(*) as n from range(%s) a"
SLOW += " where hash(id, sqrt(id)) %% 7 = 1"


def make_project(root: Path, every: str, slow: int) -> None:
    """One quick continuous model, and tables that take long to count."""
    shutil.rmtree(root, ignore_errors=True)
    (root / "models").mkdir(parents=True)
    (root / "dbt_project.yml").write_text("{name: watched, profile: p, config-version: 2}")
    output = "{type: tapestry, method: session, schema: watched, threads: 2}"
    (root / "profiles.yml").write_text(f"p: {{target: t, outputs: {{t: {output}}}}}")
    (root / "models/sources.yml").write_text(SOURCES)
    (root / "models/quick.sql").write_text(QUICK % every)
    for number in range(slow):
        (root / f"models/slow{number}.sql").write_text(SLOW % ("10s", 3_000_000_000))
    subprocess.run([sys.executable, "-c", CREATE, str(root)], cwd=root, check=True)


class Watch:
    """The process, what it has said, and its memory at some cycles."""

    def __init__(self, root: Path) -> None:
        self.lines: list[dict[str, Any]] = []
        self.memory: list[tuple[int, dict[str, float]]] = []
        self.alive: list[tuple[int, float | None]] = []
        command = [sys.executable, "-c", "from tapestry.cli import main; main()", "watch", "--json"]
        self.process = subprocess.Popen(command, cwd=root, text=True, stdout=subprocess.PIPE)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.append(json.loads(line))
            if len(self.lines) == 1 or len(self.lines) % 50 == 0:
                self.memory.append((len(self.lines), resident(self.process.pid)))
            if len(self.lines) == WARM:
                self.alive.append((WARM, alive(self.process.pid)))

    def wait_until_warm(self, cycles: int) -> None:
        """Let some cycles pass, or end with what went wrong."""
        while len(self.lines) < cycles:
            if self.process.poll() is not None:
                raise SystemExit("the watch ended")
            time.sleep(0.1)

    def end(self) -> None:
        self.memory.append((len(self.lines), resident(self.process.pid)))
        self.alive.append((len(self.lines), alive(self.process.pid)))
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(120)
        self._reader.join(10)


def family(process: int) -> list[tuple[str, float, str]]:
    """(process id, MiB, command) of a process and what it has started."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,rss=,args="], capture_output=True, text=True)
    rows = [line.split(None, 3) for line in listed.stdout.splitlines()]
    members = {str(process)}
    for _ in range(4):
        members |= {pid for pid, parent, *_ in rows if parent in members}
    return [(pid, int(rss) / 1024, text) for pid, _, rss, text in rows if pid in members]


def resident(process: int) -> dict[str, float]:
    """MiB of the watch, its workers, and the Spark (Java and the process that holds it)."""
    found: dict[str, float] = {}
    for pid, mib, text in family(process):
        kind = "watch" if pid == str(process) else "workers" if "spawn_main" in text else "other"
        kind = "Java" if "java" in text.split()[0] else "holder" if "engine_host" in text else kind
        found[kind] = round(found.get(kind, 0.0) + mib, 1)
    return found


def alive(process: int) -> float | None:
    """MiB of Java's heap that are in use after a full collection; None without Java's tools."""
    jcmd = Path(os.environ.get("JAVA_HOME", "")) / "bin/jcmd"
    java = [pid for pid, _, text in family(process) if "java" in text.split()[0]]
    if not java or not jcmd.exists():
        return None
    for command in ("GC.run", "GC.heap_info"):
        said = subprocess.run([jcmd, java[0], command], capture_output=True, text=True, check=True)
    used = re.search(r"used (\d+)K", said.stdout)
    return None if used is None else round(int(used[1]) / 1024, 1)


def write_rows(table: Path, seconds: float, pause: float) -> int:
    """Commit a row at random moments; how many."""
    import pyarrow as pa
    from deltalake import write_deltalake

    rng = random.Random(1)
    until, number = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        time.sleep(rng.uniform(0, 2 * pause))
        now = datetime.now(timezone.utc)
        stamps = pa.array([now], pa.timestamp("us", "UTC"))
        write_deltalake(
            table, pa.table({"id": pa.array([number], pa.int64()), "ts": stamps}), mode="append"
        )
        number += 1
    return number


def committed(table: Path) -> dict[int, float]:
    """Id -> when the commit that holds it was there (seconds)."""
    import pyarrow.parquet as pq

    found: dict[int, float] = {}
    for log in sorted((table / "_delta_log").glob("*.json")):
        for action in map(json.loads, log.read_text().splitlines()):
            if action.get("add", {}).get("dataChange"):
                ids = pq.ParquetFile(table / action["add"]["path"]).read(["id"])["id"].to_pylist()
                for one in ids:
                    found.setdefault(one, log.stat().st_mtime)
    return found


def main() -> None:
    """Measure, print, keep."""
    wanted = argparse.ArgumentParser(description=__doc__)
    wanted.add_argument("--seconds", type=float, default=200)
    wanted.add_argument("--every", default="1s")
    wanted.add_argument("--pause", type=float, default=3, help="seconds from row to row")
    wanted.add_argument("--slow", type=int, default=0, help="slow models beside the quick one")
    options = wanted.parse_args()
    root = bench_root() / "watch"
    make_project(root, options.every, options.slow)
    tables = root / "warehouse/watched.db"
    watch = Watch(root)
    watch.wait_until_warm(5)
    number = write_rows(tables / "messages", options.seconds, options.pause)
    time.sleep(5)
    watch.end()
    came, went = committed(tables / "messages"), committed(tables / "quick")
    late = sorted(went[one] - came[one] for one in came if one in went)
    quick = [line for line in watch.lines if line["model"] == "quick"]
    result = {
        "every": options.every,
        "slow_models": options.slow,
        "rows": number,
        "delivered": len(late),
        "latency_seconds": {
            "median": round(statistics.median(late), 2),
            "p95": round(late[int(0.95 * (len(late) - 1))], 2),
            "longest": round(late[-1], 2),
        },
        "runs": len(quick),
        "failed": sum(line["status"] != "ok" for line in quick),
        "skipped_ticks": quick[-1]["skipped_ticks"],
        "seconds_a_run": round(statistics.median(line["seconds"] for line in quick), 3),
        "memory": watch.memory,
        "alive": watch.alive,
    }
    print(json.dumps(result, indent=1))
    save(f"watch_{options.every}_{options.slow}_slow", result)


if __name__ == "__main__":
    main()
