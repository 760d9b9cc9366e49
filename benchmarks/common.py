"""What all benchmarks share: where data lies, the Spark they run on, results as JSON."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tapestry.folders import shared_temporary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs/reference"

DATA_ENV = "TAPESTRY_BENCH_ROOT"
REAL_ENV = "TAPESTRY_MESSAGES"


def bench_root() -> Path:
    """Where data and warehouse lie: $TAPESTRY_BENCH_ROOT, else a temporary folder."""
    given = os.environ.get(DATA_ENV)
    if not given:
        return shared_temporary("tapestry-bench")
    root = Path(given)
    root.mkdir(parents=True, exist_ok=True)
    return root


def real_messages() -> Path | None:
    """The file of real messages ($TAPESTRY_MESSAGES), None where there is none."""
    path = os.environ.get(REAL_ENV)
    return Path(path) if path and Path(path).is_file() else None


def start_spark() -> SparkSession:
    """Spark as the adapter starts it, over the benchmarks' own warehouse."""
    from dbt.adapters.tapestry import embedded

    # Spark's own part of a run is summed up from its list of executions, which forgets all but
    # the last thousand: a hundred models with new rows make twice as many.
    spark = embedded.start({"spark.sql.ui.retainedExecutions": "100000"}, root=bench_root())
    spark.sql("CREATE SCHEMA IF NOT EXISTS bench")
    return spark


def save(name: str, result: dict[str, Any]) -> None:
    """Keep one figure's numbers, with the machine that they were measured on."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    whole = {"measured": machine(), **result}
    text = json.dumps(whole, indent=1, ensure_ascii=False, sort_keys=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", "utf-8")


def load(name: str) -> dict[str, Any] | None:
    """One figure's numbers, None where it was never run."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def machine() -> dict[str, Any]:
    """When, on what, and from which state of the tree; nothing that names the machine."""
    import pyspark

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "at": datetime.now(timezone.utc).isoformat(timespec="minutes"),
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "load_average": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "spark": pyspark.__version__,
        "commit": _commit(),
    }


def _commit() -> str:
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
        )
    except OSError:
        return ""
    return done.stdout.strip()
