"""Mail that is made to harm: a row with what its headers say, in little time and memory."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tapestry.mail.addresses import author_of
from tapestry.mail.content import read_content
from tapestry.mail.decode import LONGEST, text_of
from tapestry.mail.limits import MIB, Limits, MailboxReading
from tapestry.mail.parse import Parsed, parse_message
from tapestry.mail.stage import stage_mailbox

HEAD = b"Message-ID: <1@b.example>\nFrom: Joe <joe@b.example>\nSubject: hello\n"
FROM = b"From a@b.example Thu Jan  3 05:06:07 1991\n"


def _parse(message: bytes, **limits: int) -> Parsed:
    return parse_message(
        read_content(io.BytesIO(message), MailboxReading(Limits(**limits))), "box", 0
    )


def _headers(parsed: Parsed) -> tuple[str, str | None, str | None]:
    return parsed.row.msgid, parsed.row.author, parsed.row.subject


NESTED = b"".join(
    b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n) for n in range(20_000)
)
FORWARDED = b"Content-Type: message/rfc822\n\n" * 40_000
BOUNDARIES = b'Content-Type: multipart/mixed; boundary="' + b"-" * 900 + b'"\n\n' + b"-" * MIB


@pytest.mark.parametrize("body", [NESTED, FORWARDED, BOUNDARIES, b"\n" + b"\0" * MIB])
def test_what_is_wrong_with_the_body_harms_no_header(body: bytes) -> None:
    parsed = _parse(HEAD + body)
    assert _headers(parsed) == ("1@b.example", "joe@b.example", "hello")
    assert parsed.row.body_bytes > 900_000
    assert not parsed.cut


@pytest.mark.parametrize(
    "bomb",
    [
        b"X:\n" * 300_000,
        b"X-Y: z\r\n" * 100_000,
        b"Received: x\n" * 80_000,
        b"X: y\n" + b" \n" * 400_000,
        b"X: " + b"y" * 900_000 + b"\n",
    ],
)
def test_many_or_long_headers_hide_no_other(bomb: bytes) -> None:
    began = time.process_time()
    parsed = _parse(bomb + HEAD + b"\nbody\n")
    assert time.process_time() - began < 2
    assert _headers(parsed) == ("1@b.example", "joe@b.example", "hello")


def test_headers_beyond_the_limit_are_left_out_and_counted(tmp_path: Path) -> None:
    late = HEAD + b"X: " + b"y" * 5_000 + b"\nDate: Thu, 3 Jan 1991 04:05:01 +0000\n\nbody\n"
    parsed = _parse(late, headers=1_000)
    assert (_headers(parsed), parsed.cut) == (("1@b.example", "joe@b.example", "hello"), True)
    assert (parsed.row.date, parsed.row.body_bytes) == (None, 5)
    (tmp_path / "box").write_bytes(FROM + late + b"\n" + FROM + HEAD + b"List-Id: <x>\n\nbody\n")
    assert stage_mailbox(tmp_path / "box", tmp_path / "rows", limits=Limits(headers=1_000)).cut == 1


def test_ten_megabytes_of_references() -> None:
    ids = b"References:" + b" <%040d@b.example>\n" * 170_000 % tuple(range(170_000)) + b"\n"
    parsed = _parse(HEAD + ids)
    assert parsed.cut
    assert 1_000 < parsed.row.n_refs < 2_000


PATTERNS = [b"(", b")", b"<", b">", b'"', b"\\", b"@", b",", b":", b";", b"[", b"((a)", b"a@b,"]
PATTERNS += [b"<@a:", b"a:", b"a:;", b"a.", b" ", b"\t", b"=?", b"=?a?q?x ", b"=?a?b?", b"\xff"]
PATTERNS += [b"=?utf-8?q?a?= ", b"=?utf-7?q?+2AA-?=", b"=?a?q??=", b"\r\n ", b"\0", b"1", b"1:"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_mebibyte_of_one_pattern(pattern: bytes) -> None:
    """Comments and groups within each other, words that never end: no parser gets all of it."""
    text = (pattern * MIB)[: MIB // 10]
    message = b"Message-ID: <1@b.example>\n"
    for name in (b"From", b"Subject", b"Date", b"Received", b"List-Id", b"In-Reply-To"):
        message += name + b": " + text + b"\n"
    began = time.process_time()
    parsed = _parse(message + b"\n")
    assert time.process_time() - began < 2
    assert parsed.row.msgid == "1@b.example"
    assert not parsed.broken
    assert parsed.cut


def test_no_parser_gets_more_than_a_part_of_a_header() -> None:
    assert text_of(b"x" * MIB) == "x" * LONGEST
    assert author_of(b"x" * MIB + b" <joe@b.example>").address is None
    assert author_of(b"a <joe@b.example>" + b"x" * MIB).address == "joe@b.example"


@pytest.mark.parametrize(
    "name",
    ["zlib", "bz2", "hex", "base64", "rot13", "uu", "quopri", "idna", "punycode", "undefined",
     "unicode_escape", "raw_unicode_escape", "evil", "antigravity", "aliases", "..os", "", "x" * 99,
     "\u017f"],
)  # fmt: skip
def test_what_is_no_character_set_is_not_looked_for(name: str) -> None:
    before = set(sys.modules)
    word = f"=?{name}?b?eJxLBAAAYgBi?=".encode()
    assert text_of(b"a " + word) == f"a {word.decode()}"
    assert set(sys.modules) == before


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"=?utf-8?q?a?=", "a"),
        (b"=?UTF-8*en?Q?a_b?= c", "a b c"),
        (b"Re: =?iso-8859-1?q?J=F6?=\n =?utf-8?b?w7Y=?=", "Re: J\u00f6\u00f6"),
        (b"=?utf-8?q?=C3?= =?utf-8?q?=A9?= x", "\u00e9 x"),  # one character in two words
        (b"=?iso-2022-jp?B?GyRCRnxLXBsoQg==?=", "\u65e5\u672c"),
        ("Å =?utf-8?q?x?=".encode(), "Å x"),
        (b"J\xf6 =?utf-8?q?=FF?=", "J\ufffd \ufffd"),
        (b"=?utf-8?q?what??=", "what?"),
        # what is no base64 stays as it is written
        (b"=?utf-8?b?!?= x", "=?utf-8?b?!?= x"),
        (b"=?utf-8?b?w7Y=w7Y=?=", "=?utf-8?b?w7Y=w7Y=?="),
        (b"=?utf-8?b?w?=", "=?utf-8?b?w?="),
        (b"=?utf-8?b?w7Y?= =?utf-8?B?w7Y ==?=", "\u00f6\u00f6"),
        (b"=?x-unknown?q?a?= =?utf-8?q?b?=", "=?x-unknown?q?a?= b"),
        (b"a\0b\r\n\tc", "ab c"),
        (b" \n ", None),
        # decoded once: what comes out is text
        (b"=?utf-8?q?=3D=3Futf-8=3Fq=3F=3D0D=3D0ABcc=3A?= =?utf-8?q?x=3F=3D?=",
         "=?utf-8?q?=0D=0ABcc:x?="),
        (b"=?utf-8?b?PT91dGYtOD9iP1lRPT0/PQ==?=", "=?utf-8?b?YQ==?="),
        (b"=?utf-8?q?=3D?=?utf-8?q?a?=", "=?utf-8?q?a?="),
        # and on one line, whatever ends lines
        (b"=?utf-8?q?a=0D=0ABcc:=20b=0B=0C=C2=85=E2=80=A8c=00?=", "a Bcc: b c"),
        # no half of a surrogate pair
        (b"=?utf-7?q?+2AA-?= x", "? x"),
        (b"=?utf-8?q?=ED=A0=80?=", "\ufffd\ufffd\ufffd"),
    ],
)  # fmt: skip
def test_words_are_decoded_once(raw: bytes, text: str | None) -> None:
    assert text_of(raw) == text


def test_ids_and_lists_are_told_before_words_are_decoded() -> None:
    fake = b"=?utf-8?q?=3Cfake=40x=3E?="
    row = _parse(
        b"Message-ID: %b <1@b.example>\nReferences: %b <0@b.example>\n"
        b"List-Id: %b <real.example> %b\n\n" % (fake, fake, fake, fake)
    ).row
    assert (row.msgid, row.inreplyto) == ("1@b.example", "0@b.example")
    assert (row.n_refs, row.newsgroup) == (1, "real.example")


MEASURED = """
import json, re, resource, sys
from pathlib import Path
from tapestry.mail.limits import MailboxReading
from tapestry.mail.parse import parse_message
from tapestry.mail.read import read_mailbox
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # nothing is unpacked to a disk
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
before = peak()  # the rusage of a process begins with what its parent took
read = read_mailbox(Path(sys.argv[1]), MailboxReading())
found = [parse_message(one, "box", 0) for one in read]
print(json.dumps([len(found), [one.row.body_bytes for one in found[:1]], peak() - before]))
"""
SIZE = 32 * MIB


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="asks Linux for the memory")
@pytest.mark.parametrize(
    ("before", "filler", "count", "body"),
    [
        (b"", b"\0", 0, []),
        (FROM + HEAD + b"\n", b"x", 1, [SIZE]),  # a body that is one line
        (FROM + HEAD + b"X: ", b"x", 1, [0]),  # a header that is
        pytest.param(b"From ", b"x", 1, [0], marks=pytest.mark.more),
        pytest.param(FROM + HEAD, b"X: y\n", 1, [0], marks=pytest.mark.more),
        pytest.param(FROM + HEAD + b"\n", b"\n", 1, [SIZE - 1], marks=pytest.mark.more),
    ],
)
def test_a_small_file_that_unpacks_to_much(
    before: bytes, filler: bytes, count: int, body: list[int], tmp_path: Path
) -> None:
    file = tmp_path / "box.mbox.gz"
    with gzip.open(file, "wb", compresslevel=1) as packed:
        packed.write(before)
        for _ in range(SIZE // MIB):
            packed.write((filler * MIB)[:MIB])
    assert file.stat().st_size < MIB
    command = [sys.executable, "-c", MEASURED, str(file)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    found, bodies, kibibytes = json.loads(ran.stdout)
    assert (found, bodies) == (count, body)
    assert kibibytes < 16 * 1024
