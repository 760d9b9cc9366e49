"""Headers written by others, at random, and read back: the name, the address and the instant.

The writers are Python's own: ``email.headerregistry`` and ``email.policy`` for addresses, which
share no code with the reader here, ``email.header`` for words, ``strftime`` and ``email.utils`` for
dates.
"""

from __future__ import annotations

import base64
import random
from datetime import datetime, timedelta, timezone
from email.header import Header
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime, parsedate_to_datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tapestry.mail.addresses import author_of
from tapestry.mail.dates import read_date
from tapestry.mail.decode import text_of
from tapestry.mail.headers import pick_headers

SPECIAL = "<>@,;:()[]\"\\'=?._ "
NAMES = st.text(
    st.one_of(st.sampled_from(SPECIAL), st.characters(codec="utf-8", categories=["L", "N", "P"])),
    max_size=60,
).map(lambda name: " ".join(name.split()))
ATOM = st.text(st.sampled_from("abcxyz019!#$%&*+-/^_`{|}~"), min_size=1, max_size=12)
ADDRESSES = st.tuples(
    st.one_of(ATOM, st.tuples(ATOM, ATOM).map(".".join), st.just('"a, <b>"')),
    st.sampled_from(["x.example", "x", "sub.x.example", "[192.0.2.1]"]),
).map("@".join)


def _written(name: str, address: str, policy: object) -> bytes:
    """The From header that Python's own policy writes."""
    message = EmailMessage(policy=policy)  # type: ignore[arg-type]
    message["From"] = Address(name, addr_spec=address)
    return message.as_bytes()


def _quoted(name: str) -> bytes:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'.encode()


def _q_word(name: str) -> bytes:
    """As in a phrase (RFC 2047, section 5): only letters and digits stand for themselves."""
    coded = (
        chr(one) if chr(one).isascii() and chr(one).isalnum() else f"={one:02X}"
        for one in name.encode()
    )
    return f"=?UTF-8*en?Q?{''.join(coded)}?=".encode()


def _b_words(name: str) -> bytes:
    """Each character's bytes cut anywhere: two words for one character."""
    data = name.encode()
    pieces = [data[place : place + 5] for place in range(0, len(data), 5)]
    return b"\r\n ".join(b"=?utf-8?b?" + base64.b64encode(piece) + b"?=" for piece in pieces)


WRITERS = [_quoted, _q_word, _b_words, lambda name: Header(name, "utf-8").encode().encode()]


@given(NAMES, ADDRESSES)
@example("Büro, Nord", "nord@x.example")
@example("boss@y.example", "nord@x.example")
def test_an_address_that_the_library_writes(name: str, address: str) -> None:
    for policy in (SMTP, SMTPUTF8):
        headers = pick_headers(_written(name, address, policy)).headers
        assert author_of(headers["from"]) == (address, "")


@settings(deadline=None)
@given(NAMES, ADDRESSES, st.integers(0, 2**32))
def test_an_address_beside_a_name_in_any_encoding(name: str, address: str, seed: int) -> None:
    """With comments, folding and white space wherever RFC 5322 lets them stand."""
    rng = random.Random(seed)
    comments = [b"", b" ", b"\r\n ", b"\t", b" (a) ", b"(<b@y>, \\) (c))", b" (\xfc) "]

    def gap() -> bytes:
        return rng.choice(comments)

    local, at, domain = address.rpartition("@")
    spaced = gap().join([local.encode(), at.encode(), domain.encode()])
    for write in WRITERS:
        phrase = write(name)
        route = rng.choice([b"", b"", b"@a.example,@b:"])
        mailbox = gap() + phrase + gap() + b"<" + gap() + route + spaced + gap() + b">" + gap()
        group = rng.choice([b"%b", b"%b", b"Team:%b;", b"=?utf-8?q?a=3B?=: %b, ;", b", %b ,"])
        assert author_of(group % mailbox) == (address, "")
        assert author_of(mailbox + b"," + phrase + b"<boss@y.example>")[0] == address
        if route == b"":
            assert author_of(spaced + b" (" + _q_word(name) + b")") == (address, "")


@given(NAMES)
def test_a_name_that_is_encoded(name: str) -> None:
    for write in WRITERS[1:]:
        assert (text_of(write(name)) or "") == name


@given(NAMES, st.binary(max_size=6), st.integers(0, 2**32))
def test_damage_invents_no_address(name: str, damage: bytes, seed: int) -> None:
    """Bytes put into a header's name do not make what the name says the author."""
    rng = random.Random(seed)
    phrase = _q_word(f"boss@y.example <boss@y.example>, {name}")
    place = rng.randrange(len(phrase))
    header = phrase[:place] + damage + phrase[place:] + b" <nord@x.example>"
    assert author_of(header).address in ("nord@x.example", None) or b"@" in damage


