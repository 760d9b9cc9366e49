"""Serves the page on the loopback address, made anew when runs are recorded or dbt has run.

Every user of the machine can reach that address, and the page shows the models' SQL: so the address
that is printed holds a random token, and nothing is answered without it. It stands in the path, not
in a cookie, which a browser would send to every port of the address.

Requests are answered by threads; the page is made by the thread that owns the session (dbt's
connections belong to their threads), which takes the requests' questions from a queue.
"""

from __future__ import annotations

import hmac
import mimetypes
import secrets
from collections.abc import Callable
from concurrent.futures import Future
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any
from urllib.parse import unquote, urlsplit

from tapestry.report.make import Report
from tapestry.report.page import Live

ADDRESS = "127.0.0.1"
PATIENCE = 120.0
_HOSTS = (ADDRESS, "localhost")
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_DOCS_OF_DBT = ("index.html", "manifest.json", "catalog.json")

Question = Queue["Future[tuple[str, bytes]]"]


class _Quiet(ThreadingHTTPServer):
    """An HTTP server that prints nothing when a client breaks off."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """End the connection silently; other connections go on."""


class Server:
    """Serves the newest page until stopped.

    make
        The report of now; called by the thread that calls `run`.
    fingerprint
        Something cheap that differs when the report would.
    target
        dbt's target folder; of it only documentation that the page links to is served.
    """

    def __init__(
        self,
        make: Callable[[], Report],
        fingerprint: Callable[[], str],
        target: Path,
        port: int = 0,
    ) -> None:
        self._make, self._fingerprint = make, fingerprint
        self.target = target.resolve()
        self.token = secrets.token_urlsafe(24)
        self.documentation: dict[str, Path] = {}
        self._questions: Question = Queue()
        self._stopped = Event()
        self._shown: tuple[str, bytes] | None = None
        self._http = _Quiet((ADDRESS, port), _handler(self))

    @property
    def url(self) -> str:
        """Return the page's address, token included."""
        return f"http://{ADDRESS}:{self._http.server_address[1]}/{self.token}/"

    def run(self) -> None:
        """Serve until `stop`, or until the thread is interrupted."""
        thread = Thread(target=self._http.serve_forever, name="report", daemon=True)
        thread.start()
        try:
            while not self._stopped.is_set():
                self._answer()
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()

    def stop(self) -> None:
        """End `run`, from any thread or signal handler."""
        self._stopped.set()

    def current(self) -> tuple[str, bytes]:
        """Return version and page, made by the thread that may make it."""
        question: Future[tuple[str, bytes]] = Future()
        self._questions.put(question)
        return question.result(PATIENCE)

    def _answer(self) -> None:
        try:
            question = self._questions.get(timeout=0.2)
        except Empty:
            return
        try:
            question.set_result(self._newest())
        except Exception as error:  # only this request fails; the next one may succeed
            question.set_exception(error)

    def _newest(self) -> tuple[str, bytes]:
        version = self._fingerprint()
        if self._shown is None or self._shown[0] != version:
            report = self._make()
            self.documentation = dict(report.artifacts.links)
            live = Live(secrets.token_urlsafe(16), version)
            self._shown = version, report.html(self.target, live).encode("utf-8", "replace")
        return self._shown

    def within(self, path: str) -> str | None:
        """Return the path of a request after the token, with its slash; None without the token."""
        token, slash, rest = path.removeprefix("/").partition("/")
        known = hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())
        return f"/{rest}" if known and slash else None

    def document(self, path: str) -> Path | None:
        """A file of documentation that the page links to; None for everything else."""
        try:
            wanted = (self.target / unquote(path).lstrip("/")).resolve()
            there = wanted.is_file()
        except (OSError, ValueError):  # a name that no file can have
            return None
        for name, index in self.documentation.items():
            folder = index.resolve().parent
            if name == "dbt docs":
                allowed = wanted.parent == folder and wanted.name in _DOCS_OF_DBT
            else:
                allowed = wanted.is_relative_to(folder)
            if allowed and there:
                return wanted
        return None


def _host(header: str) -> str | None:
    """Return the host without its port; None if the header is no host."""
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 30

        def do_GET(self) -> None:
            if (
                _host(self.headers.get("Host", "")) not in _HOSTS
            ):  # another site whose host name resolves to this machine
                self._send(HTTPStatus.FORBIDDEN, b"only from this machine", "text/plain")
                return
            path = server.within(self.path.partition("?")[0])
            if path is None:
                said = b"the address with its token is where the report was started"
                self._send(HTTPStatus.FORBIDDEN, said, "text/plain")
                return
            if path in ("/", "/version"):
                self._page(path)
                return
            file = server.document(path)
            if file is None:
                self._send(HTTPStatus.NOT_FOUND, b"not found", "text/plain")
                return
            kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            self._send(HTTPStatus.OK, file.read_bytes(), kind)

        def _page(self, path: str) -> None:
            try:
                version, page = server.current()
            except Exception as error:
                self._send(HTTPStatus.INTERNAL_SERVER_ERROR, str(error).encode(), "text/plain")
                return
            if path == "/version":
                self._send(HTTPStatus.OK, version.encode(), "text/plain")
            else:
                self._send(HTTPStatus.OK, page, "text/html")

        def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing: the terminal belongs to whoever watches."""

    return Handler
