"""One message, however broken, as one row."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parseaddr

from tapestry.mail.arrival import Clock, find_arrival, sender_date

_ID = re.compile(r"<([^<>\s]+)>")
_LIST = re.compile(r"<([^<>\s]+)>")


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
    """A row, and what had to be made up for it."""

    row: Row
    clock: Clock
    id_made_up: bool
    broken: bool = False


def parse_message(content: bytes, from_line: bytes, mailbox: str, place: int) -> Parsed:
    """The row of a message; what cannot be read at all becomes a row with nothing but an id."""
    try:
        return _parse(content, from_line, mailbox, place)
    except Exception:  # the parser of the library knows many ways to fail on hostile mail
        nothing = Row(made_up_id(content), None, None, None, None, None, mailbox, 0, 0, place)
        return Parsed(nothing, "none", id_made_up=True, broken=True)


def _parse(content: bytes, from_line: bytes, mailbox: str, place: int) -> Parsed:
    message = message_from_bytes(content)
    ids = _ID.findall(_text(message, "Message-ID") or "")
    references = _ID.findall(_text(message, "References") or "")
    answered = _ID.findall(_text(message, "In-Reply-To") or "") or references[-1:]
    ts, clock = find_arrival(message, from_line)
    row = Row(
        msgid=ids[0] if ids else made_up_id(content),
        inreplyto=answered[0] if answered else None,
        author=parseaddr(_text(message, "From") or "")[1] or None,
        subject=_text(message, "Subject"),
        date=sender_date(message),
        ts=ts,
        newsgroup=_list_of(message) or mailbox,
        n_refs=len(references) or len(answered[:1]),
        body_bytes=_body_bytes(content),
        archive_seq=place,
    )
    return Parsed(row, clock, id_made_up=not ids)


def made_up_id(content: bytes) -> str:
    """The same message gets the same id each time it is read."""
    return hashlib.sha256(content).hexdigest()[:24] + "@no-message-id"


def _list_of(message: Message) -> str | None:
    """The list that delivered it: List-Id, else the first of Newsgroups."""
    text = _text(message, "List-Id")
    if text:
        found = _LIST.findall(text)
        return found[-1] if found else text
    return (_text(message, "Newsgroups") or "").split(",")[0].strip() or None


def _text(message: Message, name: str) -> str | None:
    """A header, decoded and on one line; bytes that fit no encoding are replaced, not dropped."""
    value = message.get(name)
    if value is None:
        return None
    try:
        text = str(make_header(decode_header(value)))
    except Exception:  # unknown charset, broken base64: the raw header says more than nothing
        text = str(value)
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
    return " ".join(text.split()) or None


def _body_bytes(content: bytes) -> int:
    for blank in (b"\n\n", b"\r\n\r\n"):
        head, found, body = content.partition(blank)
        if found and (blank == b"\r\n\r\n" or b"\r\n\r\n" not in head):
            return len(body)
    return 0
