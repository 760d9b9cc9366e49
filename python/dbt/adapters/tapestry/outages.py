"""Turns the errors of a lost connection to Spark into messages: what, where, what to do.

Each driver reports them in its own way, most with the name of a class and nothing else.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from tapestry.delivery.exchange import in_background
from tapestry.errors import ConfigurationError, TapestryError

if TYPE_CHECKING:
    from dbt.adapters.tapestry.credentials import TapestryCredentials

T = TypeVar("T")
HERE = "Spark's driver in this process"
_LINKS = 10
"""Causes of an exception that are looked at."""

AGAIN: Final = "what was not committed is not there, and the next run makes it, once"
_SESSION = re.compile(
    r"\[INVALID_HANDLE\.SESSION_(NOT_FOUND|CLOSED|CHANGED)\]|^\w*: ?Invalid SessionHandle", re.M
)
_JARS = re.compile(
    r"ClassCastException[^\n]{0,400}SerializedLambda"
    r"|(NoClassDefFoundError|ClassNotFoundException)[:\s]+"
    r"(io[./]delta|org[./]apache[./]spark[./]sql[./]delta)"
)
_USERS_WORDS = re.compile(r"\[(USER_RAISED_EXCEPTION|PARSE_SYNTAX_ERROR|UNRESOLVED)")
_TLS = re.compile(r"SSLError|\bSSL: |SSL_ERROR|CERTIFICATE_VERIFY_FAILED|WRONG_VERSION_NUMBER")
_SLOW = re.compile(r"DEADLINE_EXCEEDED|Deadline Exceeded|timed out")
_REFUSED = re.compile(
    r"Connection refused|Could not connect to any of|failed to connect to all addresses"
    r"|Name or service not known|name resolution|No route to host|DNS resolution failed"
)
_GONE = re.compile(
    r"TTransportException|UNAVAILABLE|Connection lost while polling|RETRIES_EXCEEDED"
)
_TRANSPORT: Final = frozenset(
    {
        *("TTransportException", "RpcError", "_InactiveRpcError", "_MultiThreadedRendezvous"),
        *("RetriesExceeded", "SparkConnectGrpcException"),
    }
)
"""Classes of what the drivers throw of their own accord. Others bring what Spark has answered: that
a store refused *its* connection, say."""
_WRAPPED: Final = ("failed to connect: ", "Connection lost while polling")
"""The prefixes that dbt-spark puts before a driver's message where it keeps no cause."""
_OF_JAVA: Final = frozenset({"Py4JNetworkError"})


def outage(error: BaseException, place: str, opening: bool = False) -> TapestryError | None:
    """Return the error about the connection or Spark's processes; None if it is about neither.

    ``place`` is the address as the profile has it; ``opening``: there was no session yet. The
    exception is examined with its causes: dbt-spark wraps the driver's exceptions.
    """
    chain = list(_chain(error))
    said = "\n".join(f"{type(one).__name__}: {_words(one)}" for one in chain)
    if _SESSION.search(said):
        return ConfigurationError(
            "the server no longer knows this session: it was restarted, or closed it as idle",
            where=place,
            hint=f"run again: {AGAIN}; if that happens often, let the server keep idle sessions"
            " longer (hive.server2.idle.session.timeout, spark.connect.session.manager.*)",
        )
    if _JARS.search(said) and not _USERS_WORDS.search(said):
        return ConfigurationError(
            "Spark's workers cannot read what the driver sends them: they lack Delta's classes",
            where=place,
            hint="put the jars delta-spark, delta-storage and delta-kernel-* into jars/ of the"
            " server and of every worker (or spark.executor.extraClassPath), and start them anew",
        )
    transport = [one for one in chain if _is_transport(one)]
    if any(type(one).__name__ in _OF_JAVA for one in chain) or (transport and place == HERE):
        return _ended()
    return _of_transport(transport, place, opening) if transport else None


