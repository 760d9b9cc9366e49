"""The invocation of dbt that is under way in this process, and what the process remembers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.invocation import get_invocation_id

from dbt.adapters.tapestry.answer_settings import LOSING, ZONE, effective, unusual
from dbt.adapters.tapestry.session import DbtSession
from tapestry.delivery.deliver import deliver
from tapestry.errors import ConfigurationError
from tapestry.folders import cache_folder
from tapestry.names import (
    CHECKS_TABLE,
    MEMORIES_TABLE,
    QUERIES_TABLE,
    RUNS_TABLE,
    STATE_TABLE,
)
from tapestry.runs.after.documents import FOLDER, build_data_docs, write_results
from tapestry.runs.context.clock import VARIABLE, Clock, read_clock
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.context.recall import Recall
from tapestry.runs.engine.instants import parse_zone
from tapestry.runs.engine.session import meanwhile
from tapestry.runs.memories.keep import keep_memories
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.log import write_checks, write_log

logger = AdapterLogger("Tapestry")
KEPT = 16
DATA_DOCS = "TAPESTRY_DATA_DOCS"
"""Environment: render Data Docs always, never, or (auto) where their library is loaded anyway."""
_lock = Lock()
_known: dict[tuple[str, str], Invocation] = {}
_entries: dict[tuple[str, str], list[Any]] = {}
_sinks: dict[tuple[str, str], list[Model]] = {}
_recall = Recall()


def _key(config: Any) -> tuple[str, str]:
    """Return dbt's id of the current invocation and the target schema: one of each has its runs."""
    return str(get_invocation_id()), config.credentials.schema


def current_invocation(
    config: Any, session: DbtSession, as_of: Any = None, started_at: datetime | None = None
) -> Invocation:
    """Return dbt's current invocation for `tapestry.runs`, made at the first model.

    Its instant is dbt's start, so that all models, whenever their turn comes, share it.
    Raises ConfigurationError for a `tapestry_as_of` that is no instant.
    """
    schema, key = config.credentials.schema, _key(config)
    with _lock:
        if key not in _known:
            zone, settings = session.opened[ZONE], unusual(session.opened)
            now = (started_at or datetime.now(timezone.utc)).astimezone(timezone.utc)
            clock = read_clock({VARIABLE: as_of}, os.environ, now, parse_zone(zone))
            while len(_known) >= KEPT:
                del _known[next(iter(_known))]
            state = f"{schema}.{STATE_TABLE}"
            if not _recall.quiet.was_read:
                _with_kept(_recall.quiet.read)
            _known[key] = Invocation(key[0], clock, state, zone, _recall, settings)
        return _known[key]


def versions_read() -> dict[str, tuple[str, int]]:
    """Return place and version of each table that this process's newest invocation has read.

    The names are in lower case, without backticks.
    """
    with _lock:
        newest = next(reversed(_known.values()), None)
    if newest is None:
        return {}
    found = newest.pins.seen().items()
    return {name: (one.table.location, one.pin.version) for name, one in found}


def note_entry(config: Any, entry: Any) -> None:
    """Keep, for the logs, the checks of a model that is not continuous."""
    with _lock:
        _entries.setdefault(_key(config), []).append(entry)


def given_clock(as_of: Any, session: DbtSession) -> Clock | None:
    """Return the clock of `tapestry_as_of`, None if it is not given.

    An instant without an offset is in the session's zone. Raises ConfigurationError where the value
    is no instant.
    """
    if not read_clock({VARIABLE: as_of}, os.environ).given:
        return None
    return read_clock({VARIABLE: as_of}, os.environ, zone=parse_zone(session.opened[ZONE]))


def refuse_other_settings(session: DbtSession, invocation: Invocation, file: str) -> None:
    """Raise ConfigurationError where a hook set what changes answers, or what loses rows.

    The time zone is a part of every query, and of the instants that all models of an invocation
    share; the other settings are a part of what every query means.
    """
    found = session.settings
    for key in LOSING:
        if effective(found)[key] == "true":
            raise ConfigurationError(
                f"{key} is true: rows of a file that is gone or broken would be missing from an"
                " answer without a word",
                where=file,
                hint=f"take {key} out of the profile and of hooks",
            )
    zone, settings = found[ZONE], unusual(found)
    other = sorted(set(settings) ^ set(invocation.settings))
    if other:
        key = other[0].partition(" = ")[0]
        raise ConfigurationError(
            f"{key} is {effective(found)[key]} for this model, unlike when the session was opened:"
            " a hook has set it",
            where=file,
            hint=f"set {key} under server_side_parameters in the profile, and leave it out of the"
            " hooks",
        )
    if zone != invocation.time_zone:
        raise ConfigurationError(
            f"the session time zone is {zone} for this model and {invocation.time_zone} for the"
            " others: a hook has set it",
            where=file,
            hint="set spark.sql.session.timeZone under server_side_parameters in the profile, and"
            " leave it out of the hooks",
        )


