"""Sessions of a remote Spark: opened with the settings that change answers, and asked for them.

A Thrift server takes settings with the opening of a session, as `set:hiveconf:KEY`; plain keys, as
dbt-spark gives them, do nothing there (they are sent, too, for servers that use them). Spark
Connect has a call of its own. Each connection of dbt is a session, which no other thread uses, and
which is closed with the connection: nothing that one model sets or makes is there for another.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from dbt.adapters.contracts.connection import Connection, ConnectionState, LazyHandle
from dbt.adapters.exceptions import FailedToConnectError

from dbt.adapters.tapestry.answer_settings import ZONE, not_taken, to_correct, to_open_with
from dbt.adapters.tapestry.connect_client import end_session, new_connect_session
from dbt.adapters.tapestry.credentials import TapestryCredentials
from dbt.adapters.tapestry.log import hush_pyspark
from dbt.adapters.tapestry.outages import outage, place_of, within
from dbt.adapters.tapestry.workers import ASKS_CORES, SMALL_SNAPSHOTS, sizes_there
from tapestry.errors import ConfigurationError
from tapestry.runs.sources.too_old import READS_OLD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECT_PORT = 15002
_PROXIES = frozenset({"grpc_proxy", "https_proxy", "http_proxy"})
PREFIX = "set:hiveconf:"
_FIXED, _NO_VALUE = "CANNOT_MODIFY", "INVALID_CONF"
_REFUSED = re.compile(
    rf"\[(?P<why>{_FIXED}|{_NO_VALUE})[A-Z_.]*\].{{0,300}}?\"(?P<key>spark[\w.\-]*)\"", re.DOTALL
)
"""Spark's message about a setting that it does not accept."""


def open_elsewhere(connection: Connection, open_: Callable[[Connection], Connection]) -> Connection:
    """Open a connection by Thrift, HTTP or ODBC, with the profile's settings in force.

    Raises FailedToConnectError, which names the setting and what to do, where one is not taken.
    """
    credentials = connection.credentials
    assert isinstance(credentials, TapestryCredentials)
    if connection.state == ConnectionState.OPEN:
        return connection
    tried = copy(connection)
    tried.credentials = _prefixed(credentials)
    try:
        opened = within(
            credentials.open_timeout, lambda: open_(tried), lambda late: late.handle.close()
        )
    except Exception as error:
        refused = _REFUSED.search(str(error))
        broken = outage(error, place_of(credentials), opening=True)
        if refused is not None:
            raise _not_taken(refused["key"], refused["why"]) from error
        if broken is None:
            raise
        raise FailedToConnectError(str(broken)) from error
    connection.handle, connection.state = opened.handle, opened.state
    handle = connection.handle
    try:
        handle.opened = _settled(
            credentials,
            lambda: read_by_sql(handle),
            lambda key, value: _ask(handle, f"SET {key}={value}"),
        )
        explained = partial(_ask, handle, ASKS_CORES)
        sizes = sizes_there(handle.opened, credentials.left_alone, explained)
        for key, value in sizes.items():
            _ask(handle, f"SET {key}={value}")
    except Exception:
        # As dbt leaves a connection that could not be opened.
        connection.state = ConnectionState.INIT
        connection.handle = LazyHandle(lambda again: open_elsewhere(again, open_))
        handle.close()
        raise
    return connection


def connect(credentials: TapestryCredentials) -> tuple[SparkSession, dict[str, str]]:
    """Return a new session of a Spark Connect server, and its settings.

    Raises FailedToConnectError where there is no connection, or a setting is not taken.
    """
    hush_pyspark()
    url, seconds = str(credentials.master), credentials.open_timeout
    wanted = _to_open_with(credentials)
    try:
        _knock(url, seconds)
        session = within(seconds, lambda: new_connect_session(url, wanted, seconds), end_session)
    except Exception as error:
        place = place_of(credentials)  # what stands behind the address can be a token
        broken = outage(error, place, opening=True)
        reason = str(error).strip().splitlines()[0]
        raise FailedToConnectError(
            str(broken)
            if broken
            else f"No connection to {place}: {reason}\n"
            "Spark Connect needs: pip install 'pyspark[connect]'"
        ) from error
    try:
        found = _settled(
            credentials, lambda: read_by_conf(session), lambda k, v: session.conf.set(k, v), wanted
        )
        explained = partial(_explained, session)
        for key, value in sizes_there(found, credentials.left_alone, explained).items():
            session.conf.set(key, value)
        return session, found
    except Exception:
        end_session(session)
        raise


