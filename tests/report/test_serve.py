"""The live page: new runs appear in it, on this machine only, without losing one's place."""

from __future__ import annotations

import http.client
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect
from tests.report.conftest import report_of
from tests.report.made_up import Row, fail, runs

from tapestry.report.make import Report
from tapestry.report.serve import Server


class World:
    """A project whose runs the test writes; `served` runs beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.version, self.made = folder, 1, 0
        self.rows: list[Row] = runs("s.m", 5)
        report_of(folder, self.rows, [])
        self.broken = False
        self.server = Server(self.make, lambda: str(self.version), folder / "target")

    def make(self) -> Report:
        if self.broken:
            raise RuntimeError("the warehouse is away")
        self.made += 1
        return report_of(self.folder, self.rows, [])

    def get(self, path: str, host: str | None = None) -> tuple[int, str]:
        """Ask for what is behind the token."""
        return self.ask(f"/{self.server.token}{path}", host)

    def ask(self, path: str, host: str | None = None) -> tuple[int, str]:
        """Ask for a path as it is."""
        connection = http.client.HTTPConnection(urlsplit(self.server.url).netloc, timeout=20)
        connection.request("GET", path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        found = answer.status, answer.read().decode()
        connection.close()
        return found


@pytest.fixture
def served(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    thread = Thread(target=world.server.run)
    thread.start()
    yield world
    world.server.stop()
    thread.join(20)
    assert not thread.is_alive()


def test_only_the_loopback_address(served: World) -> None:
    assert served.server.url.startswith("http://127.0.0.1:")
    assert served.get("/")[0] == 200
    assert served.get("/", "localhost:1")[0] == 200
    assert served.get("/", "evil.example")[0] == 403


def test_nothing_without_the_token(served: World) -> None:
    """Other users of the machine reach the port, too; the page shows the models' SQL."""
    token = served.server.token
    assert urlsplit(served.server.url).path == f"/{token}/"
    assert len(token) >= 32
    for path in (
        "/",
        "/version",
        f"/{token}",
        f"/{token[:-1]}/",
        f"/{token}x/",
        f"/{token.swapcase()}/",
        f"/x/../{token}/",
        f"/?/{token}/",
        "/%C3%BC/",
        "/great_expectations/docs/index.html",
    ):
        assert served.ask(path)[0] == 403, path
    assert served.made == 0
    # The page asks for what lies beside itself: behind the token.
    assert 'fetch("./"' in served.get("/")[1]
    assert 'fetch("/' not in served.get("/")[1]
    assert served.ask(f"/{token}/", "[evil")[0] == 403
    assert served.ask(f"/{token}/", "evil.example")[0] == 403
    other = Server(served.make, lambda: "1", served.folder / "target")
    assert other.token != token
    other._http.server_close()


def test_who_breaks_off_writes_nothing_to_the_terminal(
    served: World, capfd: pytest.CaptureFixture[str]
) -> None:
    """A tab that is closed while the page is made; and names that no file can have."""
    place = served.server._http.server_address
    for path in ("", f"/{served.server.token}/"):
        client = socket.create_connection(("127.0.0.1", place[1]))
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n".encode())
        client.sendall(b"\r\n" if path else b"")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    for name in ("/%00", f"/{'x' * 3000}", "/%ff/.."):
        assert served.get(name)[0] == 404
    assert served.get("/")[0] == 200
    assert capfd.readouterr().err == ""


def test_made_anew_only_when_something_changed(served: World) -> None:
    assert served.get("/version") == (200, "1")
    served.get("/")
    served.get("/")
    assert served.made == 1
    served.version = 2
    assert served.get("/version") == (200, "2")
    assert served.made == 2


def test_a_failure_is_told_and_passes(served: World) -> None:
    served.broken = True
    assert served.get("/") == (500, "the warehouse is away")
    served.broken = False
    assert served.get("/")[0] == 200


def test_only_linked_documentation_is_served(served: World) -> None:
    target = served.folder / "target"
    assert served.get("/")[0] == 200
    assert served.get("/manifest.json")[0] == 404
    docs = target / "great_expectations/docs"
    docs.mkdir(parents=True)
    (docs / "index.html").write_text("the docs")
    (docs / "page two.css").write_text("p {}")
    (target / "great_expectations/secret.json").write_text("{}")
    (docs / "way_out").symlink_to(target / "manifest.json")
    served.version = 2
    assert 'href="great_expectations/docs/index.html"' in served.get("/")[1]
    assert served.get("/great_expectations/docs/index.html") == (200, "the docs")
    assert served.get("/great_expectations/docs/page%20two.css")[0] == 200
    for path in (
        "/great_expectations/secret.json",
        "/great_expectations/docs/../secret.json",
        "/great_expectations/docs/%2e%2e/secret.json",
        "/great_expectations/docs/way_out",
        "/great_expectations/docs",
        "//etc/passwd",
        "/../../../../../../etc/passwd",
    ):
        assert served.get(path)[0] == 404, path


def test_news_come_in_without_losing_place(served: World, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 800, "height": 500})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(served.server.url)
    heading = page.get_by_role("heading", level=1)
    assert "The one model is well." in heading.inner_text()
    page.locator("details.model > summary").click()
    page.evaluate("window.scrollTo(0, 400)")
    place = page.evaluate("window.scrollY")
    assert place > 0
    fail(served.rows, 1, "<script>alert(1)</script> it broke")
    served.version = 2
    expect(heading).to_contain_text("1 of 1 model is not well.", timeout=20_000)
    assert page.title().startswith("✕")
    assert page.locator("details.model").get_attribute("open") is not None
    assert page.evaluate("window.scrollY") > 0
    status = page.get_by_role("status")
    assert "1 of 1 model is not well." in status.inner_text()
    assert complaints == []
    page.close()
