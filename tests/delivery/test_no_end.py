"""Whatever a server does, a sink takes no longer than its time-out, and a run than its patience."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.delivery.hostile import Hostile, Talk, hostile_server, smtp
from tests.delivery.servers import http_server, mail_server
from tests.delivery.test_mail import mail
from tests.delivery.world import World

from tapestry.delivery import deliver as module
from tapestry.delivery.exchange import within
from tapestry.delivery.retry import Unavailable

SLOW = "did not answer within"
OK = b"250 fine\r\n"
READY = b"HTTP/1.1 200 OK\r\n"


def http(behaviour: Callable[[Talk], None]) -> Callable[[Talk], None]:
    """The same, once the request has come."""

    def after(talk: Talk) -> None:
        talk.hear(b'"rows": [')
        behaviour(talk)

    return after


def redirect(talk: Talk) -> None:
    talk.say(b"HTTP/1.1 302 Found\r\nLocation: /on\r\nContent-Encoding: gzip\r\n\r\n")
    talk.flood(b"x" * 65536)


def not_read(talk: Talk) -> None:
    assert not talk.server.over.wait(0.5)
    talk.wait()


def last_answer(talk: Talk) -> None:
    smtp(talk, OK, OK, OK, OK, b"354 go ahead\r\n")
    talk.hear(b"\r\n.\r\n")
    talk.drip(b"250-" + b"x" * 4000)


HTTP = {
    "a byte now and then": (http(lambda talk: talk.drip(b"HTTP/1.1 200 " + b"O" * 4000)), SLOW),
    "headers, byte by byte": (http(lambda talk: talk.drip(READY + b"a: b\r\n" * 999)), SLOW),
    "nothing": (http(lambda talk: talk.wait()), SLOW),
    "continue without end": (http(lambda talk: talk.flood(b"HTTP/1.1 100 Continue\r\n\r\n")), SLOW),
    "a request that is not read": (not_read, SLOW),
    "headers without end": (
        http(lambda talk: talk.flood(READY + b"a: b\r\n" * 999)),
        "too many headers",
    ),
    "a header without end": (
        http(lambda talk: talk.say(READY) or talk.flood(b"a" * 9999)),
        "did not answer in HTTP",
    ),
    "a status without end": (http(lambda talk: talk.flood(b"H" * 9999)), "did not answer in HTTP"),
    "a redirect without end": (http(redirect), "answered 302"),
}
SMTP = {
    "a greeting, byte by byte": (lambda talk: talk.drip(b"220-" + b"x" * 4000), SLOW),
    "a greeting without end": (lambda talk: talk.flood(b"220-hello\r\n" * 999), "no mail server"),
    "a line without end": (lambda talk: talk.flood(b"2" * 9999), "Line too long"),
    "nothing": (lambda talk: talk.wait(), SLOW),
    "features without end": (
        lambda talk: smtp(talk) or (talk.hear(b"\r\n") and talk.flood(b"250-X\r\n" * 999)),
        "no mail server",
    ),
    "the last answer, byte by byte": (last_answer, SLOW),
}
TLS = {
    "no handshake": lambda talk: talk.wait(),
    "a handshake, byte by byte": lambda talk: talk.drip(b"\x16\x03\x03\x40\x00" + b"\x00" * 16384),
}


def delivered(world: World, state: Hostile, slow: bool = True, **sink: Any) -> str:
    """The error of a sink, which comes in time, and closes the connection.

    One that is not slow is told by what it says, and gets time to say it.
    """
    times = {"timeout": "150 milliseconds", "patience": "350 milliseconds"}
    world.create({"name": "ops", **(times if slow else {"timeout": "9 seconds"}), **sink})
    world.deliver()
    world.run(20, (2, 12))
    began = time.monotonic()
    error = world.one().error
    assert time.monotonic() - began < (3 if slow else 9)
    deadline = time.monotonic() + 2
    while len(state.closed) < state.connections and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(state.closed) == state.connections > 0, "a connection was left open"
    assert state.said < 20_000_000
    return error


@pytest.mark.parametrize("name", HTTP)
def test_webhooks(world: World, name: str) -> None:
    behaviour, error = HTTP[name]
    with hostile_server(behaviour) as state:
        attempts = 2 if error == SLOW else 1
        if name == "a request that is not read":
            # Of 40 MB not all fits into the buffers of the system.
            world.monkeypatch.setattr(
                "tapestry.delivery.send_webhook.body_of", lambda *_: b"x" * 40_000_000
            )
        found = delivered(
            world, state, to="webhook", url=state.url, attempts=attempts, slow=error == SLOW
        )
        assert error in found


def test_an_answer_without_end_is_an_answer(world: World) -> None:
    def answer(talk: Talk) -> None:
        talk.say(READY + b"\r\n")
        talk.flood(b"x" * 65536)

    with hostile_server(http(answer)) as state:
        assert delivered(world, state, to="webhook", url=state.url) == ""


@pytest.mark.parametrize("name", SMTP)
def test_mail(world: World, name: str) -> None:
    behaviour, error = SMTP[name]
    with hostile_server(behaviour) as state:
        found = delivered(world, state, error == SLOW, to="mail", **without_name(state))
        assert error in found


def test_what_was_perhaps_taken_is_sent_again_under_its_id(world: World) -> None:
    """The answer comes too late: nobody knows what became of the mail, but it has its id."""
    with mail_server() as box:
        world.create(mail(box, timeout="150 milliseconds", patience="200 milliseconds")).deliver()
        world.run(20, (2, 12))
        box.wait = 0.4
        assert SLOW in world.one().error
        box.wait = 0.0
        world.run(30, (3, 25))
        world.sinks = (mail(box),)
        assert world.one().rows == 2
        ids = [message["Message-ID"] for message in box.messages]
        assert len(ids) in (2, 3)
        assert len(set(ids)) == 2
        assert ids[:-1] == ids[:1] * (len(ids) - 1)


def test_what_a_server_says_does_nothing_to_the_terminal(world: World) -> None:
    with mail_server() as box:
        world.create(mail(box)).deliver()
        world.run(20, (2, 12))
        box.script = ["554 \x1b[2J\x07no"]
        assert "554 ␛[2J␇no" in world.one().error


def without_name(state: Any, **more: Any) -> dict[str, Any]:
    sink = mail(state, **more)
    return {key: value for key, value in sink.items() if key not in ("name", "to")}


@pytest.mark.parametrize("name", TLS)
@pytest.mark.parametrize("kind", ["webhook", "implicit", "starttls"])
def test_handshakes(world: World, kind: str, name: str) -> None:
    def behaviour(talk: Talk) -> None:
        if kind == "starttls":
            smtp(talk, b"250-me\r\n250 STARTTLS\r\n", b"220 go ahead\r\n")
        TLS[name](talk)

    with hostile_server(behaviour) as state:
        if kind == "webhook":
            sink = {"to": "webhook", "url": state.url.replace("http:", "https:"), "attempts": 2}
        else:
            sink = {"to": "mail", **without_name(state, tls=kind)}
        assert SLOW in delivered(world, state, **sink)


def test_goodbye_is_not_waited_for(world: World) -> None:
    """A mail that was taken is taken, whatever the server says to QUIT: it is not sent twice."""
    with mail_server() as box:
        box.quits = "421 I do not want to"
        world.create(mail(box)).deliver()
        world.run(20, (2, 12))
        assert world.one().rows == 1
        assert world.one().batches == 0
        assert len(box.messages) == 1


@pytest.mark.parametrize("kind", ["webhook", "mail"])
def test_a_name_that_is_looked_up_for_ever(world: World, kind: str) -> None:
    """The look-up is left behind. When it is over at last, nothing is sent any more."""
    over, look_up = threading.Event(), socket.getaddrinfo

    def slow(host: Any, *more: Any, **named: Any) -> Any:
        over.wait(30)
        return look_up("127.0.0.1", *more, **named)

    with http_server() as server, mail_server() as box:
        url = server.url.replace("127.0.0.1", "slow.example")
        sinks = {
            "webhook": {"name": "ops", "to": "webhook", "url": url, "attempts": 2},
            "mail": mail(box, host="slow.example"),
        }
        world.create({**sinks[kind], "timeout": "150 milliseconds", "patience": "350 milliseconds"})
        world.deliver()
        world.run(20, (2, 12))
        with world.monkeypatch.context() as patched:
            patched.setattr("socket.getaddrinfo", slow)
            began = time.monotonic()
            assert SLOW in world.one().error
            assert time.monotonic() - began < 3
            left = [one for one in threading.enumerate() if one.name.startswith("delivery")]
            assert left
            assert all(one.daemon for one in left)
            over.set()
            for one in left:
                one.join(5)
            assert (server.requests, box.messages) == ([], [])
            assert world.one().rows == 1


def test_patience_is_shorter_than_a_timeout(world: World) -> None:
    with hostile_server(lambda talk: talk.wait()) as state:
        world.create(
            {"name": "ops", "to": "webhook", "url": state.url, "patience": "300 milliseconds"},
            mail(state, patience="300 milliseconds", timeout="1 hour"),
            {"name": "archive", "to": "file", "path": "out"},
        ).deliver()
        world.run(20, (2, 12))
        began = time.monotonic()
        ops, news, archive = world.deliver()
        assert time.monotonic() - began < 3
        assert SLOW in ops.error
        assert SLOW in news.error
        assert archive.rows == 1


def test_a_sink_that_is_stuck_is_left_behind(world: World) -> None:
    """A file system that does not answer, say: nothing interrupts a thread in it."""
    over = threading.Event()
    write = module.send

    def stuck(*args: Any) -> Any:
        over.wait(30)
        return write(*args)

    file = {"name": "archive", "to": "file", "path": "out"}
    world.create({**file, "patience": "200 milliseconds"}, {**file, "name": "b", "path": "two"})
    world.deliver()
    world.run(20, (2, 12))
    world.monkeypatch.setattr(
        module,
        "send",
        lambda sink, *more: (stuck if sink.name == "archive" else write)(sink, *more),
    )
    began = time.monotonic()
    archive, other = world.deliver()
    assert time.monotonic() - began < 3
    assert archive.error == "still under way after 0.2 s, and left alone"
    assert (other.error, other.rows) == ("", 1)
    world.run(30, (3, 25))
    archive, other = world.deliver()
    assert archive.error == "an earlier delivery to it is still stuck in this process"
    assert other.rows == 1
    over.set()
    ((stuck_one),) = module._stuck.values()
    assert "not written in time" in stuck_one.result(5).error
    assert not list((world.root / "out").glob("*"))
    assert world.deliver()[0].rows == 2
    assert (world.files(), world.files("two")) == ([[2], [3]], [[2], [3]])
    assert not module._stuck


def test_a_process_ends_although_a_sink_is_stuck() -> None:
    code = (
        "import time\n"
        "from tapestry.delivery.exchange import in_background\n"
        "in_background(lambda: time.sleep(60), 'stuck')\n"
        "print('over')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert (done.stdout, done.returncode) == ("over\n", 0)


def test_what_is_over_in_time_is_passed_on() -> None:
    assert within(1, "there", lambda _: "taken") == "taken"
    with pytest.raises(ZeroDivisionError):
        within(1, "there", lambda _: 1 / 0)
    with pytest.raises(Unavailable, match="there did not answer"):
        within(0.05, "there", lambda _: time.sleep(0.2))
