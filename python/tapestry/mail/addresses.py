"""Finds the author of a message: the address of a From header, before any name is decoded.

RFC 2047 (section 6.2) asks for this order: an encoded word can hold a comma, a bracket or an ``@``,
which are part of a name and no syntax. The parsers of Python's email package are not used: those of
``email.utils`` read ``boss@y <joe@x>`` as boss's, and differ between bug-fix releases of Python
(their argument ``strict`` came in one); those of ``email.headerregistry`` take time that grows with
the square of the header, and decode words that stand in quotes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tapestry.mail.decode import LONGEST, one_line, text_of
from tapestry.mail.lexical import Token, tokens, unquoted

_LOCAL_NAME = re.compile(r"[\w!#$%&'*+/^`{|}~.-]+", re.ASCII)
_OBSCURED = re.compile(r"([^\s@<>,;:]+) at ([\w-]+(?:\.[\w-]+)+)")
_PIECE = re.compile(r"<+([^<>]*)(>+)|<+([^<>,;]*)|[,;:>]|[^<>,;:]+")
_NO_ADDRESS = re.compile(r'[\s<>()@:;,"\[\]\\]')
_AROUND_DOTS = re.compile(r"\s*\.\s*")
_ROUTE = re.compile(r"\s*(?:@[^:]*:|mailto:)", re.IGNORECASE)
_QUOTED, _LITERAL = "\0", "\1"


class Author(NamedTuple):
    """An address, or None; ``doubt`` says what is wrong with the header, if anything is."""

    address: str | None
    doubt: str = ""


class _Mailbox(NamedTuple):
    """A member of a list: None where it is no address; a name without a host; closed by >."""

    address: str | None
    local: bool = False
    closed: bool = False


class _Text(NamedTuple):
    """A text without comments, and the same with quoted strings and literals masked."""

    written: str
    masked: str

    def part(self, begin: int, end: int) -> _Text:
        return _Text(self.written[begin:end], self.masked[begin:end])


def author_of(raw: bytes) -> Author:
    """The first address of a From header.

    A header that is one encoded word, or one quoted string, as a whole is read as what it stands
    for, if that is an address: some programs write it so. ``joe at b.example (Joe)`` is what public
    archives make of an address. A name without a host, as of local mail, is an address only if it
    is all that the header has.

    >>> author_of(b"=?utf-8?Q?B=C3=BCro=2C_Nord?= <nord@x.example>")
    Author(address='nord@x.example', doubt='')
    >>> author_of(b"boss@y.example <nord@x.example>").address
    'nord@x.example'
    """
    written = one_line(raw[:LONGEST].decode("utf-8", "replace"))
    if written is None:
        return Author(None)
    parts = list(tokens(written))
    if not any(part.kind == "special" for part in parts):
        address = _wrapped(raw, parts)
        if address:
            return Author(address)
    boxes = _mailboxes(parts)
    if len(raw) > LONGEST and boxes and not boxes[-1].closed:
        boxes.pop()  # nobody knows how it goes on
    return _first(boxes)


def _first(boxes: list[_Mailbox]) -> Author:
    if any(box.address is None for box in boxes):
        return Author(None, "has something that is no address")
    known = [box.address for box in boxes if box.address and not (box.local and len(boxes) > 1)]
    if not known:
        return Author(None, "has no address")
    if len(set(known)) > 1:
        return Author(known[0], f"has {len(set(known))} addresses, of which the first counts")
    if "\ufffd" in known[0]:
        return Author(known[0], "has an address with bytes that are no UTF-8")
    return Author(known[0])


def _wrapped(raw: bytes, parts: list[Token]) -> str | None:
    """Return the address in a header that is one encoded word or quoted string as a whole."""
    whole = [part for part in parts if part.kind not in ("space", "comment")]
    if [part.kind for part in whole] == ["quoted"]:
        return _sole(unquoted(whole[0].text))
    if all(part.kind == "atom" and part.text.startswith("=?") for part in whole):
        return _sole(text_of(raw) or "")
    obscured = _OBSCURED.fullmatch(_without_comments(parts).written.strip())
    return f"{obscured[1]}@{obscured[2]}" if obscured else None


def _sole(text: str) -> str | None:
    boxes = _mailboxes(list(tokens(text)))
    return boxes[0].address if len(boxes) == 1 and not boxes[0].local else None


def _without_comments(parts: list[Token]) -> _Text:
    masks = {"quoted": _QUOTED, "literal": _LITERAL, "comment": " "}
    return _Text(
        "".join(" " * len(text) if kind == "comment" else text for kind, text in parts),
        "".join(masks[kind] * len(text) if kind in masks else text for kind, text in parts),
    )


def _mailboxes(parts: list[Token]) -> list[_Mailbox]:
    """The members of a list of addresses, those of groups included.

    What stands before an address in angle brackets is a name, also where it looks like an address.
    """
    text = _without_comments(parts)
    found: list[_Mailbox] = []
    begin, angles = 0, list[re.Match[str]]()
    for piece in _PIECE.finditer(text.masked + ","):
        if piece[0] in (",", ";"):
            found += _member(text, begin, piece.start(), angles)
            begin, angles = piece.end(), []
        elif piece[0] == ":" and not angles and "@" not in text.masked[begin : piece.start()]:
            begin = piece.end()  # what came before it names a group
        elif piece[0].startswith("<"):
            angles.append(piece)
    return found


def _member(text: _Text, begin: int, end: int, angles: list[re.Match[str]]) -> list[_Mailbox]:
    """Return the mailboxes between two commas: one, a broken one, or none for a bare name."""
    if not angles:
        return _address(text.part(begin, end), closed=False)
    angle = angles[0]
    if len(angles) > 1 or "@" in text.masked[angle.end() : end]:
        return [_Mailbox(None)]  # readers differ in which of the addresses it is
    return _address(text.part(*angle.span(1 if angle[2] else 3)), closed=bool(angle[2]))


def _address(text: _Text, closed: bool) -> list[_Mailbox]:
    if route := _ROUTE.match(text.masked):
        text = text.part(route.end(), len(text.masked))
    written, masked = text.written.strip(), text.masked.strip()
    if written[:1] == written[-1:] == "'":
        written, masked = written[1:-1], masked[1:-1]
    if closed and masked and not masked.strip(_QUOTED):
        written = masked = unquoted(written)
    place = masked.find("@")
    if place < 0:
        is_name = _LOCAL_NAME.fullmatch(written) and not written.startswith("=?")
        return [_Mailbox(written, local=True, closed=closed)] if is_name else []
    local = _plain(written[:place], masked[:place])
    domain = _plain(written[place + 1 :], masked[place + 1 :])
    whole = local and domain and _QUOTED not in masked[place + 1 :]  # no host is called that
    return [_Mailbox(f"{local}@{domain}" if whole else None, closed=closed)]


def _plain(written: str, masked: str) -> str | None:
    """Return a side of an address without the white space that may stand around its dots."""
    if _NO_ADDRESS.search(_AROUND_DOTS.sub(".", masked.strip())):
        return None
    if _QUOTED in masked:
        return written.strip()
    return _AROUND_DOTS.sub(".", written.strip())