def _knock(url: str, seconds: float) -> None:
    """Raise OSError at once where nobody answers: pyspark would ask again for ten minutes."""
    if any(name.lower() in _PROXIES for name in os.environ):
        return  # the way leads over another address
    parts = urlsplit(url)
    if parts.hostname is None:
        return  # pyspark says what is wrong with it
    try:
        socket.create_connection((parts.hostname, parts.port or CONNECT_PORT), seconds).close()
    except (ConnectionRefusedError, socket.gaierror, TimeoutError):
        raise
    except (OSError, ValueError):
        return


def read_by_conf(session: SparkSession) -> dict[str, str]:
    """Return the settings of a session of Spark Connect."""
    found = dict(session.conf.getAll)
    if ZONE not in found:
        found[ZONE] = str(session.sql("SELECT current_timezone()").collect()[0][0])
    return found


def read_by_sql(handle: Any) -> dict[str, str]:
    """Return the settings of a session of a server that takes SQL only."""
    found = {str(key): str(value) for key, value, *_ in _ask(handle, "SET")}
    if ZONE not in found:
        found[ZONE] = str(_ask(handle, "SELECT current_timezone()")[0][0])
    return found


def _ask(handle: Any, sql: str) -> list[Any]:
    """Return the rows of a statement by the driver's own cursor: dbt-spark's polls with pauses."""
    cursor = handle.handle.cursor()
    try:
        cursor.execute(sql)
        return list(cursor.fetchall()) if cursor.description else []
    finally:
        cursor.close()


def _settled(
    credentials: TapestryCredentials,
    read: Callable[[], dict[str, str]],
    change: Callable[[str, str], object],
    again: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Correct the settings that the server has otherwise, and return the session's settings.

    ``again``: a setting that was not taken is set once more, to learn why.
    """
    given, left_alone = credentials.server_side_parameters, credentials.left_alone
    found = read()
    corrections = to_correct(found, given, left_alone)
    for key, value in corrections.items():
        change(key, value)
    if corrections:
        found = read()
    wanted = {**to_open_with(given, left_alone), **corrections}
    for key in not_taken(found, wanted):
        try:
            if again is not None:
                change(key, wanted[key])
        except Exception as error:
            refused = _REFUSED.search(str(error))
            raise _not_taken(key, refused["why"] if refused else "") from error
        raise _not_taken(key)
    return found


def _to_open_with(credentials: TapestryCredentials) -> dict[str, str]:
    """Return all settings to open a session with, also those that change no answer."""
    left_alone = credentials.left_alone
    ours = {**SMALL_SNAPSHOTS, **READS_OLD}
    ours = {k: v for k, v in ours.items() if k not in left_alone}
    return {**ours, **to_open_with(credentials.server_side_parameters, left_alone)}


def _explained(session: SparkSession) -> list[Any]:
    return list(session.sql(ASKS_CORES).collect())


def _prefixed(credentials: TapestryCredentials) -> TapestryCredentials:
    """Return the credentials with the settings as a Thrift server takes them."""
    wanted = _to_open_with(credentials)
    prefixed = copy(credentials)
    prefixed.server_side_parameters = dict(wanted)
    if credentials.method != "odbc":
        prefixed.server_side_parameters |= {PREFIX + key: v for key, v in wanted.items()}
    return prefixed


def _not_taken(key: str, why: str = "") -> FailedToConnectError:
    """Return the error for a setting, without its value, which may be a secret."""
    if why == _NO_VALUE:
        error = ConfigurationError(
            f"{key} has a value that Spark does not know",
            where="profiles.yml",
            hint=f"correct {key} under server_side_parameters",
        )
    else:
        error = ConfigurationError(
            f"the server has another value of {key} than is wanted, and "
            + ("a session cannot change it" if why else "a session did not change it"),
            where="profiles.yml",
            hint=f"set {key} where the server is started (spark-defaults.conf, --conf) and take it"
            " out of server_side_parameters; `null` there leaves it as the server has it",
        )
    return FailedToConnectError(str(error))
