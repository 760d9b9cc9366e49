"""The one place that starts a Spark inside this process."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id

from dbt.adapters.tapestry import engine
from dbt.adapters.tapestry.answer_settings import ZONE, to_correct
from dbt.adapters.tapestry.cache_folders import cache_is_kept
from dbt.adapters.tapestry.catalog import open_catalog, take_long_comments
from dbt.adapters.tapestry.dbt_errors import dbt_errors
from dbt.adapters.tapestry.fetch import not_fetched, one_fetches, retried
from dbt.adapters.tapestry.jars import remember
from dbt.adapters.tapestry.java import check_java
from dbt.adapters.tapestry.launch import launch
from dbt.adapters.tapestry.log import hush_pyspark, size, spark_log, tail
from dbt.adapters.tapestry.log_store import use_links
from dbt.adapters.tapestry.settings import SESSION_DEFAULTS, start_settings
from dbt.adapters.tapestry.warehouse import (
    catalog_folder,
    check_default,
    folder_of,
    make_folders,
)
from dbt.adapters.tapestry.workers import await_workers, sizes_here, use_own_python
from tapestry.errors import TapestryError
from tapestry.folders import temporary_instead
from tapestry.runs.engine.locations import WAREHOUSE, local_folder, same_location

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

logger = AdapterLogger("Tapestry")
_FAILED = re.compile(
    r"(Exception in thread|Caused by:|Error:|Error occurred|[\w.]+(Exception|Error):)"
)
"""A line with which a JVM, or a script that starts one, says why it ends."""
_lock = threading.Lock()
_said: set[tuple[str, str, str]] = set()
"""The other warehouse of which the command that runs now was warned."""
_first_session: SparkSession | None = None
_read_last: tuple[Any, dict[str, str]] | None = None
"""The settings of a session that were read last, as Java's map and as Python's."""


def start(
    given: Mapping[str, str] | None = None,
    *,
    root: Path | str | None = None,
    master: str | None = None,
    log_path: str | None = None,
    keep_warm: float | None = None,
    say: Callable[[str], None] = logger.debug,
) -> SparkSession:
    """Return the process's Spark: started with Delta and the shared catalog if none runs yet.

    A process has one Spark, so tests and programs that share a process with dbt call this too:
    the first call decides warehouse (`<root>/warehouse` unless given), master and log file
    (`<root>/<log_path>/spark.log`); later calls return the same Spark, whoever made it. The root
    is the current folder unless given. `given` are Spark settings that override the defaults.
    Where another process of this user offers a Spark with the same settings, that one is joined;
    with `keep_warm` (seconds) a process is started that offers one until it was left alone so long.
    `say` is called, for people, when one is started.
    Raises DbtRuntimeError, with what to do, where Java, a jar or the catalog is missing, and where
    others could have written what Spark would read or run.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    given = dict(given or {})
    hush_pyspark()
    with _lock, dbt_errors():
        running = SparkContext._active_spark_context
        if running is not None and running._jsc is not None:
            _warn_of_other_warehouse(running, given, root)
            return _session_of(running)
        _find_place(given, Path(root or Path.cwd()).absolute())
        settings = settings_for(given, root=root, master=master)
        use_own_python(settings.get("spark.master"))
        joined = engine.join(settings)
        if joined is None:
            say("Starting Spark: the first statements of a new one take seconds each")
        if joined is None and keep_warm and _can_keep_warm():
            wanted = {"given": given, "root": str(root or Path.cwd()), "master": master}
            _, offer = engine.launch_engine({**wanted, "log_path": log_path}, keep_warm)
            joined = engine.join_offer(offer)
        if joined is not None:
            await_workers(joined)  # the process that started it says so in its log only
        return SparkSession(joined or _start(settings, spark_log(log_path, _text(root))))


def _session_of(context: SparkContext) -> SparkSession:
    """Return the session that others of this Spark are made from; to make one takes 17 calls."""
    global _first_session
    from pyspark.sql import SparkSession

    if _first_session is None or _first_session.sparkContext is not context:
        _first_session = SparkSession(context)
    return _first_session


def _find_place(given: Mapping[str, str], root: Path) -> None:
    """Keep temporary files beside the catalog if others could exchange them elsewhere."""
    try:
        place = catalog_folder(given, root) / ".temporary"
        reason = temporary_instead(place)
    except (DbtRuntimeError, OSError):
        return  # the temporary directory is refused once it is needed
    if reason:
        logger.warning(f"{reason}: temporary files are kept in {place}")


def _can_keep_warm() -> bool:
    """Return whether a later process would find the Spark that is left behind."""
    return os.environ.get(engine.VARIABLE) != engine.OWN and cache_is_kept()


def _text(root: Path | str | None) -> str | None:
    return str(root) if root else None


def _start(settings: Mapping[str, str], log: Path) -> SparkContext:
    """Start a Spark of this process's own, with its catalog open."""
    check_java()
    make_folders(settings)
    with one_fetches(settings) as found:
        context = retried(partial(_context, found, log, size(log)))
        if "spark.jars.packages" in found:
            jars = context.getConf().get("spark.jars", "") or ""
            remember(found["spark.jars.packages"], jars)
    use_links(context)
    try:
        check_default(settings, context._jsc.hadoopConfiguration().get("fs.defaultFS"))
        open_catalog(context, settings, folder_of(settings))
    except (DbtRuntimeError, TapestryError):
        context.stop()
        raise
    await_workers(context)
    return context


