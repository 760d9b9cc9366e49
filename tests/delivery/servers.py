"""Real servers on the loopback address that fail in the ways servers do."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword


@dataclass
class Http:
    """An HTTP server; ``script`` says how it answers the next requests, 200 when it is used up.

    A number is a status, ``hang`` answers too late, ``drop`` closes the connection, (429, 0.1) asks
    to wait.
    """

    script: list[Any] = field(default_factory=list)
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""
    hang: float = 5.0

    @property
    def ids(self) -> list[list[int]]:
        """The ids of the rows of each request."""
        return [[row["id"] for row in json.loads(body)["rows"]] for _, body in self.requests]


@contextmanager
def http_server(certificate: Path | None = None) -> Iterator[Http]:
    """Serve until the end."""
    state = Http()
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            state.requests.append(({k.lower(): v for k, v in self.headers.items()}, body))
            what = state.script.pop(0) if state.script else 200
            if what == "drop":
                self.close_connection = True
                return
            if what == "hang":
                over.wait(state.hang)
            status, wait = what if isinstance(what, tuple) else (what, None)
            self.send_response(200 if status == "hang" else status)
            if wait is not None:
                self.send_header("Retry-After", str(wait))
            if status == 302:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scheme = "http"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.url = f"{scheme}://127.0.0.1:{server.server_port}/hook/s3cret-path"
    try:
        yield state
    finally:
        over.set()
        server.shutdown()
        server.server_close()


@dataclass
class Mailbox:
    """A mail server; ``script`` are SMTP answers to the next mails, then it takes them."""

    script: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    wait: float = 0.0
    port: int = 0
    quits: str = "221 Bye"

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Any, address: str, options: Any
    ) -> str:
        if address in self.unknown:
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_QUIT(self, server: Any, session: Any, envelope: Any) -> str:
        return self.quits

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        time.sleep(self.wait)
        if self.script:
            return self.script.pop(0)
        self.messages.append(message_from_bytes(envelope.content))
        self.recipients.append(list(envelope.rcpt_tos))
        return "250 OK"


@contextmanager
def mail_server(
    certificate: Path | None = None,
    implicit: bool = False,
    password: str | None = None,
) -> Iterator[Mailbox]:
    """Serve until the end; with a certificate only over TLS, with a password only after a login."""
    box = Mailbox()
    options: dict[str, Any] = {}
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        options |= (
            {"ssl_context": context}
            if implicit
            else {
                "tls_context": context,
                "require_starttls": True,
            }
        )
    if password is not None:

        def check(server: Any, session: Any, envelope: Any, mechanism: Any, data: Any) -> Any:
            assert isinstance(data, LoginPassword)
            right = (data.login, data.password) == (b"me", password.encode())
            return AuthResult(success=right, handled=False)

        options |= {"authenticator": check, "auth_required": True, "auth_require_tls": not implicit}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        box.port = free.getsockname()[1]
    controller = Controller(box, hostname="127.0.0.1", port=box.port, **options)
    controller.start()
    try:
        yield box
    finally:
        controller.stop()
