"""Webhooks against a server that works, fails, hangs, redirects and asks to wait."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.delivery.hostile import Talk, hostile_server
from tests.delivery.servers import Http, http_server
from tests.delivery.world import World

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def server() -> Iterator[Http]:
    with http_server() as state:
        yield state


def hook(server: Http, **more: Any) -> dict[str, Any]:
    return {"name": "ops", "to": "webhook", "url": server.url, **more}


def test_signed_and_as_the_engine_wrote_it(
    world: World, server: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    monkeypatch.setenv("HOOK_TOKEN", "Bearer hunter2")
    world.create(
        hook(
            server,
            secret_env="HOOK_SECRET",
            headers={"x-team": "us"},
            headers_env={"Authorization": "HOOK_TOKEN"},
        )
    ).deliver()
    world.run(20, (2, 12.5), (3, 15))
    assert world.one().rows == 2
    ((headers, body),) = server.requests
    assert (headers["x-team"], headers["authorization"]) == ("us", "Bearer hunter2")
    sent = json.loads(body)
    assert (sent["model"], sent["sink"], sent["batch"], sent["count"]) == ("model", "ops", 1, 2)
    assert (sent["after"], sent["until"]) == (
        "2026-01-01T00:00:10+00:00",
        "2026-01-01T00:00:20+00:00",
    )
    assert [(row["id"], row["who"]) for row in sent["rows"]] == [(2, "w2"), (3, "w3")]
    signed = b".".join(
        (headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body)
    )
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    right = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{right}"
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60


def test_it_is_tried_again_and_known_by_its_id(world: World, server: Http) -> None:
    world.create(hook(server, attempts=5)).deliver()
    world.run(20, (2, 12))
    server.script = [500, "drop", (429, 0.05), 503]
    outcome = world.one()
    assert (outcome.error, outcome.rows) == ("", 1)
    assert server.ids == [[2]] * 5
    assert len({headers["webhook-id"] for headers, _ in server.requests}) == 1


def test_one_that_is_down_loses_nothing(world: World, server: Http) -> None:
    world.create(hook(server, attempts=2)).deliver()
    world.run(20, (2, 12))
    server.script = [500, 500]
    assert world.one().error == "127.0.0.1 answered 500"
    world.run(30, (3, 25))
    server.script = [500, 502]
    assert world.one().error == "127.0.0.1 answered 502"
    world.run(40, (4, 35))
    outcome = world.one()
    assert (outcome.error, outcome.rows, outcome.batches) == ("", 3, 2)
    assert server.ids[4:] == [[2], [3, 4]]
    assert world.one().batches == 0


@pytest.mark.parametrize(("status", "reason"), [(400, "400"), (404, "404"), (302, "302")])
def test_what_trying_again_does_not_help(
    world: World, server: Http, status: int, reason: str
) -> None:
    world.create(hook(server)).deliver()
    world.run(20, (2, 12))
    server.script = [status]
    assert world.one().error == f"127.0.0.1 answered {reason}"
    assert len(server.requests) == 1  # nor was the redirect followed
    assert world.one().rows == 1


def test_one_that_hangs_keeps_nobody_waiting(world: World, server: Http) -> None:
    world.create(
        hook(server, timeout="200 milliseconds", attempts=2),
        {"name": "archive", "to": "file", "path": "out"},
        {"name": "copied", "to": "table", "table": "copy"},
    ).deliver()
    world.run(20, (2, 12))
    server.script = ["hang", "hang"]
    began = time.monotonic()
    ops, archive, copied = world.deliver()
    assert time.monotonic() - began < 3
    assert ops.error == "127.0.0.1 did not answer within 0.2 s"
    assert (archive.rows, copied.batches) == (1, 1)
    assert world.files() == [[2]]
    assert world.deliver()[0].rows == 1


def test_patience(world: World, server: Http, monkeypatch: pytest.MonkeyPatch) -> None:
    """No wait goes beyond it, however long a server asks for."""
    world.create(hook(server, patience="1 second", attempts=9)).deliver()
    world.run(20, (2, 12))
    server.script = [(503, 3600)] * 9
    began = time.monotonic()
    assert world.one().error == "127.0.0.1 answered 503"
    assert time.monotonic() - began < 2
    assert len(server.requests) == 1


def test_parts_that_arrived_are_not_sent_again(world: World, server: Http) -> None:
    world.create(hook(server, rows_per_request=2, attempts=1)).deliver()
    world.run(20, *((i, 10 + i / 10) for i in range(2, 7)))
    server.script = [200, 200, 500]
    assert world.one().error == "127.0.0.1 answered 500"
    assert world.one().rows == 5
    assert server.ids == [[2, 3], [4, 5], [6], [6]]
    ids = [headers["webhook-id"] for headers, _ in server.requests]
    assert len(set(ids)) == 3
    assert ids[2] == ids[3]


def test_nobody_there(world: World) -> None:
    with http_server() as server:
        url = server.url
    world.create({"name": "ops", "to": "webhook", "url": url, "attempts": 2}).deliver()
    world.run(20, (2, 12))
    assert world.one().error == "127.0.0.1 cannot be reached"


def test_tls_is_checked(world: World, certificate: Path) -> None:
    with http_server(certificate) as server:
        world.create(hook(server)).deliver()
        world.run(20, (2, 12))
        assert "is its certificate to trust?" in world.one().error
        assert server.requests == []
        world.sinks = (hook(server, ca_file=str(certificate)),)
        assert world.one().rows == 1


def test_secrets_are_in_no_message_and_no_table(
    world: World, server: Http, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HOOK_URL", server.url)
    monkeypatch.setenv("HOOK_SECRET", "hunter2")
    caplog.set_level("DEBUG")
    sink = {"name": "ops", "to": "webhook", "url_env": "HOOK_URL", "secret_env": "HOOK_SECRET"}
    world.create({**sink, "attempts": 1}).deliver()
    world.run(20, (2, 12))
    server.script = [500, 400, "drop"]
    errors = [world.one().error for _ in range(3)]
    monkeypatch.setenv("HOOK_URL", server.url.replace("http://", "nothing://"))
    errors.append(world.one().error)
    monkeypatch.setenv("HOOK_URL", "http://[broken/s3cret-path")
    errors.append(world.one().error)
    monkeypatch.delenv("HOOK_SECRET")
    errors.append(world.one().error)
    assert all(errors)
    assert "the environment variable HOOK_SECRET is not set" in errors[-1]
    written = "\n".join(world.session.texts)
    for text in (*errors, written):
        assert "hunter2" not in text
        assert "s3cret-path" not in text
    assert "hunter2" not in caplog.text


def test_no_credentials_but_those_that_are_named(
    world: World, server: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A .netrc of the user's is for other programs; those in a secret address are meant."""
    (world.root / "netrc").write_text("machine 127.0.0.1 login me password hunter2\n")
    (world.root / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(world.root / "netrc"))
    monkeypatch.setenv("HOOK_TOKEN", "Bearer mine")
    world.create(hook(server), hook(server, name="b", headers_env={"Authorization": "HOOK_TOKEN"}))
    world.deliver()
    world.run(20, (2, 12))
    assert [one.error for one in world.deliver()] == ["", ""]
    sent = sorted(headers.get("authorization", "") for headers, _ in server.requests)
    assert sent == ["", "Bearer mine"]
    monkeypatch.setenv("HOOK_URL", server.url.replace("//", "//you:pw@"))
    world.sinks = ({"name": "ops", "to": "webhook", "url_env": "HOOK_URL"},)
    world.run(30, (3, 25))
    assert world.one().rows == 1
    assert server.requests[-1][0]["authorization"] == "Basic eW91OnB3"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_of_the_environment(
    world: World, server: Http, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    """It is used, and bounded like every server."""

    def tunnel(talk: Talk) -> None:
        talk.hear(b"\r\n\r\n")
        talk.drip(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 999)

    with hostile_server(tunnel) as slow:
        where = server.url if scheme == "http" else slow.url
        monkeypatch.setenv(f"{scheme}_proxy", where.rpartition("/hook")[0])
        monkeypatch.delenv("no_proxy", raising=False)
        url = f"{scheme}://hook.example/x"
        times = {"timeout": "200 milliseconds", "patience": "300 milliseconds"}
        times = times if scheme == "https" else {}
        world.create({"name": "ops", "to": "webhook", "url": url, **times}).deliver()
        world.run(20, (2, 12))
        outcome = world.one()
        if scheme == "http":
            assert (outcome.error, outcome.rows) == ("", 1)
            assert server.requests[0][0]["host"] == "hook.example"
        else:
            assert outcome.error.startswith("hook.example did not answer within")
            assert slow.connections >= 1
