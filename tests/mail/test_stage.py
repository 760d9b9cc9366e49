"""Mailboxes of all kinds become rows; broken mail too; every message is counted once."""

from __future__ import annotations

import gzip
import io
import mailbox
import random
from dataclasses import replace
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapestry.mail.content import read_content
from tapestry.mail.limits import MailboxReading
from tapestry.mail.parse import parse_message
from tapestry.mail.stage import Counts, stage_mailbox

MAIL = b"""Received: from a by b; Thu, 3 Jan 1991 04:05:10 +0000
From: =?iso-8859-1?q?J=F6?= <joe@parc.example>
Message-ID: <1@parc.example>
In-Reply-To: Your message of Monday <0@parc.example>
References: <7@parc.example>
 <0@parc.example>
Subject: =?utf-8?b?R3LDvMOfZQ==?=
List-Id: Databases <databases.lists.example>
Date: Thu, 3 Jan 1991 04:05:01 +0000

hello
"""
FROM = b"From joe@parc.example Thu Jan  3 05:06:07 1991\n"


def _stage(path: Path, folder: Path, **options: Any) -> tuple[Counts, list[dict[str, Any]]]:
    target = folder / "rows.parquet"
    counts = stage_mailbox(path, target, **options)
    rows = pq.read_table(target).to_pylist()
    assert len(rows) == counts.staged == counts.read - counts.repeated
    assert sum(counts.clocks.values()) == counts.read
    return counts, rows


def test_a_row_holds_what_the_headers_say(tmp_path: Path) -> None:
    (tmp_path / "box").write_bytes(FROM + MAIL)
    _, rows = _stage(tmp_path / "box", tmp_path)
    row = rows[0]
    assert (row["date"].isoformat(), row["ts"].isoformat()) == (
        "1991-01-03T04:05:01+00:00",
        "1991-01-03T04:05:10+00:00",
    )
    assert {name: row[name] for name in row if name not in ("date", "ts")} == {
        "msgid": "1@parc.example",
        "inreplyto": "0@parc.example",
        "author": "joe@parc.example",
        "subject": "Grüße",
        "newsgroup": "databases.lists.example",
        "n_refs": 2,
        "body_bytes": 6,
        "archive_seq": 0,
    }


def test_copies_count_once_a_list(tmp_path: Path) -> None:
    other_list = MAIL.replace(b"databases.lists", b"mac.lists")
    (tmp_path / "box").write_bytes(b"\n".join([FROM + MAIL, FROM + MAIL, FROM + other_list]))
    counts, rows = _stage(tmp_path / "box", tmp_path)
    assert (counts.read, counts.repeated) == (3, 1)
    assert [row["newsgroup"] for row in rows] == ["databases.lists.example", "mac.lists.example"]
    counts, _ = _stage(tmp_path / "box", tmp_path, newsgroup="one")
    assert counts.repeated == 2


def _mbox(folder: Path) -> Path:
    (folder / "2019.mbox").write_bytes(FROM + MAIL)
    return folder / "2019.mbox"


def _gzip(folder: Path) -> Path:
    (folder / "2019.txt.gz").write_bytes(gzip.compress(FROM + MAIL))
    return folder / "2019.txt.gz"


def _maildir(folder: Path) -> Path:
    mailbox.Maildir(folder / "dir", create=True).add(message_from_bytes(MAIL))
    return folder / "dir"


def _eml(folder: Path) -> Path:
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/er/1.eml").write_bytes(MAIL)
    return folder / "deep"


@pytest.mark.parametrize("make", [_mbox, _gzip, _maildir, _eml])
def test_kinds_of_mailboxes(make: Any, tmp_path: Path) -> None:
    counts, rows = _stage(make(tmp_path), tmp_path)
    assert counts.read == 1
    assert rows[0]["msgid"] == "1@parc.example"


@pytest.mark.parametrize("content", [b"", b"no mail at all", b"\0" * 50])
def test_files_without_mail(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "box").write_bytes(content)
    assert _stage(tmp_path / "box", tmp_path)[0].read == 0


def test_a_message_without_an_id_keeps_the_one_made_for_it(tmp_path: Path) -> None:
    (tmp_path / "box").write_bytes(FROM + b"From: a@b.example\n\nhello\n")
    counts, rows = _stage(tmp_path / "box", tmp_path)
    assert counts.id_made_up == 1
    assert _stage(tmp_path / "box", tmp_path)[1] == rows
    assert rows[0]["newsgroup"] == "box"


@given(st.binary(max_size=400), st.binary(max_size=80))
def test_any_bytes_are_one_row(content: bytes, from_line: bytes) -> None:
    read = replace(read_content(io.BytesIO(content), MailboxReading()), from_line=from_line)
    row = parse_message(read, "box", 0).row
    assert row.msgid
    assert row.newsgroup
    for text in (row.msgid, row.inreplyto, row.author, row.subject, row.newsgroup):
        assert text is None or text.encode("utf-8")


def test_damaged_mail_is_counted_and_staged(tmp_path: Path) -> None:
    """Bytes are flipped, dropped and doubled; whatever is left has a row for each message."""
    random.seed(1)
    for _ in range(150):
        damaged = bytearray(FROM + MAIL + b"\n" + FROM + MAIL)
        for _ in range(random.randint(1, 25)):
            place = random.randrange(len(FROM), len(damaged))
            damaged[place : place + random.randint(0, 2)] = random.choice(
                [b"\xff\xfe", b"\0", b"=?x?q?", b"\n\n", b"<", b"\r", b";", b"\xf0\x9f", b"?="]
            )
        (tmp_path / "box").write_bytes(damaged)
        counts, _ = _stage(tmp_path / "box", tmp_path)
        assert counts.read >= 1


def test_many_messages_are_staged_in_batches(tmp_path: Path) -> None:
    with (tmp_path / "box").open("wb") as file:
        for number in range(3_000):
            file.write(FROM + MAIL.replace(b"<1@", b"<%d@" % number) + b"\n")
    counts, rows = _stage(tmp_path / "box", tmp_path)
    assert counts.staged == 3_000
    assert [row["archive_seq"] for row in rows] == list(range(3_000))
