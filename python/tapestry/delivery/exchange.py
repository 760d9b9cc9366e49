"""Bounds a conversation with a server in time, whatever the server does.

A socket's own time-out begins anew with every byte, so a server that sends one byte a second would
never meet it. Here the conversation has a thread of its own, and whoever waits for it shuts its
sockets down when the time is up. The shutdown acts on a duplicate of the descriptor: it ends every
read, write and TLS handshake on the connection, whichever object wraps it by then. The lookup of a
name cannot be interrupted. Its thread is left behind; it keeps no process from ending, and the
connection that it opens at last is closed at once.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from threading import Lock, Thread
from typing import TypeVar

from tapestry.delivery.retry import Unavailable

_AT_ONCE = struct.pack("ii", 1, 0)
"""The value of SO_LINGER with which close() ends a connection at once, by a reset."""

Result = TypeVar("Result")


class Exchange:
    """The sockets of one conversation."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._watched: list[socket.socket] = []
        self._over = False

    def watch(self, connection: socket.socket) -> socket.socket:
        """Take a new connection into account; TimeoutError where the time is up already."""
        with self._lock:
            if not self._over:
                self._watched.append(connection.dup())
                return connection
        connection.close()
        raise TimeoutError("the connection came too late")

    def end(self, *, reset: bool = False) -> None:
        """Shut down all connections, also those that a thread is reading from.

        With ``reset`` what is on its way is thrown away: a server that sends without end would
        keep the system busy with it.
        """
        with self._lock:
            self._over = True
            watched, self._watched = self._watched, []
        for connection in watched:
            with suppress(OSError):
                if reset:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


def within(seconds: float, where: str, talk: Callable[[Exchange], Result]) -> Result:
    """Return what ``talk`` returns, or raise its error; Unavailable after ``seconds``."""
    exchange = Exchange()
    talking = in_background(lambda: talk(exchange), f"delivery to {where}")
    try:
        wait([talking], max(0.0, seconds))
        if not talking.done():
            # What the thread makes of the shutdown does not count: to it, an answer that was cut
            # off may look like a whole one.
            raise Unavailable(f"{where} did not answer within {seconds:.3g} s")
        found = talking.result()
    except BaseException:
        exchange.end(reset=True)
        raise
    exchange.end()
    return found


def in_background(action: Callable[[], Result], name: str) -> Future[Result]:
    """Run an action in a daemon thread, which cannot keep the process from ending."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(action())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, name=name, daemon=True).start()
    return future
