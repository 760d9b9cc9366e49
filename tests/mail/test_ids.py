"""Ids of messages: an address is none, whatever is written around it, and what is odd is said."""

from __future__ import annotations

import io
import time

import pytest

from tapestry.mail.content import read_content
from tapestry.mail.ids import answered_in, ids_in
from tapestry.mail.limits import MIB, MailboxReading
from tapestry.mail.parse import Parsed, parse_message

BARE = "has an id without angle brackets"
SPACE = "has white space in an id"
HTML = "has brackets that are escaped as in HTML"
BESIDE = "has an address beside the id"
ALONE = "seems to have an address alone: ann@a.example"

SPELLED = [
    ("<1@x.example>", ""),
    ("(a comment <0@x.example>) <1@x.example>", ""),
    ("<<1@x.example>>", ""),
    ("=?utf-8?q?=3C1=40x.example=3E?=", ""),
    ("< 1@x.example >", SPACE),
    ("<1\r\n\t@x.example>", SPACE),
    ("1@x.example", BARE),
    ("<1@x.example", BARE),
    ("&lt;1@x.example&gt;", HTML),
    ("&LT;1@x.example&#62;", HTML),
]


def _parse(*headers: str) -> Parsed:
    message = "\n".join(headers).encode() + b"\n\n"
    return parse_message(read_content(io.BytesIO(message), MailboxReading()), "box", 0)


def _doubts(parsed: Parsed) -> list[str]:
    return [what for kind, what in parsed.doubts if kind == "ids"]


@pytest.mark.parametrize(("written", "doubt"), SPELLED)
@pytest.mark.parametrize("name", ["Message-ID", "References", "In-Reply-To"])
def test_an_id_is_the_same_in_every_spelling_and_header(
    name: str, written: str, doubt: str
) -> None:
    parsed = _parse(f"{name}: {written}")
    read = parsed.row.msgid if name == "Message-ID" else parsed.row.inreplyto
    assert read == "1@x.example"
    assert parsed.id_made_up == (name != "Message-ID")
    assert _doubts(parsed) == ([f"its {name} {doubt}"] if doubt else [])


@pytest.mark.parametrize(
    ("written", "ids", "doubt"),
    [
        ('Message from Ann <ann@a.example> of "Mon, 5 Jan 1995" <1@x>', ["1@x"], BESIDE),
        ('Message from "Ann of A 1" <ann@a.example> of "Mon" <1@x>', ["1@x"], BESIDE),
        ("Message by <ann@a.example>, Monday; <1@x>", ["1@x"], BESIDE),
        ("<1@x> from Ann <ann@a.example> at Jan 5, 95 04:00:00 pm", ["1@x"], BESIDE),
        ("Ann <ann@a.example>'s message of Monday <1@x>", ["1@x"], BESIDE),
        ("ann <ann@a.example> wrote <1@x>", ["1@x"], BESIDE),
        ('"Ann" <ann@a.example>, <1@x>', ["1@x"], BESIDE),
        ('<1@x> from "Ann Smith" at Jan 5, 95 04:00:00 pm', ["1@x"], ""),
        ('<1@x> (Ann <ann@a.example>\'s message of "Monday")', ["1@x"], ""),
        ('Your message of "Mon, 5 Jan 95 04:00:00 EST." <1@x>', ["1@x"], ""),
        ("Message from Ann of Monday <abc@x>", ["abc@x"], ""),
        ("Your message of 5 Jan, Eastern Standard Time <abc@x>", ["abc@x"], ""),
        ("Ann's message <abc@x>", ["abc@x"], ""),
        ("<1@x> <0@x>", ["1@x", "0@x"], ""),
        ("about <1@x> <0@x>", ["1@x", "0@x"], "has 2 ids among words: 1@x counts"),
        ("Ann Smith <ann@a.example>", [], ALONE),
        ('Message from Ann <ann@a.example> of "Monday"', [], ALONE),
        ("<ann@a.example>'s message of Monday", [], ALONE),
        ("mail from ann@a.example", [], "has words, and ann@a.example without angle brackets"),
        ("Ann's message of Monday", [], "has words alone"),
        ("", [], ""),
    ],
)
def test_an_address_is_no_message_that_is_answered(
    written: str, ids: list[str], doubt: str
) -> None:
    assert answered_in(written.encode(), ()) == (tuple(ids), doubt)


@pytest.mark.parametrize("answered", ["ann@a.example", "2@x", "1@x"])
def test_what_references_agrees_with_is_preferred(answered: str) -> None:
    written = "Message from Ann <ann@a.example> of <1@x> and 2@x"
    assert answered_in(written.encode(), ("0@x", answered)) == ((answered,), "")


def test_references_tell_the_parent_where_in_reply_to_names_an_address() -> None:
    reply = "In-Reply-To: Message from Ann <ann@a.example>"
    parsed = _parse("References: <0@x> <1@x>", reply)
    assert (parsed.row.inreplyto, parsed.row.n_refs) == ("1@x", 2)
    assert _doubts(parsed) == [f"its In-Reply-To {ALONE}"]
    assert _parse(reply).row.inreplyto is None
    assert _doubts(_parse("References: <1@x>", "In-Reply-To: your message")) == []


def test_what_is_no_id_is_said() -> None:
    for written in ("a b", "<a b>"):
        parsed = _parse(f"Message-ID: {written}")
        assert parsed.id_made_up
        assert _doubts(parsed) == ["its Message-ID has no id"]
    parsed = _parse("Message-ID: <1@x> <2@x>")
    assert parsed.row.msgid == "1@x"
    assert _doubts(parsed) == ["its Message-ID has 2 ids: the first counts"]
    assert _doubts(_parse("Subject: none")) == []


@pytest.mark.parametrize(
    "pattern",
    ["<", ">", "a", "a@", "@", '"', "from ", "< a", "&lt;", "A ", "<a> ", "(", ' "A', ","],
)
def test_the_time_grows_with_the_length_alone(pattern: str) -> None:
    text = (pattern * MIB)[: MIB // 16].encode()
    began = time.process_time()
    ids_in(text)
    answered_in(text, ())
    assert time.process_time() - began < 2
