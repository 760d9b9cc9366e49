"""Whatever stands in a row is text in a mail, a file, a request: it adds nothing to them."""

from __future__ import annotations

import email
import email.policy
import json
import re
from datetime import datetime, timezone
from email.header import decode_header, make_header
from email.message import Message
from email.utils import getaddresses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.delivery.servers import http_server, mail_server
from tests.delivery.test_mail import mail
from tests.delivery.world import World

from tapestry.delivery.addresses import parse_addresses
from tapestry.delivery.batch import Delivery
from tapestry.delivery.cursors import Batch
from tapestry.delivery.declare import MailSink, parse_sinks
from tapestry.delivery.message import as_sent, message_of, recipients_of
from tapestry.delivery.rows import AnswersToSend
from tapestry.delivery.send import send_file
from tapestry.delivery.send_webhook import body_of
from tapestry.delivery.visible_text import file_name, many_lines, one_line
from tapestry.errors import ConfigurationError

AT = datetime(2026, 1, 1, tzinfo=timezone.utc)
HEADERS = [
    "auto-submitted",
    "content-transfer-encoding",
    "content-type",
    "date",
    "from",
    "message-id",
    "mime-version",
    "subject",
    "to",
]
WORD = "=?utf-8?q?x=0D=0ABcc:_evil@example.org=0D=0A=0D=0Abody?="
DOUBLE = "=?utf-8?b?PT91dGYtOD9xP3g9MEQ9MEFCY2M6X2VAeD89?="
HOSTILE = [
    WORD,
    DOUBLE,
    f"{WORD} {WORD}",
    f"so {WORD}so",
    "=?utf-8?q?a?=\t=?utf-8?q?=0D=0ABcc:_e@x?=",
    "=?us-ascii?q?=0AReply-To:_e@x?=",
    "=?unknown?q?x?=",
    "=?utf-8?b?////?=",
    "x\r\nBcc: evil@example.org\r\n\r\nbody",
    "x\nBcc: evil@example.org",
    "x\rBcc: evil@example.org",
    "x\x85Bcc: e\u2028Reply-To: e\u2029\x0bTo: e\x0cTo: e\x1cTo: e",
    "\x00\x1b[2J\x7f\udfff\ud800\u202egnp.exe",
    "evil@example.org, other@example.org;<a@b>",
    '"quoted" <evil@example.org>',
    "[[ rows ]] [% for x in rows %] {{ 1 }}",
    ".\r\n.\r\nQUIT\r\nMAIL FROM:<e@x>",
    "From someone\n>From",
    "--boundary\r\nContent-Type: text/html\r\n\r\n<script>",
    "ü" * 700,
    "a" * 2000,
    " leading and trailing ",
    "",
]


def delivery_of(value: str, name: str = "model") -> Delivery:
    batch = Batch("s.model", "news", 1, "g", AT, AT, "life")
    answers = AnswersToSend("s.model", (("v", "string"),), AT, AT)
    return Delivery(batch, answers, [json.dumps({"v": value})], Path(), name)


def sink_of(**more: Any) -> MailSink:
    declared = {
        "name": "news",
        "to": "mail",
        "host": "h",
        "sender": "Us <us@example.org>",
        "recipients": ["one@example.org", "Two <two@example.org>"],
        "subject": "[[ row.v ]]",
        "body": "[[ row.v ]]|end",
    }
    (sink,) = parse_sinks([declared | more])
    assert isinstance(sink, MailSink)
    return sink


def shown(value: str) -> str:
    """How a value is to be read in the subject: as it is, but visible and on one line."""
    text = re.sub(" +", " ", one_line(value)).strip(" ")
    return text if len(text) <= 500 else text[:500] + "…"


def unfolded(header: str) -> str:
    return re.sub(r"\r?\n(?=[ \t])", "", header)


hostile = st.lists(
    st.one_of(
        st.sampled_from(HOSTILE),
        st.sampled_from(["\r", "\n", "\r\n ", "=?", "?=", "=?utf-8?q?", "=0D=0A", "\0", "\u2028"]),
        st.text(st.characters(), max_size=40),
    ),
    max_size=5,
).map("".join)


def examples(function: Any) -> Any:
    for text in HOSTILE:
        function = example(text)(function)
    return function


