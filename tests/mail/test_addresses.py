"""Whose message it is: told from the header as it is written, never from what a name decodes to."""

from __future__ import annotations

import time

import pytest

from tapestry.mail.addresses import author_of
from tapestry.mail.decode import LONGEST

NORD = "nord@x.example"


@pytest.mark.parametrize(
    "encoded",
    ["B=C3=BCro=2C", "a=3Cboss=40y.example=3E", "boss=40y.example", "=3B", "=3A", "=22", "=28",
     "=29", "=5C", "=0D=0AFrom:_boss=40y.example", "=00", "=3D=3Futf-8=3Fq=3Fx=3F=3D"],
)  # fmt: skip
def test_what_a_name_decodes_to_is_no_syntax(encoded: str) -> None:
    for word in (f"=?utf-8?Q?{encoded}?=", f"=?utf-8*de?q?{encoded}?=", f"=?none?q?{encoded}?="):
        for name in (word, f'"{word}"', f"{word} {word}", f"{word}\r\n\t{word}", f"a {word}, b"):
            assert author_of(f"{name} <{NORD}>".encode()) == (NORD, "")
        assert author_of(f"{NORD} ({word})".encode()) == (NORD, "")


@pytest.mark.parametrize(
    "header",
    [
        NORD, f"<{NORD}>", f"Nord <{NORD}>", f"Nord\r\n <{NORD}>", f"Dr. N. Nord <{NORD}>",
        f"Nord, Nina <{NORD}>", f'"Nord, Nina" <{NORD}>', f"'Nord, N.' <{NORD}>", f", ,{NORD},",
        # a name that looks like an address
        f"boss@y.example <{NORD}>", f'"boss@y.example" <{NORD}>', f"(boss@y.example) {NORD}",
        f'"<boss@y.example>" <{NORD}>', f"Nord @ Home <{NORD}>", f"a: boss@y.example <{NORD}>",
        # comments, groups and routes
        "nord(a (b) \\) c)@x.example", "nord@(c) x . example", f"Team: N <{NORD}>;", f"RE: {NORD}",
        f"<@a,@b:{NORD}>", f"N <@a.example:{NORD}>", f"undisclosed-recipients:; {NORD}",
        # seen in the wild
        f"N <mailto:{NORD}>", f"N <<{NORD}>>", f"N <{NORD}", f"N <'{NORD}'>", f'N <"{NORD}">',
        "N <nord @ x.example>", f'"N <{NORD}>', f"(N <{NORD}>", f"[N <{NORD}>", f"N] <{NORD}>",
        f"N\\ <{NORD}>", f"{NORD} <{NORD}>", f"{NORD}, N <{NORD}>", f"{NORD}\0",
        # public archives
        "nord at x.example (Nord, Nina)", "nord at x.example",
        # as a whole in an encoded word, or in quotes
        "=?utf-8?q?nord=40x=2Eexample?=", "=?utf-8?q?N_=3Cnord=40x=2Eexample=3E?=",
        "=?utf-8?q?N?= =?utf-8?q?=3Cnord=40x=2Eexample=3E?=", f'"{NORD}"', f'"N <{NORD}>" (N)',
    ],
)  # fmt: skip
def test_one_address(header: str) -> None:
    assert author_of(header.encode()) == (NORD, "")


@pytest.mark.parametrize(
    ("header", "address"),
    [
        ("Büro <nörd@x.example>", "nörd@x.example"),
        ('"a b"@x.example', '"a b"@x.example'),
        ('"a@b"@x.example', '"a@b"@x.example'),
        ("N <nord@[IPv6:::1]>", "nord@[IPv6:::1]"),
        ("nord@x", "nord@x"),
        ("n..d@x.example.", "n..d@x.example."),
        # an encoded word is none within an address (RFC 2047, section 5)
        ("=?utf-8?q?nord?=@x.example", "=?utf-8?q?nord?=@x.example"),
        # local mail
        ("root", "root"),
        ("root (Cron Daemon)", "root"),
        ("Cron <root>", "root"),
    ],
)
def test_addresses_of_other_forms(header: str, address: str) -> None:
    assert author_of(header.encode()) == (address, "")