def _is_transport(error: BaseException) -> bool:
    if isinstance(error, ConnectionError | TimeoutError | EOFError | socket.gaierror):
        return True
    return type(error).__name__ in _TRANSPORT or _words(error).startswith(_WRAPPED)


def _of_transport(
    errors: Sequence[BaseException], place: str, opening: bool
) -> TapestryError | None:
    """Return the error for a driver's exceptions; for Spark Connect's only if a status is named."""
    said = "\n".join(f"{type(one).__name__}: {_words(one)}" for one in errors)
    if _TLS.search(said):
        return ConfigurationError(
            "no encrypted connection (TLS) could be made",
            where=place,
            hint="does the server speak TLS at this port, and is its certificate one that this"
            " machine trusts? use_ssl in profiles.yml (in master for sc://) must say the same",
        )
    if any(isinstance(one, TimeoutError) for one in errors) or _SLOW.search(said):
        return late(place)
    refused = any(isinstance(one, ConnectionRefusedError | socket.gaierror) for one in errors)
    if refused or _REFUSED.search(said):
        return ConfigurationError(
            "nobody answers: the server does not run, or host and port are another's",
            where=place,
            hint=f"start it, or correct host and port (master) in profiles.yml; {AGAIN}",
        )
    if any(isinstance(one, ConnectionError | EOFError) for one in errors) or _GONE.search(said):
        if opening:
            return ConfigurationError(
                "the server ended the connection before a session was open",
                where=place,
                hint="is it a Spark server that speaks this method at this port, and does it want"
                " the auth, the user and the TLS (use_ssl) that profiles.yml says?",
            )
        return ConfigurationError(
            "the server has ended during a request",
            where=place,
            hint=f"look into its log for the cause (memory, a restart), then run again: {AGAIN}",
        )
    return None


def late(place: str) -> TapestryError:
    """Return the error for a server that did not answer in time, connected or not."""
    return ConfigurationError(
        "the server did not answer in time",
        where=place,
        hint="is it a Spark server, with TLS (use_ssl) as profiles.yml says, and does it have work"
        " beside this? open_timeout there is how many seconds a session may take to open",
    )


def place_of(credentials: TapestryCredentials) -> str:
    """Return the address of a profile's Spark for a message: no token and no password."""
    method = str(getattr(credentials.method, "value", credentials.method))
    if not credentials.embedded:
        port = f":{credentials.port}" if credentials.port else ""
        return f"{method}, {credentials.host}{port}"
    if credentials.connect:
        return str(credentials.master).partition("/;")[0]
    return HERE


def within(seconds: float, task: Callable[[], T], unwanted: Callable[[T], object]) -> T:
    """Return the result of a task, if it ends in time.

    Raises TimeoutError where it does not; a later result goes to ``unwanted``. The drivers have no
    deadline for a server's first answer, so the task runs in a thread that can be left behind.
    """

    def come_late(late: Future[T]) -> None:
        if late.exception() is None:
            unwanted(late.result())

    opening = in_background(partial(copy_context().run, task), "tapestry-opens")
    wait([opening], seconds)
    if not opening.done():
        opening.add_done_callback(come_late)
        raise TimeoutError(f"no answer within {seconds:g} s")
    return opening.result()


def _chain(error: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = error
    for _ in range(_LINKS):
        if one is None:
            return
        yield one
        yield from (inner for inner in one.args if isinstance(inner, BaseException))
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _words(error: BaseException) -> str:
    """Return an exception's message; a Thrift server's answer is its first argument."""
    status = getattr(error.args[0], "status", None) if error.args else None
    return str(getattr(status, "errorMessage", None) or getattr(error, "msg", None) or error)


def _ended() -> TapestryError:
    return ConfigurationError(
        "Spark's process has ended during a request",
        where="logs/spark.log",
        hint="its log says why (often memory: spark.driver.memory under server_side_parameters);"
        f" run again: {AGAIN}",
    )
