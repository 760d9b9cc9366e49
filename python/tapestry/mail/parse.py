"""Parses one message, however broken, into one row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from tapestry.mail.addresses import author_of
from tapestry.mail.arrival import Clock, find_arrival, sender_date
from tapestry.mail.content import Content
from tapestry.mail.decode import LONGEST, one_line, plain, text_of
from tapestry.mail.doubts import Doubt, doubts_of_date
from tapestry.mail.headers import LONGEST as LONGEST_KEPT
from tapestry.mail.headers import Headers, pick_headers
from tapestry.mail.ids import Ids, answered_in, ids_in

_ANGLE = re.compile(r"<([^<>\s]+)>")
_DECODED = ("from", "subject", "list-id", "newsgroups")
_GREATEST = 2**31 - 1


@dataclass(frozen=True)
class Row:
    """A row of the messages table, in the order of its columns."""

    msgid: str
    inreplyto: str | None
    author: str | None
    subject: str | None
    date: datetime | None
    ts: datetime | None
    newsgroup: str
    n_refs: int
    body_bytes: int
    archive_seq: int


@dataclass(frozen=True)
class Parsed:
    """A row, what had to be made up for it, and whether something of it was left out.

    ``cut``: of the headers; ``long``: the message is longer than what was read of it. ``doubts``:
    what is wrong with its headers.
    """

    row: Row
    clock: Clock
    id_made_up: bool
    cut: bool = False
    long: bool = False
    broken: bool = False
    doubts: tuple[Doubt, ...] = ()


def parse_message(content: Content, mailbox: str, place: int) -> Parsed:
    """The row of a message; what cannot be read at all becomes a row with nothing but an id.

    A row needs no body, so that none is parsed: what is wrong there harms no header.
    """
    try:
        return _parse(content, mailbox, place)
    except Exception:  # the parsers of the library know many ways to fail on hostile mail
        nothing = Row(made_up_id(content), None, None, None, None, None, mailbox, 0, 0, place)
        return Parsed(nothing, "none", id_made_up=True, broken=True)


def _parse(content: Content, mailbox: str, place: int) -> Parsed:
    picked = pick_headers(content.head, cut=content.cut or content.long)
    headers = picked.headers
    ids = ids_in(headers.get("message-id", b""))
    references = ids_in(headers.get("references", b""))
    # The last one of a cut list is not the message that was answered.
    whole = len(headers.get("references", b"")) < LONGEST_KEPT and not content.cut
    replied = answered_in(headers.get("in-reply-to", b""), references.ids)
    answered = replied.ids or (references.ids[-1:] if whole else ())
    arrival = find_arrival(headers, content.from_line)
    date = sender_date(headers)
    author = author_of(headers.get("from", b""))
    row = Row(
        msgid=ids.ids[0] if ids.ids else made_up_id(content),
        inreplyto=answered[0] if answered else None,
        author=author.address,
        subject=text_of(headers.get("subject", b"")),
        date=date.instant,
        ts=arrival.instant,
        newsgroup=_list_of(headers) or mailbox,
        n_refs=len(references.ids) or len(answered[:1]),
        body_bytes=min(content.body_bytes, _GREATEST),
        archive_seq=place,
    )
    doubts = [
        *(Doubt("lines", doubt) for doubt in picked.doubts),
        *doubts_of_date("its Date", date),
        *arrival.doubts,
        *([Doubt("authors", f"its From {author.doubt}")] if author.doubt else []),
        *_doubts_of_ids(ids, references, replied),
    ]
    part = picked.cut or content.cut
    cut = part or any(len(headers.get(name, b"")) > LONGEST for name in _DECODED)
    return Parsed(row, arrival.clock, not ids.ids, cut, content.long, doubts=tuple(doubts))


def made_up_id(content: Content) -> str:
    """Return an id that is the same each time the same message is read."""
    return content.digest + "@no-message-id"


def _doubts_of_ids(ids: Ids, references: Ids, replied: Ids) -> Iterator[Doubt]:
    several = f"has {len(ids.ids)} ids: the first counts" if len(ids.ids) > 1 else ""
    doubts = {
        "Message-ID": ids.doubt or several,
        "References": references.doubt,
        "In-Reply-To": replied.doubt,
    }
    yield from (Doubt("ids", f"its {name} {doubt}") for name, doubt in doubts.items() if doubt)


def _list_of(headers: Headers) -> str | None:
    """The list that delivered it: List-Id, else the first of Newsgroups.

    The name of a list stands in angle brackets, as it is written; else in the decoded text.
    """
    raw = headers.get("list-id", b"")
    if name := text_of(raw):
        found = _ANGLE.findall(plain(raw)) or _ANGLE.findall(name)
        return ([text for text in map(one_line, found) if text] or [name])[-1]
    return text_of(headers.get("newsgroups", b"").partition(b",")[0])