@pytest.mark.parametrize(
    "header",
    [
        "undisclosed-recipients:;", "<>", "Nord <>", '"nord@x.example" <>', "Nina Nord",
        "Nord, Nina", "=?utf-8?q?B=C3=BCro=2C_Nord?=", "=?utf-8?q?Nord?=", "=?utf-8?q?a=2C_root?=",
        "nord@", "@x.example", "nord\uff20x.example", "(nord@x.example)", ",", "N at home", "Büro",
        # readers differ in what these are
        "a@b@c", "<a@b@c>", f"{NORD})boss@y.example", f"<{NORD}>boss@y.example", f"a <{NORD}>b@c",
        f"<boss@y.example> <{NORD}>", f"Nord {NORD}", f'"Nord" {NORD}', f"Nord {NORD}>",
        "Nina Nord@x.example", f"<{NORD} N>", f"<{NORD}:x>", f"boss@y.example:{NORD}",
        f'{NORD}"N"', f'<{NORD}"N, <a@b>">', 'nord@"x.example"',
    ],
)  # fmt: skip
def test_no_address_is_said(header: str) -> None:
    address, doubt = author_of(header.encode())
    assert address is None
    assert doubt in ("has no address", "has something that is no address")


def test_no_header_is_no_doubt() -> None:
    for header in (b"", b" ", b"\r\n \0"):
        assert author_of(header) == (None, "")


@pytest.mark.parametrize(
    "header",
    [f"{NORD}, boss@y.example", f"{NORD}, N <boss@y.example>", f"T: {NORD}, boss@y.example;",
     f"N <{NORD}, Boss <boss@y.example>", f"{NORD}; boss@y.example"],
)  # fmt: skip
def test_the_first_of_several_authors_counts_and_that_is_said(header: str) -> None:
    assert author_of(header.encode()) == (NORD, "has 2 addresses, of which the first counts")


def test_bytes_that_are_no_utf_8() -> None:
    assert author_of(b"B\xfcro, Nord <nord@x.example>") == (NORD, "")
    address, doubt = author_of(b"n\xf6rd@x.example")
    assert (address, doubt) == (
        "n\ufffdrd@x.example",
        "has an address with bytes that are no UTF-8",
    )


def test_an_address_that_is_cut_is_none() -> None:
    for filler in (b"a", b"a ", b'"', b"(", b"a, "):
        begin = (filler * LONGEST)[: LONGEST - len(b"<nord@x.exa")]
        assert author_of(begin + b"<nord@x.example>").address is None
        assert author_of(begin + b" nord@x.example").address is None
    assert author_of(NORD.encode() + b", <" + b"a" * LONGEST).address == NORD


PATTERNS = [
    b"(",
    b")",
    b"<",
    b">",
    b'"',
    b"\\",
    b"@",
    b",",
    b"[",
    b"((a)",
    b"a@b,",
    b"<@a:",
    b"a:;",
]
PATTERNS += [b" . ", b"\\(", b'\\"', b'"\\', b"(\\", b"=?a?q?x ", b"(a", b'("', b"<a", b"'"]


@pytest.mark.parametrize("begin", [b"", b"x ", b"<", b"(", b'"'])
def test_the_time_grows_with_the_length(begin: bytes) -> None:
    for pattern in PATTERNS:
        field = begin + (pattern * LONGEST)[:LONGEST]
        # The least of a few: a look for garbage, among all that other tests left, is no reading.
        assert any(_seconds(field) < 0.5 for _ in range(3)), pattern


def _seconds(field: bytes) -> float:
    began = time.process_time()
    author_of(field)
    return time.process_time() - began
