"""The lexical tokens of structured headers (RFC 5322): comments, quoted strings, atoms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

Kind = Literal["comment", "quoted", "literal", "special", "space", "atom"]


class Token(NamedTuple):
    """A piece of a header as it is written."""

    kind: Kind
    text: str


_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_LITERAL = re.compile(r"\[[^\[\]<>]*\]")
_SPECIAL = re.compile(r"[<>,;:@]")
_SPACE = re.compile(r"\s+")
_ATOM = re.compile(r'[^<>,;:@\s"(\[]+')
_ANY = re.compile(r".", re.DOTALL)
_FLAT = re.compile(r"\([^()\\]*\)")
_IN_COMMENT = re.compile(r"\\.|[()]", re.DOTALL)

_PLAIN: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("literal", _LITERAL),
    ("special", _SPECIAL),
    ("space", _SPACE),
    ("atom", _ATOM),
    ("atom", _ANY),  # a quote, parenthesis or bracket that nothing closes
)


def tokens(text: str) -> Iterator[Token]:
    """All of a text; a quote or parenthesis that nothing closes is an atom.

    The time grows with the length of the text alone: after a quote that nothing closes there is
    no other one, and after such a parenthesis only comments without an inner comment or backslash
    are looked for, each up to the next parenthesis.

    >>> [token.text for token in tokens('"a, b" (c (d)) <e@f>') if token.kind != "space"]
    ['"a, b"', '(c (d))', '<', 'e', '@', 'f', '>']
    """
    place, quotes_close, comments_close = 0, True, True
    while place < len(text):
        token: Token | None = None
        if text[place] == '"' and quotes_close:
            token = _matched("quoted", _QUOTED, text, place)
            quotes_close = token is not None
        elif text[place] == "(" and comments_close:
            end = _end_of_comment(text, place)
            token = Token("comment", text[place:end]) if end else None
            comments_close = token is not None
        if token is None and text[place] == "(":
            token = _matched("comment", _FLAT, text, place)
        token = token or next(
            found for kind, form in _PLAIN if (found := _matched(kind, form, text, place))
        )
        yield token
        place += len(token.text)


def without_comments(text: str) -> str:
    """A text with a space for each comment (RFC 5322: comments count as white space).

    >>> without_comments("from a (b; c) by d; Thu, 3 Jan 1991 (e;(f))")
    'from a   by d; Thu, 3 Jan 1991  '
    """
    return "".join(" " if kind == "comment" else written for kind, written in tokens(text))


def unquoted(text: str) -> str:
    """Return the text that a quoted string stands for."""
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)


def _matched(kind: Kind, form: re.Pattern[str], text: str, place: int) -> Token | None:
    found = form.match(text, place)
    return Token(kind, found.group()) if found else None


def _end_of_comment(text: str, place: int) -> int | None:
    depth = 0
    for found in _IN_COMMENT.finditer(text, place):
        depth += {"(": 1, ")": -1}.get(found.group(), 0)
        if not depth:
            return found.end()
    return None
