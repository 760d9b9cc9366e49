"""A Spark that several processes of one user share: offered in a file, joined over the loopback.

A process that holds an embedded Spark can offer it (`engine_host` does); another one with the same
settings then joins it instead of starting a Spark of its own, which takes seconds and gigabytes.
Each connection of each process has a session of its own as ever, so none sees the others' temporary
views or settings. What joins is py4j, the way in which pyspark talks to the Spark that it starts:
it listens on 127.0.0.1 alone and answers nobody who does not know the token. The token stands in
the offer, a file that only its owner can read, in a folder of the same kind; an offer that somebody
else could have written is not used.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry.cache_folders import cache_or_new
from tapestry.children import DEVNULL, OF_A_PROJECT, PIPE, start_python
from tapestry.errors import ConfigurationError
from tapestry.folders import open_lock, read_own, take_lock, write_own

if TYPE_CHECKING:
    from pyspark import SparkContext

logger = AdapterLogger("Tapestry")
VARIABLE = "TAPESTRY_ENGINE"
"""Environment: `own` (never join), an offer's file (join that one), or nothing (join what fits)."""
OWN = "own"
_UNLIKE = ("spark.jars", "spark.jars.packages", "spark.jars.ivy")
"""The same jars, before and after Ivy has fetched them."""
_FOLDER = "engines"
_WAIT = 20.0
"""Seconds for one that is about to end."""


_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTENS = "0A"
_HERE = {
    "00000000",
    "0100007F",
    "0" * 32,
    "0000000000000000FFFF00000100007F",
    "0" * 24 + "01000000",
}
"""Any address, 127.0.0.1 and ::1, as these tables write them on a little-endian machine."""


@dataclass(frozen=True)
class Offer:
    """An offered Spark that can be joined: port, token, the process that holds it, its settings."""

    port: int
    token: str
    process: int
    digest: str


