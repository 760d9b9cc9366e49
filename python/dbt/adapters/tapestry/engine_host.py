"""A process that holds a Spark for others; `engine.launch_engine` starts it.

It reads one line of JSON from its standard input (what `embedded.start` takes), starts Spark, and
answers with one line: ``{"offer": <file>}`` or ``{"error": <message>}``. It ends when its standard
input does: when whoever started it closes that, or is killed. With ``idle`` (seconds) in the line
it ends when nobody has been there for so long instead.
"""

from __future__ import annotations

import contextlib
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
        _end_jvm()
        os._exit(0)  # not sys.exit: threads of py4j would be waited for


def _start(wanted: dict[str, Any]) -> Path:
    os.environ["TAPESTRY_ENGINE"] = "own"
    from dbt.adapters.tapestry import embedded
    from dbt.adapters.tapestry.engine import write_offer

    spark = embedded.start(**wanted)
    settings = embedded.settings_for(**{k: v for k, v in wanted.items() if k != "log_path"})
    return write_offer(spark.sparkContext, settings)


def _answer(told: dict[str, str]) -> None:
    print(json.dumps(told), flush=True)


def _hold(path: Path, idle: float | None) -> None:
    """Wait for the end of the input, then for those who have joined; or, with ``idle``, for quiet.

    The lock, once taken, is kept to the end of the process: a process that comes too late waits for
    it, finds no Spark behind the offer, and starts one.
    """
    from dbt.adapters.tapestry.engine import lock_of

    lock = os.open(lock_of(path), os.O_RDWR | os.O_NOFOLLOW)
    seen = time.monotonic()
    while _jvm_alive():
        if idle is None:
            if select.select([sys.stdin], [], [], EVERY)[0] and not sys.stdin.readline():
                break
            continue
        time.sleep(EVERY)
        if not _locked(lock):
            seen = time.monotonic()
        elif time.monotonic() - seen > idle:
            return
        else:
            fcntl.flock(lock, fcntl.LOCK_UN)
    path.unlink(missing_ok=True)
    until = time.monotonic() + GRACE
    while _jvm_alive() and not _locked(lock) and time.monotonic() < until:
        time.sleep(EVERY / 4)


def _locked(lock: int) -> bool:
    """Return whether nobody has joined; if so, nobody can until the lock is given back."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _end_jvm() -> None:
    """End the JVM by closing its input, and wait for it."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    if _jvm_alive():
        gateway.proc.stdin.close()
        with contextlib.suppress(Exception):
            gateway.proc.wait(GRACE)


def _jvm_alive() -> bool:
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    return gateway is not None and gateway.proc is not None and gateway.proc.poll() is None
