"""The plain session by which `tapestry.runs` executes SQL, over any connection of dbt's."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from copy import copy
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4
from zoneinfo import ZoneInfo

from dbt.adapters.contracts.connection import Connection, ConnectionState, LazyHandle

from dbt.adapters.tapestry.answer_settings import ZONE
from dbt.adapters.tapestry.overrides import INTERPRETED, once
from dbt.adapters.tapestry.servers import read_by_conf, read_by_sql
from tapestry.errors import ConfigurationError
from tapestry.runs.engine.session import Capabilities, ReadVolume
from tapestry.runs.engine.stop_after import Stopped, stop_after
from tapestry.runs.engine.values import as_list, as_map

if TYPE_CHECKING:
    from dbt.adapters.sql import SQLAdapter


T = TypeVar("T")
BESIDE = ThreadPoolExecutor(8, "tapestry-beside")
"""Threads for what sessions do beside something else; kept, for each has a thread of Spark's."""
_INSTANTS = ("timestamp", "timestamp_ltz", "timestamp_type")


_INTERRUPTS = "spark.job.interruptOnCancel"
"""Spark's name, in what it keeps for a thread, of whether tasks are interrupted, too."""


class DbtSession:
    """`tapestry.runs`' Session protocol through the connection of dbt's current thread.

    Works with every connection method. Errors are dbt's DbtDatabaseError, short.
    """

    def __init__(self, adapter: SQLAdapter) -> None:
        self._adapter = adapter
        self._zone: dt.tzinfo | None = None
        credentials = adapter.config.credentials
        self._drives = bool(getattr(credentials, "embedded", False))
        self.can = self._capabilities(bool(getattr(credentials, "connect", False)))

    def _capabilities(self, connect: bool) -> Capabilities:
        """Return what this connection's method offers besides SQL.

        Dataframes come with a Spark that this process drives, embedded or behind Spark Connect; the
        other capabilities ask Spark's own process, or set what a server shares.
        """
        told = Capabilities(
            keeps_memory=self._keeps_memory,
            input_files=self._input_files,
            apart=self._apart,
            stop_after=self._stop_after,
        )
        if not self._drives:
            return told
        driven = replace(told, frame=self._frame, meanwhile=self._meanwhile)
        if connect:
            return driven
        return replace(
            driven,
            measured=self._measured,
            glance=lambda name: self._handle.logs.newest(name),
            has_table=lambda name: self._handle.logs.knows(name),
            commits=lambda *asked: self._handle.logs.commits(*asked),
            for_little=self._for_little,
            planned_once=self._planned_once,
        )

    def _keeps_memory(self) -> bool:
        """Whether all of Spark is in one process, and not only its driver: so cached data stays."""
        master = str(self._handle.session.conf.get("spark.master", "")) if self._drives else ""
        return master == "local" or master.startswith("local[")

    @property
    def _handle(self) -> Any:
        """The handle of dbt's open connection of this thread."""
        return self._adapter.connections.get_thread_connection().handle

    def run(self, sql: str) -> None:
        """Execute a statement and ignore its rows."""
        self._adapter.connections.add_query(sql, auto_begin=False)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query as Python values; a TIMESTAMP is an aware datetime in UTC."""
        connections = self._adapter.connections
        _, cursor = connections.add_query(sql, auto_begin=False)
        description = cursor.description or []
        with connections.exception_handler(sql):
            rows = [tuple(row) for row in cursor.fetchall() or []]
        readers = {
            place: reader
            for place, column in enumerate(description)
            if (reader := self._reader(str(column[1]).lower())) is not None
        }
        return [_read(row, readers) for row in rows] if readers else rows

    def _input_files(self, sql: str) -> int | None:
        """Return how many files a query would read, by its plan; None where Spark is elsewhere."""
        session = getattr(self._handle, "session", None)
        if session is None:
            return None
        with self._adapter.connections.exception_handler(sql):
            # sql: a statement of the caller
            return len(session.sql(sql).inputFiles())

    def _frame(self, sql: str) -> Any:
        """Return a query as a Spark dataframe."""
        with self._adapter.connections.exception_handler(sql):
            # sql: a statement of the caller
            return self._handle.session.sql(sql)

    def _meanwhile(self, task: Callable[[], T]) -> Future[T]:
        """Begin a task in another thread over the same session, with a cursor of its own."""
        connections = self._adapter.connections
        shared = connections.get_thread_connection()
        handle = shared.handle.beside()
        beside = copy(shared)
        beside.handle = handle

        def work() -> T:
            connections.set_thread_connection(beside)
            try:
                return task()
            finally:
                connections.clear_thread_connection()

        return BESIDE.submit(copy_context().run, work)

    @contextmanager
    def _apart(self, settings: Mapping[str, str]) -> Iterator[DbtSession]:
        """Yield another connection of this thread, with a session and settings of its own.

        Raises ConfigurationError where the engine shares the settings of its connections.
        """
        connections = self._adapter.connections
        shared = connections.get_thread_connection()
        own = Connection(
            type=shared.type,
            name=f"{shared.name}.apart",
            state=ConnectionState.INIT,
            handle=LazyHandle(connections.open),
            credentials=shared.credentials,
        )
        self._use(own)
        try:
            for key, value in settings.items():
                # sql: SET takes what stands behind = as it is, and these are names of ours
                self.run(f"SET {key}={value}")
            if not self._drives:
                self._use(shared)
                self._refuse_shared(settings)
                self._use(own)
            yield self
        finally:
            self._use(shared)
            connections.close(own)

    def _stop_after(self, seconds: float) -> AbstractContextManager[Stopped]:
        """Return a context whose statements over this connection are stopped after so long.

        Another thread may enter it.
        """
        handle = self._handle
        if self._drives:
            return stop_after(seconds, marked_jobs(handle.session))
        one_at_a_time(handle)
        return stop_after(seconds, nullcontext(handle.cancel))

    def _use(self, connection: Connection) -> None:
        """Let this thread's statements go over a connection."""
        connections = self._adapter.connections
        connections.clear_thread_connection()
        connections.set_thread_connection(connection)

    def _refuse_shared(self, settings: Mapping[str, str]) -> None:
        """Raise ConfigurationError where this connection has the settings that another one set."""
        seen = self.settings
        for key, value in settings.items():
            if seen.get(key) == value:
                raise ConfigurationError(
                    "the server shares settings between its connections, so that an action's would"
                    " hit the statements of others",
                    hint="set spark.sql.hive.thriftServer.singleSession to false",
                )

    def _measured(self) -> AbstractContextManager[ReadVolume]:
        """Measure what this thread's statements read."""
        from dbt.adapters.tapestry.measure_reads import measured

        return measured(self._handle.session)

    def _for_little(self) -> AbstractContextManager[None]:
        """Let Spark interpret queries inside: over kilobytes, compiling takes longer than running.

        Nor does it plan a query again while that runs.
        """
        handle = self._handle
        settings: AbstractContextManager[None] = handle.overrides.inside(
            {**INTERPRETED, **once(handle.session.conf)}
        )
        return settings

    def _planned_once(self) -> AbstractContextManager[None]:
        """Let Spark not plan a query again while that runs."""
        handle = self._handle
        settings: AbstractContextManager[None] = handle.overrides.inside(once(handle.session.conf))
        return settings

    def _reader(self, kind: str) -> Callable[[Any], Any] | None:
        """Return the function that makes Python values of a column's; None: the driver does.

        A Thrift server has these names of types, and sends lists, maps and dates as text.
        """
        return self._instant if kind in _INSTANTS else _OF_TEXT.get(kind)

    def _instant(self, value: Any) -> Any:
        """Return wall clock time of the session's zone, text from some servers, in UTC."""
        if isinstance(value, str):
            value = dt.datetime.fromisoformat(value)
        if not isinstance(value, dt.datetime):
            return value
        if value.tzinfo is None:
            value = value.replace(tzinfo=self._session_zone())
        return value.astimezone(dt.timezone.utc)

    @property
    def time_zone(self) -> str:
        """The time zone of the connection as it is now: a hook may have set another."""
        session = getattr(self._handle, "session", None)
        return self.settings[ZONE] if session is None else str(session.conf.get(ZONE))

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings of the session as they are now."""
        handle = self._handle
        session = getattr(handle, "session", None)
        with self._adapter.connections.exception_handler("SET"):
            if session is None:
                return read_by_sql(handle)
            if hasattr(session, "_jsparkSession"):
                from dbt.adapters.tapestry.embedded import settings_of

                return settings_of(session)
            return read_by_conf(session)

    @property
    def opened(self) -> Mapping[str, str]:
        """The settings of the session when it was opened, the time zone too."""
        settings: Mapping[str, str] = self._handle.opened
        return settings

    def _session_zone(self) -> dt.tzinfo:
        """Return the zone of the connection, asked once."""
        if self._zone is None:
            name = self.time_zone
            self._zone = dt.timezone.utc if name in ("UTC", "Z", "Etc/UTC") else ZoneInfo(name)
        return self._zone


def _read(row: tuple[Any, ...], readers: Mapping[int, Callable[[Any], Any]]) -> tuple[Any, ...]:
    values = list(row)
    for place, reader in readers.items():
        if values[place] is not None:
            values[place] = reader(values[place])
    return tuple(values)


def _date(value: Any) -> Any:
    """Return a date; a text that is no date of Python's (a year before 1, say) stays."""
    try:
        return dt.date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return value


