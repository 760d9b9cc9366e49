"""One message, however broken, as one row."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from tapestry.mail.arrival import Clock, find_arrival, sender_date
from tapestry.mail.content import Content
from tapestry.mail.decode import LONGEST, address_of, one_line, plain, text_of
from tapestry.mail.headers import Headers, pick_headers

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

    ``cut``: of the headers; ``long``: the message is longer than what was read of it.
    """

    row: Row
    clock: Clock
    id_made_up: bool
    cut: bool = False
    long: bool = False
    broken: bool = False


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
    headers, cut = pick_headers(content.head)
    ids = _ids(headers, "message-id")
    references = _ids(headers, "references")
    answered = _ids(headers, "in-reply-to") or references[-1:]
    ts, clock = find_arrival(headers, content.from_line)
    row = Row(
        msgid=ids[0] if ids else made_up_id(content),
        inreplyto=answered[0] if answered else None,
        author=address_of(headers.get("from", b"")),
        subject=text_of(headers.get("subject", b"")),
        date=sender_date(headers),
        ts=ts,
        newsgroup=_list_of(headers) or mailbox,
        n_refs=len(references) or len(answered[:1]),
        body_bytes=min(content.body_bytes, _GREATEST),
        archive_seq=place,
    )
    cut = cut or content.cut or any(len(headers.get(name, b"")) > LONGEST for name in _DECODED)
    return Parsed(row, clock, not ids, cut, content.long)


def made_up_id(content: Content) -> str:
    """The same message gets the same id each time it is read."""
    return content.digest + "@no-message-id"


def _list_of(headers: Headers) -> str | None:
    """The list that delivered it: List-Id, else the first of Newsgroups."""
    if name := text_of(headers.get("list-id", b"")):
        return (_ids(headers, "list-id") or [name])[-1]
    return one_line((text_of(headers.get("newsgroups", b"")) or "").partition(",")[0])


def _ids(headers: Headers, name: str) -> list[str]:
    """What stands in angle brackets, as it is written; where nothing does, in the decoded text."""
    raw = headers.get(name, b"")
    found = _ANGLE.findall(plain(raw)) or _ANGLE.findall(text_of(raw) or "")
    return [text for text in map(one_line, found) if text]