ZONES = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
INSTANTS = st.datetimes(
    datetime(1971, 1, 1),
    datetime(9990, 1, 1),
    timezones=ZONES,
).map(lambda one: one.replace(microsecond=0))
FORMS = [
    "%a, %d %b %Y %H:%M:%S %z", "%d %b %Y %H:%M:%S %z", "%A, %d-%B-%Y %H:%M:%S %z",
    "%a %b %d %H:%M:%S %Y %z", "%a %b %d %H:%M:%S %z %Y", "%Y-%m-%dT%H:%M:%S%z",
    "%Y/%m/%d %H:%M:%S %z", "%B %d, %Y %I:%M:%S %p %z", "%a, %d %b %Y %I:%M:%S %p %z",
]  # fmt: skip


@given(INSTANTS, st.integers(0, 2**32))
def test_a_date_in_any_form(instant: datetime, seed: int) -> None:
    rng = random.Random(seed)
    for form in FORMS:
        written = instant.strftime(form)
        case = rng.choice([str, str.upper, str.lower])
        comment = rng.choice(["", " (CEST)", " (a (b; c))", "\r\n "])
        found = read_date(case(written) + comment)
        assert found == (instant.astimezone(timezone.utc), ""), written
    assert read_date(format_datetime(instant)).instant == instant
    assert read_date(instant.isoformat()).instant == instant


PIECES = ["Fri, ", "Thu ", "6", "31", " ", "-", "May", " Feb ", "2022", "22", "122", "14:55", ":49"]
PIECES += [":60", "24:00", "+0200", "-0500", "+9999", "EST", " GMT", " A", " PM", ",", "T"]
PIECES += ["0", "Z", ""]


@given(st.lists(st.sampled_from(PIECES), max_size=10).map(" ".join))
@example("6 May 2022 14:55 PM")
def test_where_both_read_a_date_the_library_reads_the_same(text: str) -> None:
    """But for what it drops in silence: AM and PM, and years and zones that RFC 5322 defines."""
    found = read_date(text)
    try:
        theirs = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return
    if found.instant is None or "PM" in text or theirs.year < 1970:
        assert found.instant or found.doubt
        return
    if theirs.tzinfo is None:
        theirs = theirs.replace(tzinfo=timezone.utc)
    assert found.instant == theirs


@pytest.mark.parametrize("seed", range(20))
def test_the_two_read_the_same_of_damaged_dates(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(200):
        date = datetime(rng.randrange(1971, 2060), 1, 1, tzinfo=timezone.utc) + timedelta(
            seconds=rng.randrange(365 * 86_400)
        )
        text = list(format_datetime(date))
        for _ in range(rng.randrange(3)):
            text[rng.randrange(len(text))] = rng.choice(
                [" ", "x", "0", "9", ":", "-", "+", ",", ""]
            )
        found = read_date("".join(text))
        if found.instant is None:
            assert found.doubt
            continue
        try:
            theirs = parsedate_to_datetime("".join(text))
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        assert found.instant == theirs.replace(tzinfo=theirs.tzinfo or timezone.utc) or (
            theirs.year < 1970
        )


GOOD = {"from": b"a@b.example", "subject": b"b", "date": b"6 May 2022 14:55:49 +0000"}
WRONG = [b"no header", b": x", b"Reply To: x", b"S\xc3\xbcbject: x", b"\0", b"From x", b">From: x"]
WRONG += [
    b"no header\n folded: x\n\tFrom: x",
    b"X\rx",
    b"\r",
    b"Fr\0om: x",
    b"--",
    b"=?a?q?From:?=:x",
]
GAPS = st.lists(st.sampled_from(WRONG), max_size=3)


@given(
    st.permutations(sorted(GOOD)),
    st.lists(GAPS, min_size=3, max_size=3),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_wrong_lines_hide_no_header(order: list[str], gaps: list[list[bytes]], end: bytes) -> None:
    lines: list[bytes] = []
    for name, before in zip(order, gaps, strict=True):
        lines += [*before, name.title().encode() + b": " + GOOD[name]]
    picked = pick_headers(end.join([*lines, b"", b""]))
    assert {name: value.strip() for name, value in picked.headers.items()} == GOOD
    silent = {b">From: x", b"=?a?q?From:?=:x", b"\r", b"From x"}  # of which some are no fault
    assert picked.doubts or {line for before in gaps for line in before} <= silent
