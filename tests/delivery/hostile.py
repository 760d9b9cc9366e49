"""Servers that keep a client busy: byte by byte, without end, or not at all."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

BYTE_EVERY = 0.02


@dataclass
class Talk:
    """A connection as the server sees it; all of its methods end when the server is over."""

    connection: socket.socket
    server: Hostile

    def say(self, data: bytes) -> None:
        """Send at once."""
        self.connection.sendall(data)
        self.server.said += len(data)

    def drip(self, data: bytes) -> None:
        """Send a byte now and then: the next one always comes before a socket's time-out."""
        for byte in data:
            self.say(bytes([byte]))
            if self.server.over.wait(BYTE_EVERY):
                return
        self.wait()

    def flood(self, data: bytes) -> None:
        """Send the same again and again, as fast as it is taken."""
        while not self.server.over.is_set():
            self.say(data)

    def hear(self, until: bytes) -> bytes:
        """Read up to a text."""
        heard = b""
        while until not in heard:
            more = self.connection.recv(65536)
            if not more:
                raise ConnectionError
            heard += more
        return heard

    def wait(self) -> None:
        """Say nothing, until the client goes."""
        while self.connection.recv(65536):
            pass


@dataclass
class Hostile:
    """What became of the connections to a server."""

    port: int = 0
    said: int = 0
    connections: int = 0
    closed: list[float] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """As a webhook."""
        return f"http://127.0.0.1:{self.port}/hook"


@contextmanager
def hostile_server(behaviour: Callable[[Talk], None]) -> Iterator[Hostile]:
    """Treat each connection so, until the end."""
    state = Hostile()
    listening = socket.create_server(("127.0.0.1", 0))
    state.port = listening.getsockname()[1]

    def treat(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(30)
            behaviour(Talk(connection, state))
        state.closed.append(time.monotonic())

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                state.connections += 1
                threading.Thread(target=treat, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield state
    finally:
        state.over.set()
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def smtp(talk: Talk, *answers: bytes) -> None:
    """The first part of a conversation, as a server that behaves."""
    talk.say(b"220 hello\r\n")
    for answer in answers:
        talk.hear(b"\r\n")
        talk.say(answer)
