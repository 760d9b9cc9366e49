"""Fetching of jars at the first start: by one process of a user at a time, with further attempts.

Ivy writes into one folder of the user's and takes no account of other processes: two first starts
at once would read each other's half-written files. So the process that fetches holds a lock in that
folder; whoever waited for it finds the jars there.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry.jars import known_jars
from tapestry.errors import ConfigurationError
from tapestry.folders import open_lock, take_lock

logger = AdapterLogger("Tapestry")
LOCK = "dbt-tapestry.lock"
PAUSES = (2.0, 10.0)
"""Seconds before the second attempt, and before the third."""
_WAIT = 900.0
"""Seconds: three attempts of Ivy's over a slow line are done by then."""
_SHOWN = 3
_MARKS = ("UNRESOLVED DEPENDENCIES", "unresolved dependenc", "FAILED DOWNLOADS", "download failed")
_WHY = re.compile(
    r"(Server access error at url .*|SERVER ERROR: .*|module not found: .*"
    r"|\[FAILED *\] .*|\S*(?:Unknown Host|UnknownHost|Connect|SSL|FileNotFound)Exception: .*)"
)
_PASSWORD = re.compile(r"(?<=://)[^/@\s]+@")

Started = TypeVar("Started")


class NotFetched(DbtRuntimeError):
    """Jars could not be fetched; another attempt may succeed."""


@contextlib.contextmanager
def one_fetches(settings: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield the settings to start Spark with; only one process of this user fetches jars inside.

    Settings that name files fetch nothing: nobody waits.
    """
    folder = settings.get("spark.jars.ivy")
    if "spark.jars.packages" not in settings or not folder:
        yield dict(settings)
        return
    lock = _lock(Path(folder))
    try:
        yield known_jars(settings)  # who held the lock may have fetched them
    finally:
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """Return the lock of a folder, or None if none can be had.

    Ivy then cannot write there either, and reports it.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = open_lock(folder / LOCK)
    except OSError:
        return None
    try:
        if take_lock(lock, 0):
            logger.info("Another process of yours fetches Spark's jars: waiting for it")
            holder = take_lock(lock, _WAIT)
            if holder:
                raise ConfigurationError(
                    f"{holder} has been fetching Spark's jars for {_WAIT:.0f} seconds",
                    str(folder / LOCK),
                    "run again when it is done; end it, if it hangs",
                )
    except OSError:  # a file system without locks
        os.close(lock)
        return None
    except ConfigurationError:
        os.close(lock)
        raise
    return lock


def retried(start: Callable[[], Started]) -> Started:
    """Return the result of ``start``; after `NotFetched` it is called twice more.

    Raises the last error, and at once any other one.
    """
    for pause in PAUSES:
        try:
            return start()
        except NotFetched as error:
            logger.info(f"{error.msg.splitlines()[0]} Trying again in {pause:g} s.")
            time.sleep(pause)
    return start()


def not_fetched(text: str, log: Path) -> NotFetched | None:
    """Return the error of a start whose output shows that jars could not be fetched, else None."""
    if not any(mark in text for mark in _MARKS):
        return None
    found = [_PASSWORD.sub("", match[0].strip())[:300] for match in _WHY.finditer(text)]
    found.sort(key=lambda line: line.startswith("module not found"))  # which says least
    told = "".join(f"\n  {line}" for line in [*dict.fromkeys(found)][:_SHOWN])
    return NotFetched(
        "Spark did not start: Delta's jars could not be fetched."
        f"{told}\n  do: the first start needs the network (or spark.jars.ivySettings for a mirror)"
        f"\nSee {log}"
    )
