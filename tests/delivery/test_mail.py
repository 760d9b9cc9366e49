"""Mail against a server that works, refuses, hangs, asks for TLS and for a password."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.delivery.servers import Mailbox, mail_server
from tests.delivery.world import World

PASSWORD = "hunter2"


def mail(box: Mailbox, **more: Any) -> dict[str, Any]:
    return {
        "name": "news",
        "to": "mail",
        "host": "127.0.0.1",
        "port": box.port,
        "sender": "Us <us@example.org>",
        "recipients": ["one@example.org", "two@example.org"],
        "tls": "none",
        **more,
    }


def text(box: Mailbox, place: int = 0) -> str:
    return str(box.messages[place].get_payload(decode=True).decode())  # type: ignore[union-attr]


def test_a_digest(world: World) -> None:
    with mail_server() as box:
        world.create(mail(box)).deliver()
        world.run(20, (2, 12), (3, 15))
        assert world.one().rows == 2
        (message,) = box.messages
        assert message["Subject"] == "model: 2 new rows"
        assert message["From"] == "Us <us@example.org>"
        assert box.recipients == [["one@example.org", "two@example.org"]]
        assert "id: 2\nwho: w2" in text(box).replace("\r\n", "\n")
        assert "id: 3" in text(box)
        assert message["Message-ID"].endswith("-1-0@example.org>")
        world.run(30, *((i, 20 + i / 1000) for i in range(4, 254)))
        world.deliver()
        assert "… and 50 more" in text(box, 1)


def test_one_each_from_templates(world: World) -> None:
    (world.root / "news.txt").write_text(
        "[# ours #][% if row.id > 2 %]Look: [% endif %][[ row.who ]]"
    )
    with mail_server() as box:
        world.create(
            mail(box, digest=False, subject="[[ row.id ]]\nin [[ model ]]", body_file="news.txt")
        ).deliver()
        world.run(20, (2, 12), (3, 15))
        world.deliver()
        assert [message["Subject"] for message in box.messages] == ["2 in model", "3 in model"]
        assert [text(box, i).strip() for i in (0, 1)] == ["w2", "Look: w3"]
        assert len({message["Message-ID"] for message in box.messages}) == 2


def test_a_template_that_cannot_be_filled_in_waits(world: World) -> None:
    with mail_server() as box:
        world.create(mail(box, body="[[ rows[0].nothing ]]")).deliver()
        world.run(20, (2, 12))
        error = world.one().error
        assert "a template cannot be filled in" in error
        assert "nothing" in error
        world.sinks = (mail(box, body="[[ ''.__class__.__mro__ ]]"),)
        assert "a template cannot be filled in" in world.one().error
        world.sinks = (mail(box, body_file="gone.txt"),)
        assert "gone.txt cannot be read" in world.one().error
        world.sinks = (mail(box),)
        assert world.one().rows == 1


def test_what_passes_is_tried_again_and_what_does_not_waits(world: World) -> None:
    with mail_server() as box:
        world.create(mail(box)).deliver()
        world.run(20, (2, 12))
        box.script = ["451 try later"]
        assert world.one().rows == 1
        world.run(30, (3, 22))
        box.script = ["554 looks like spam"]
        assert "answered 554 looks like spam" in world.one().error
        assert len(box.messages) == 1
        assert world.one().rows == 1


def test_parts_that_arrived_are_not_sent_again(world: World) -> None:
    with mail_server() as box:
        world.create(mail(box, digest=False, subject="[[ row.id ]]")).deliver()
        world.run(20, (2, 12), (3, 15), (4, 16))
        box.script = []
        handle = box.handle_DATA

        async def only_one(server: Any, session: Any, envelope: Any) -> str:
            return "554 no" if box.messages else await handle(server, session, envelope)

        box.handle_DATA = only_one  # type: ignore[method-assign]
        assert "554" in world.one().error
        box.handle_DATA = handle  # type: ignore[method-assign]
        world.deliver()
        assert [message["Subject"] for message in box.messages] == ["2", "3", "4"]


def test_recipients_that_are_not_there(world: World) -> None:
    with mail_server() as box:
        box.unknown = {"two@example.org"}
        world.create(mail(box)).deliver()
        world.run(20, (2, 12))
        outcome = world.one()
        assert (outcome.rows, outcome.error) == (1, "")
        assert "took no mail for two@example.org" in outcome.warnings[0]
        box.unknown = {"one@example.org", "two@example.org"}
        world.run(30, (3, 25))
        assert "takes no mail for" in world.one().error


def test_a_server_that_hangs_or_is_not_there(world: World) -> None:
    with mail_server() as box:
        world.create(mail(box, timeout="200 milliseconds", patience="1 second")).deliver()
        world.run(20, (2, 12))
        box.wait = 0.6
        began = time.monotonic()
        assert "did not answer within 0.2 s" in world.one().error
        assert time.monotonic() - began < 4
        box.wait = 0.0
    assert "cannot be reached" in world.one().error


@pytest.mark.parametrize("tls", ["starttls", "implicit"])
def test_tls_and_a_password(
    world: World, certificate: Path, monkeypatch: pytest.MonkeyPatch, tls: str
) -> None:
    monkeypatch.setenv("MAIL_USER", "me")
    monkeypatch.setenv("MAIL_PASSWORD", PASSWORD)
    login = {"tls": tls, "user_env": "MAIL_USER", "password_env": "MAIL_PASSWORD"}
    with mail_server(certificate, tls == "implicit", PASSWORD) as box:
        world.create(mail(box, **login)).deliver()
        world.run(20, (2, 12))
        assert "certificate" in world.one().error
        assert box.messages == []
        world.sinks = (mail(box, **login, ca_file=str(certificate)),)
        monkeypatch.setenv("MAIL_PASSWORD", "wrong-one")
        error = world.one().error
        assert "535" in error
        assert "wrong-one" not in error
        monkeypatch.setenv("MAIL_PASSWORD", PASSWORD)
        assert world.one().rows == 1


def test_no_password_goes_where_there_is_no_tls(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL_USER", "me")
    monkeypatch.setenv("MAIL_PASSWORD", PASSWORD)
    login = {"tls": "starttls", "user_env": "MAIL_USER", "password_env": "MAIL_PASSWORD"}
    with mail_server() as box:
        world.create(mail(box, **login)).deliver()
        world.run(20, (2, 12))
        assert "does not offer what is needed" in world.one().error
        assert box.messages == []