_OF_TEXT: Mapping[str, Callable[[Any], Any]] = {
    "array_type": as_list,
    "map_type": as_map,
    "date_type": _date,
}


class OneAtATime:
    """A Thrift client whose calls wait for each other."""

    def __init__(self, client: Any) -> None:
        self._client, self._lock = client, Lock()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if not callable(found):
            return found

        def call(*given: Any, **named: Any) -> Any:
            with self._lock:
                return found(*given, **named)

        return call


def one_at_a_time(handle: Any) -> None:
    """Let the calls of a handle of dbt-spark wait for each other, where they are Thrift's."""
    connection: Any = getattr(handle, "handle", None)
    client = getattr(connection, "_client", None)
    if client is not None and not isinstance(client, OneAtATime):
        connection._client = OneAtATime(client)


@contextmanager
def marked_jobs(session: Any) -> Iterator[Callable[[], None]]:
    """Mark the jobs that this thread starts inside; yield a function that stops the running ones.

    The function stops other threads' jobs in the session, too, as far as Spark has marked them. A
    server of Spark Connect marks the jobs of each statement by itself.
    """
    if not hasattr(session, "_jsparkSession"):
        yield session.interruptAll
        return
    context, tag = session.sparkContext, f"tapestry-{uuid4().hex}"
    before = context.getLocalProperty(_INTERRUPTS)

    def stop() -> None:
        context.cancelJobsWithTag(tag)
        session.interruptAll()

    context.addJobTag(tag)
    context.setLocalProperty(_INTERRUPTS, "true")
    try:
        yield stop
    finally:
        context.removeJobTag(tag)
        context.setLocalProperty(_INTERRUPTS, before)