def settings_for(
    given: Mapping[str, str], *, root: Path | str | None = None, master: str | None = None
) -> dict[str, str]:
    """Return the settings that a Spark for this project is started with."""
    return start_settings(given, Path(root or Path.cwd()).absolute(), master)


def new_session(
    spark: SparkSession, given: Mapping[str, str], left_alone: Collection[str] = ()
) -> SparkSession:
    """Return a new session over the same Spark: own temporary views, own settings (1 ms)."""
    take_long_comments(spark.sparkContext)
    session = spark.newSession()
    ours = {**SESSION_DEFAULTS, **sizes_here(spark, given)}
    wanted = {k: v for k, v in ours.items() if k not in left_alone}
    for key, value in {**wanted, **given}.items():
        # Settings of the process (memory, jars) are fixed since the start; asking is cheap.
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
    for key, value in to_correct(settings_of(session), given, left_alone).items():
        session.conf.set(key, value)
    return session


def settings_of(session: SparkSession) -> dict[str, str]:
    """Return the values that were set in a session, of all settings.

    They are more than 8 KiB, which Java sends in two parts; TCP holds the second one back for
    40 ms. Settings that are equal to those that were read last are not sent again.
    """
    global _read_last
    conf = session._jsparkSession.sessionState().conf()
    values, last = conf.getAllConfs(), _read_last
    # An object of a Spark that was stopped would stand for another one of this Spark.
    here = last is not None and last[0]._gateway_client is values._gateway_client
    if last is not None and here and values.equals(last[0]):
        return dict(last[1])
    between = f"\n{uuid4().hex}\n"
    pairs = values.mkString(between).split(between)
    found = dict(pair.split(" -> ", 1) for pair in pairs if " -> " in pair)
    found.setdefault(ZONE, str(conf.sessionLocalTimeZone()))
    _read_last = values, dict(found)
    return found


def _context(settings: Mapping[str, str], log: Path, seen: int) -> SparkContext:
    """Start the JVM with its output in the log file, and Spark in it.

    ``seen``: bytes of the log that tell of earlier starts.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError

    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        conf.set(key, value)
    began = time.monotonic()
    try:
        gateway, folder = launch(settings, log)
        if "spark.driver.bindAddress" in settings:  # no other machine takes part
            conf.setIfMissing("spark.hadoop.hadoop.tmp.dir", str(folder / "hadoop"))
        context = SparkContext(conf=conf, gateway=gateway)
    except TapestryError:
        raise
    except PySparkRuntimeError as error:
        said = tail(log, 2_000, seen)
        raise not_fetched(said, log) or DbtRuntimeError(
            f"Spark did not start: {_cause(said)}\nSee {log}"
        ) from error
    except Exception as error:
        reason = str(getattr(error, "java_exception", error)).splitlines()[0]
        raise DbtRuntimeError(f"Spark did not start: {reason}\nSee {log}") from error
    logger.debug(f"Spark {context.version} started in {time.monotonic() - began:.1f} s, log {log}")
    return context


def _cause(text: str) -> str:
    """Return, in one line, the reason in the log of a JVM that ended at once."""
    if "Could not reserve enough space" in text or "insufficient memory" in text:
        return "not enough memory; set spark.driver.memory under server_side_parameters."
    if "UnsupportedClassVersionError" in text:
        return "Java is too old; Spark needs Java 17 or 21."
    if "invalid null input: name" in text:
        return (
            f"the user {os.geteuid()} has no name, which Hadoop needs; give it one (a line in"
            " /etc/passwd), or run as a user that has one."
        )
    failed = [line.strip() for line in text.splitlines() if _FAILED.match(line.strip())]
    return f"the JVM ended before it was up{f': {failed[-1][:300]}' if failed else '.'}"


def _warn_of_other_warehouse(
    running: SparkContext, given: Mapping[str, str], root: Path | str | None
) -> None:
    """Warn of a process's second project: it uses the warehouse of the first one's Spark."""
    used = running._jsc.sc().conf().get(WAREHOUSE, "")  # getConf() would copy all of them
    wanted = given.get(WAREHOUSE) or (str(Path(root).absolute() / "warehouse") if root else None)
    if not wanted or not used or same_location(wanted, used) or _one_folder(wanted, used):
        return
    said = (get_invocation_id(), used, wanted)
    if said in _said:
        return  # each thread's connection comes here: once a command is enough
    _said.clear()
    _said.add(said)
    logger.warning(
        f"Spark already runs in this process with warehouse {used}, not {wanted}: tables are read"
        " and written there. A process of its own has a Spark of its own."
    )


def _one_folder(one: str, other: str) -> bool:
    """Return whether two texts name one folder of this machine, by way of links."""
    folders = [local_folder(text) for text in (one, other)]
    return None not in folders and len({str(f.resolve()) for f in folders if f}) == 1
