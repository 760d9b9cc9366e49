"""A process that holds a Spark for others: `python -m dbt.adapters.tapestry.engine_host`.

It reads one line of JSON from its standard input (what `embedded.start` takes), starts Spark, and
answers with one line: ``{"offer": <file>}`` or ``{"error": <message>}``. It ends when its standard
input does: when whoever started it closes that, or is killed. With ``idle`` (seconds) in the line
it ends when nobody has been there for so long instead.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

GRACE = 60.0
"""Seconds for those who have joined to finish, when whoever started this ends."""
EVERY = 1.0


def main() -> None:
    """Hold a Spark until nobody needs it."""
    # Ctrl-C and a schedule's SIGTERM are for whoever started this: he closes the input.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    wanted = json.loads(sys.stdin.readline())
    idle = wanted.pop("idle", None)
    try:
        path = _start(wanted)
    except Exception as error:
        _answer({"error": str(getattr(error, "msg", error))})
        return
    _answer({"offer": str(path)})
    from dbt.adapters.tapestry.engine import withdraw

    try:
        _hold(path, idle)
    finally:
        withdraw(path)
        # Not sys.exit: other threads of py4j would be waited for. The JVM ends with its input.
        os._exit(0)


def _start(wanted: dict[str, Any]) -> Path:
    os.environ["TAPESTRY_ENGINE"] = "own"
    from dbt.adapters.tapestry import embedded
    from dbt.adapters.tapestry.engine import lock_of, write_offer

    spark = embedded.start(**wanted)
    settings = embedded.settings_for(**{k: v for k, v in wanted.items() if k != "log_path"})
    path = write_offer(spark.sparkContext, settings)
    lock_of(path).touch(0o600)
    return path


def _answer(told: dict[str, str]) -> None:
    print(json.dumps(told), flush=True)


def _hold(path: Path, idle: float | None) -> None:
    """Wait for the end of the input, then for those who have joined; or for a long quiet."""
    from dbt.adapters.tapestry.engine import lock_of

    with open(lock_of(path)) as lock:
        seen = time.monotonic()
        while _jvm_alive():
            if idle is None:
                if select.select([sys.stdin], [], [], EVERY)[0] and not sys.stdin.readline():
                    break
                continue
            time.sleep(EVERY)
            if not _free(lock):
                seen = time.monotonic()
            elif time.monotonic() - seen > idle:
                return
        path.unlink(missing_ok=True)
        until = time.monotonic() + GRACE
        while _jvm_alive() and not _free(lock) and time.monotonic() < until:
            time.sleep(EVERY / 4)


def _free(lock: Any) -> bool:
    """Has nobody joined?"""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    fcntl.flock(lock, fcntl.LOCK_UN)
    return True


def _jvm_alive() -> bool:
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    return gateway is not None and gateway.proc is not None and gateway.proc.poll() is None


if __name__ == "__main__":
    main()