@examples
@settings(max_examples=40, deadline=None)
@given(hostile)
def test_a_value_in_a_mail(value: str) -> None:
    sink = sink_of()
    raw = as_sent(message_of(sink, delivery_of(value), 0, delivery_of(value).rows))
    assert raw.isascii()
    assert b"\r" not in raw.replace(b"\r\n", b"")
    assert b"\n" not in raw.replace(b"\r\n", b"")
    assert all(len(line) <= 998 for line in raw.split(b"\r\n"))
    head, _, _ = raw.partition(b"\r\n\r\n")
    names = re.findall(rb"^([!-9;-~]+):", head, re.MULTILINE)
    assert sorted(name.decode().lower() for name in names) == HEADERS
    text = many_lines(value)
    for policy in (email.policy.compat32, email.policy.default, email.policy.SMTP):
        message: Message[Any, Any] = email.message_from_bytes(raw, policy=policy)
        assert sorted(name.lower() for name in message) == HEADERS
        assert not message.is_multipart()
        assert message.get_content_type() == "text/plain"
        assert not message.defects
        body = message.get_payload(decode=True)
        assert isinstance(body, bytes)
        assert body.decode().replace("\r\n", "\n") == f"{text}|end"
        to = [at for _, at in getaddresses([str(message["to"])])]
        assert to == ["one@example.org", "two@example.org"]
    new = email.message_from_bytes(raw, policy=email.policy.default)
    old = email.message_from_bytes(raw, policy=email.policy.compat32)
    subject = unfolded(old["subject"])
    assert str(make_header(decode_header(subject))) == shown(value)
    assert str(new["subject"]) == shown(value)
    assert recipients_of(sink) == ["one@example.org", "two@example.org"]


def test_what_a_server_gets(world: World) -> None:
    """Envelope and message as another program's server reads them."""
    texts = [re.sub("[\0\ud800-\udfff]", "", value) for value in HOSTILE]
    with mail_server() as box:
        world.create(mail(box, digest=False, subject="[[ row.who ]]", body="[[ row.who ]]"))
        world.deliver()
        world.run(20)
        world.session.connection.executemany(
            "INSERT INTO db.model VALUES (?, ?, TIMESTAMP '2026-01-01 00:00:15+00:00')",
            [[number, text] for number, text in enumerate(texts)],
        )
        assert world.one().error == ""
        assert box.recipients == [["one@example.org", "two@example.org"]] * len(texts)
        for message in box.messages:
            assert sorted(name.lower() for name in message if name[:2] != "X-") == HEADERS
            assert not message.is_multipart()
        found = [str(make_header(decode_header(unfolded(one["subject"])))) for one in box.messages]
        assert sorted(found) == sorted(map(shown, texts))


@pytest.mark.parametrize("value", HOSTILE)
def test_default_texts(value: str) -> None:
    """No line of a value looks like another column, or another row."""
    delivery = delivery_of(f"a\nid: 5\n{value}\r\nlast: 1")
    message = message_of(sink_of(subject="", body=""), delivery, 0, delivery.rows)
    assert message["subject"] == "model: 1 new row"
    body = message.get_payload(decode=True)
    assert isinstance(body, bytes)
    assert [line for line in body.decode().split("\n") if line and line[0] != " "] == ["v: a"]


def test_a_mail_too_long_is_cut_and_says_so() -> None:
    """Else a server refuses it each time, and the sink waits for ever."""
    delivery = delivery_of("ab" * 1_000_000)
    body = message_of(sink_of(), delivery, 0, delivery.rows).get_payload(decode=True)
    assert isinstance(body, bytes)
    assert len(body) < 1_000_200
    assert "the rest is left out" in body.decode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no address",
        "a@",
        "@b",
        "a@b@c",
        "a b@example.org",
        "a@exa mple.org",
        "a@example.org\nBcc: c@d",
        "a@example.org\r\n",
        "x <a@b> <c@d>",
        "<a@b>, <",
        "Ann <a@b> (c@d)",
        "a@b>, <c@d",
        "Ann: a@b;",
        '"x\r\nBcc: e" <a@b>',
        "x\x00 <a@b>",
        "jörg@example.org",
        "a@exam\u2028ple.org",
        "a@xn--\ud800",
    ],
)
@pytest.mark.parametrize("key", ["sender", "recipients"])
def test_what_is_no_address(key: str, text: str) -> None:
    if text.endswith("\r\n") or (key == "recipients" and text == "<a@b>, <"):
        text += "x"
    with pytest.raises(ConfigurationError, match=f"{key}"):
        sink_of(**{key: text if key == "sender" else [text]})