def write_runs(adapter: Any) -> None:
    """Append the current invocation's runs and checks to the logs.

    Also write ids and priorities of models to `tapestry_queries` where they have changed. A failure
    harms nothing.
    """
    schema, key = adapter.config.credentials.schema, _key(adapter.config)
    with _lock:
        entries = _entries.pop(key, [])
        invocation = _known.get(key)
        if invocation is not None:
            entries, invocation.log = invocation.log + entries, []
    switches = None if invocation is None else invocation.switches
    due = switches is not None and switches.due(wrote=bool(entries))
    unrecorded = invocation is not None and bool(invocation.states.unrecorded)
    if not (entries or due or unrecorded):
        return

    def written(name: str, write: Callable[[], None]) -> None:
        try:
            write()
        except Exception as error:
            logger.warning(f"{schema}.{name} was not written: {error}")

    def log(name: str, write: Callable[..., None], session: DbtSession) -> None:
        if entries:
            table = f"{schema}.{name}"
            written(name, partial(write, session, table, key[0], entries))

    def beside(session: DbtSession) -> None:
        if invocation is not None:
            written(STATE_TABLE, partial(invocation.states.record, session))
        log(CHECKS_TABLE, write_checks, session)
        if switches is not None and due:
            written(QUERIES_TABLE, partial(switches.write, session))

    try:
        with adapter.connection_named(RUNS_TABLE):
            session = DbtSession(adapter)
            with meanwhile(session, partial(beside, session), wanted=bool(entries)):
                log(RUNS_TABLE, write_log, session)
    except Exception as error:
        logger.warning(f"the logs in {schema} were not written: {error}")
    if invocation is not None:
        invocation.states.forget_unrecorded()  # none are left unless there was no session
    if entries:
        _write_documents(adapter, key[0], entries)


def note_sinks(config: Any, model: Model) -> None:
    """Keep a model that delivers until the invocation ends."""
    if not model.config.deliver:
        return
    key = _key(config)
    with _lock:
        _sinks.setdefault(key, []).append(model)


def deliver_noted(adapter: Any) -> None:
    """Deliver new answers; a sink that is down is a warning: the next invocation tries again.

    At the end, and not after each model: so a sink that hangs keeps no other model waiting. The
    sinks of a model whose run failed are included: they may lag behind its table.
    """
    config = adapter.config
    key = _key(config)
    with _lock:
        models = _sinks.pop(key, [])
    if not models:
        return
    try:
        with adapter.connection_named("tapestry_deliveries"):
            session = DbtSession(adapter)
            invocation = current_invocation(config, session)
            outcomes = deliver(session, invocation, models, Path(config.project_root))
    except Exception as error:
        logger.warning(f"nothing was delivered: {error}")
        return
    for outcome in outcomes:
        if outcome.error:
            logger.warning(str(outcome))
        elif outcome.batches or outcome.begun:
            logger.info(str(outcome))
        for warning in outcome.warnings:
            logger.warning(f"{outcome.model} to {outcome.sink}: {warning}")


def keep_noted_memories(adapter: Any) -> None:
    """Build the memories that the current invocation's runs asked for, and update them.

    Done last, for nothing waits for it; a failure harms nothing.
    """
    key = _key(adapter.config)
    with _lock:
        invocation = _known.get(key)
        requests = [] if invocation is None else list(invocation.asked.requests)
        if invocation is not None:
            invocation.asked.requests.clear()
    if not requests:
        return
    try:
        with adapter.connection_named(MEMORIES_TABLE):
            for deed in keep_memories(DbtSession(adapter), requests, key[0]):
                logger.debug(f"{deed.action} {deed.wanted.name} in {deed.seconds:.1f} s")
    except Exception as error:
        logger.warning(f"the memories in {key[1]} were not kept: {error}")


def keep_quiet_times() -> None:
    """Keep, for later processes, up to when nothing happens to a model (``context/quiet.py``)."""
    if not _recall.quiet.is_kept:
        _with_kept(_recall.quiet.write)


def _with_kept(use: Callable[[Path], None]) -> None:
    """Let a function use the folder of what is kept between processes, where there is one."""
    try:
        use(cache_folder())
    except (ConfigurationError, OSError) as error:
        logger.debug(f"nothing is kept between processes: {error}")


def release_shared(adapter: Any) -> None:
    """Drop, at its end, what the models of the current invocation held in memory together."""
    key = _key(adapter.config)
    with _lock:
        invocation = _known.get(key)
    if invocation is None:
        return
    try:
        with adapter.connection_named(MEMORIES_TABLE):
            invocation.shared.release(DbtSession(adapter))
    except Exception as error:
        logger.debug(f"what models shared in memory was not dropped: {error}")


def _write_documents(adapter: Any, invocation_id: str, entries: list[Any]) -> None:
    """Keep the checks as validation results; render them where Great Expectations is loaded."""
    config = adapter.config
    target = Path(config.project_root) / config.target_path
    try:
        written = write_results(target, invocation_id, entries)
        wish = os.environ.get(DATA_DOCS, "auto").lower()
        if written and (
            wish == "always" or (wish == "auto" and "great_expectations" in sys.modules)
        ):
            build_data_docs(target)
    except Exception as error:
        logger.warning(f"{target / FOLDER} was not written: {error}")