def digest(settings: Mapping[str, str]) -> str:
    """Return a hash of what two processes must agree on: settings, versions of Spark and Python."""
    alike = {key: value for key, value in settings.items() if key not in _UNLIKE}
    versions = [version("pyspark"), version("delta-spark"), *map(str, sys.version_info[:2])]
    text = json.dumps([alike, versions], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_offer(context: SparkContext, settings: Mapping[str, str]) -> Path:
    """Offer this process's Spark to the user's other processes; return the offer's file."""
    gateway: Any = context._gateway
    parameters = gateway.gateway_parameters
    offer = Offer(parameters.port, parameters.auth_token, os.getpid(), digest(settings))
    path = cache_or_new(_FOLDER) / f"engine-{offer.digest}-{offer.process}.json"
    os.close(open_lock(lock_of(path)))
    write_own(path, json.dumps(asdict(offer)).encode())
    return path


def withdraw(path: Path) -> None:
    """Withdraw an offer: nobody joins any more; processes that have joined are not disturbed."""
    for file in (path, lock_of(path)):
        file.unlink(missing_ok=True)


def lock_of(path: Path) -> Path:
    """Return the file on which each process that has joined holds a shared lock while it lives."""
    return path.with_suffix(".lock")


def join(settings: Mapping[str, str]) -> SparkContext | None:
    """Return another process's Spark if one with these settings is offered and alive."""
    wish = os.environ.get(VARIABLE, "")
    if wish == OWN:
        return None
    paths = [Path(wish)] if wish else _offers(digest(settings))
    return next((context for path in paths if (context := join_offer(path)) is not None), None)


def _offers(settings: str) -> list[Path]:
    """Return the files of offers with settings of this digest; none without a lasting cache."""
    return sorted(cache_or_new(_FOLDER).glob(f"engine-{settings}-*.json"))


def join_offer(path: Path) -> SparkContext | None:
    """Return the Spark of an offer; None where it is not this user's, or gone."""
    offer = _read(path)
    if offer is None:
        return None
    try:
        # held as long as this process lives
        lock = os.open(lock_of(path), os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    if take_lock(lock, _WAIT, alone=False):  # it is about to end, and does not
        os.close(lock)
        return None
    try:
        context = _attach(offer)
    except Exception as error:
        os.close(lock)
        logger.debug(f"the Spark of process {offer.process} cannot be joined: {error}")
        return None
    context._tapestry_joined = lock  # type: ignore[attr-defined]
    atexit.register(_release, context._gateway)
    logger.debug(f"joined the Spark of process {offer.process}")
    return context


def launch_engine(wanted: Mapping[str, Any], idle: float | None = None) -> tuple[Any, Path]:
    """Start a process that holds a Spark; return the process and its offer.

    ``wanted`` has the arguments of `embedded.start`. With ``idle`` (seconds) the process stays
    until it was left alone for so long; else until its standard input is closed, or this process
    ends. Raises DbtRuntimeError with the reason if it fails.
    """
    process = start_python(
        "dbt.adapters.tapestry.engine_host",
        environment=OF_A_PROJECT,
        folder=os.getcwd(),  # to which a relative path in an author's SQL refers
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        text=True,
        start_new_session=True,  # a terminal's Ctrl-C is not for it
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({**wanted, "idle": idle}) + "\n")
    process.stdin.flush()
    with process.stdout as output:
        said = output.readline()
    told = json.loads(said) if said.strip() else {"error": "Spark ended before it was up."}
    if "offer" not in told:
        process.stdin.close()
        process.wait()
        raise DbtRuntimeError(str(told["error"]))
    return process, Path(told["offer"])


def _read(path: Path) -> Offer | None:
    """Return this user's offer in a file; remove the offer of a process that is gone.

    A joined Spark answers with pickles, and unpickling executes code: so an offer is not used if
    another user listens at its port, having taken it when it became free.
    """
    try:
        if path.lstat().st_mode & 0o077:
            return None
        offer = Offer(**json.loads(read_own(path)))
        os.kill(offer.process, 0)
        return offer if listeners(offer.port) <= {os.geteuid()} else None
    except ProcessLookupError:
        withdraw(path)
        return None
    except (OSError, ValueError, TypeError, ConfigurationError):
        return None


def _attach(offer: Offer) -> SparkContext:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    access = {"PYSPARK_GATEWAY_PORT": str(offer.port), "PYSPARK_GATEWAY_SECRET": offer.token}
    os.environ.update(access)
    talk = logging.getLogger("py4j")
    before = talk.level
    talk.setLevel(logging.CRITICAL + 1)  # if Spark is gone, our own message says so
    try:
        gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
        jvm = gateway.jvm
        shared = jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(
            jvm.org.apache.spark.SparkContext.getOrCreate()
        )
        conf = SparkConf(_jvm=jvm, _jconf=shared.getConf())
        with _ctrl_c_kept():
            return SparkContext(gateway=gateway, jsc=shared, conf=conf)
    except Exception:
        # as if nothing had been tried: a Spark of one's own starts next
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        raise
    finally:
        talk.setLevel(before)
        for name in access:
            os.environ.pop(name, None)


@contextlib.contextmanager
def _ctrl_c_kept() -> Iterator[None]:
    """Restore the handler of Ctrl-C: pyspark's would cancel other processes' jobs, too."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if main else None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def _release(gateway: Any) -> None:
    """Give back what this process held in the shared JVM: nobody else would."""
    from py4j.finalizer import ThreadSafeFinalizer

    client = gateway._gateway_client
    place = f"{client.address}{client.port}"
    with contextlib.suppress(Exception):
        for key in list(ThreadSafeFinalizer.finalizers):
            if str(key).startswith(place):
                client.garbage_collect_object(str(key)[len(place) :], False)


def listeners(port: int) -> set[int]:
    """Return the users who listen on a port of the loopback; none if the system does not say."""
    users = set()
    for table in _TABLES:
        try:
            lines = table.read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            address, _, number = fields[1].rpartition(":")
            if fields[3] == _LISTENS and int(number, 16) == port and address in _HERE:
                users.add(int(fields[7]))
    return users