def test_addresses() -> None:
    found = parse_addresses(
        ['Ann <a@x.org>, "Doe, Bob" <b@bücher.example>', "c+d@x.org", "Jörg =?a?q?b?= <e@x.org>"],
        "recipients",
    )
    assert [one.at for one in found] == [
        "a@x.org",
        "b@xn--bcher-kva.example",
        "c+d@x.org",
        "e@x.org",
    ]
    sink = sink_of(recipients=['"Doe, =?utf-8?q?x=0D=0ABcc:_e?=" <a@x.org>', "Jörg <b@x.org>"])
    raw = as_sent(message_of(sink, delivery_of("x"), 0, delivery_of("x").rows))
    to = email.message_from_bytes(raw, policy=email.policy.default)["to"].addresses
    assert [(one.display_name, one.addr_spec) for one in to] == [
        ("Doe, =?utf-8?q?x=0D=0ABcc:_e?=", "a@x.org"),
        ("Jörg", "b@x.org"),
    ]


@examples
@settings(max_examples=40, deadline=None)
@given(hostile)
def test_a_name_of_a_file(name: str) -> None:
    made = file_name(name)
    assert made
    assert made not in (".", "..")
    assert not re.search(r"[/\\\x00-\x1f\x7f]", made)
    assert not made.startswith(".")
    assert len(made.encode()) <= 150


@pytest.mark.parametrize(
    "name", ["../../up", "/abs", "a/b", "..", ".hidden", "x\x00y", "a\nb", "ü" * 300]
)
def test_files_stay_in_their_folder(tmp_path: Path, name: str) -> None:
    (sink,) = parse_sinks([{"name": "f", "to": "file", "path": "deep/out"}])
    delivery = delivery_of("x", name)
    object.__setattr__(delivery, "root", tmp_path)
    path = send_file(sink, delivery)  # type: ignore[arg-type]
    assert path.resolve().parent == tmp_path / "deep/out"
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == [path]


def test_no_link_is_followed_and_no_pipe_waited_for(tmp_path: Path) -> None:
    import os

    (sink,) = parse_sinks([{"name": "f", "to": "file", "path": "out"}])
    delivery = delivery_of("x")
    object.__setattr__(delivery, "root", tmp_path)
    path = send_file(sink, delivery)  # type: ignore[arg-type]
    (tmp_path / "victim").write_text("mine")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.symlink_to(tmp_path / "victim")
    path.unlink()
    path.symlink_to(tmp_path / "victim")
    assert send_file(sink, delivery) == path  # type: ignore[arg-type]
    assert (tmp_path / "victim").read_text() == "mine"
    assert not path.is_symlink()
    os.mkfifo(partial)
    assert send_file(sink, delivery) == path  # type: ignore[arg-type]


@examples
@settings(max_examples=40, deadline=None)
@given(hostile)
def test_a_value_in_a_request(value: str) -> None:
    delivery = delivery_of(value)
    sent = json.loads(body_of(delivery, 0, delivery.rows))
    assert sent["rows"] == [{"v": value}]
    assert sent["count"] == 1
    assert list(sent) == ["id", "model", "sink", "batch", "part", "after", "until", "count", "rows"]


def test_headers_of_a_request(world: World) -> None:
    with http_server() as server:
        sink = {"name": "ops", "to": "webhook", "url": server.url, "attempts": 1}
        world.create(sink).deliver()
        world.run(20, (2, 15))
        for value in ("a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\n", "a\r\n b", "a\x00b"):
            world.monkeypatch.setenv("HOOK_HEADER", value.replace("\x00", "\n"))
            for more in (
                {"headers": {"x-team": value}},
                {"headers": {value: "x"}},
                {"headers_env": {"x-team": "HOOK_HEADER"}},
            ):
                world.sinks = ({**sink, **more},)
                try:
                    error = world.one().error
                except ConfigurationError as raised:
                    error = str(raised)
                assert "header" in error.lower(), (value, more)
        assert server.requests == []
        for url in ("\r\nX-Evil: 1", " HTTP/1.1\r\nX-Evil: 1\r\n\r\n", "\x00", "\u2028"):
            with pytest.raises(ConfigurationError, match="not an address"):
                parse_sinks([{**sink, "url": server.url + url}])
            world.monkeypatch.setenv("HOOK_URL", (server.url + url).replace("\x00", "\n"))
            del (kept := {**sink, "url_env": "HOOK_URL"})["url"]
            world.sinks = (kept,)
            assert world.one().error == "HOOK_URL does not hold the address of a webhook"
        assert server.requests == []
