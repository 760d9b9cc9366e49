"""The ids of messages in headers: told from addresses, and read where they are written carelessly.

RFC 822 let any words stand in ``In-Reply-To``, and programs wrote sentences: ``Message from Ann
<ann@a.example> of "…" <id@…>``. What stands in angle brackets there is an id or an address.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from tapestry.mail.decode import one_line, plain, text_of
from tapestry.mail.lexical import tokens

_ESCAPED = (
    (re.compile("&(?:lt|#60|#x3c);", re.IGNORECASE), "<"),
    (re.compile("&(?:gt|#62|#x3e);", re.IGNORECASE), ">"),
)
_BETWEEN_WORDS = re.compile(r'[\s<>()",;]+')
_BARE = re.compile(r"[^@]+@[^@]+")
_SAID_BEFORE = re.compile(r"\b(?:from|by)\b.*\Z", re.IGNORECASE | re.DOTALL)
"""The words in front of an address: ``Message from Ann Smith <``."""
_SAID_AFTER = re.compile(r"\s*(?:'s|writes|wrote|said)\b", re.IGNORECASE)
"""The words behind an address: ``>'s message of Monday``."""
_DATED = re.compile(r"\d|\b(?:of|on|at|dated|message|article|mail|note)\b", re.IGNORECASE)
"""A date or a message was named after its author: what follows is its id."""
_LAST_WORD = re.compile(r'"[^"]*"\s*\Z|[^\s",;:]+[\s,;:]*\Z')
_NO_NAME = re.compile(
    r"message|article|posting|mail|note|letter|memo|id|of|in|on|re|reply|your|the|utc|gmt|[ap]m"
    r"|[ecmp][sd]t|(?:mon|tue|tues|wed|wednes|thu|thurs|fri|sat|satur|sun)(?:day)?",
    re.IGNORECASE,
)


class Ids(NamedTuple):
    """The ids of a header, in order; ``doubt`` says what is wrong with it, if anything."""

    ids: tuple[str, ...] = ()
    doubt: str = ""


class _Found(NamedTuple):
    """The text in angle brackets, with the words on both sides of it."""

    text: str
    before: str
    after: str

    @property
    def is_address(self) -> bool:
        """Whether the words speak of a person: ``from Ann <…>``, ``<…> wrote``."""
        said = _SAID_BEFORE.search(self.before)
        # A quoted name may have any word in it.
        by_somebody = said and not _DATED.search(re.sub(r'"[^"]*"', "", said.group()))
        return bool(by_somebody or _SAID_AFTER.match(self.after))

    @property
    def may_be_address(self) -> bool:
        """Whether a name stands before it, and no number anywhere."""
        word = _LAST_WORD.search(self.before)
        if word is None or re.search(r"\d", self.before + self.text.partition("@")[0]):
            return False
        name = word.group().strip(' \t\r\n.,;:"')
        return name[:1].isupper() and not _NO_NAME.fullmatch(name)


def ids_in(raw: bytes) -> Ids:
    """The ids of ``Message-ID`` and ``References``, where nothing else should stand.

    >>> ids_in(b"<1@a.example> < 2@a.example >")
    Ids(ids=('1@a.example', '2@a.example'), doubt='has white space in an id')
    >>> ids_in(b"&lt;1@a.example&gt; 2@a.example").ids
    ('1@a.example', '2@a.example')
    """
    texts, between, doubt = _pieces(raw)
    ids: list[str] = []
    for place, words in enumerate(between):
        # No address stands here, so that what looks like an id is one.
        bare = _bare(words)
        doubt = doubt or ("has an id without angle brackets" if bare else "")
        ids += [*bare, *texts[place : place + 1]]
    first = _words(between[0])
    if not ids and len(first) == 1:
        return Ids(tuple(first), "has an id without angle brackets")
    return Ids(tuple(ids), doubt if ids or not first else "has no id")


def answered_in(raw: bytes, references: Collection[str]) -> Ids:
    """The ids of ``In-Reply-To``, without the addresses that stand there.

    What ``References`` has, too, is an id. Else words tell which is which; where they tell nothing
    it is said what was taken.

    >>> answered_in(b'Message from Ann <ann@a.example> of "3 Jan" <1@a.example>', ())
    Ids(ids=('1@a.example',), doubt='has an address beside the id')
    >>> answered_in(b"Ann <ann@a.example>'s message of Monday", ())
    Ids(ids=(), doubt='seems to have an address alone: ann@a.example')
    """
    texts, between, doubt = _pieces(raw)
    bare = [one for words in between for one in _bare(words)]
    agreed = [one for one in (*texts, *bare) if one in references]
    if agreed:
        return Ids(tuple(agreed), doubt)
    if not texts:
        if len(bare) == len(_words(between[0])):
            return Ids(tuple(bare), doubt or ("has an id without angle brackets" if bare else ""))
        what = f"has words, and {bare[0]} without angle brackets" if bare else "has words alone"
        return Ids((), "" if references and not bare else what)
    found = [_Found(*one) for one in zip(texts, between, between[1:], strict=False)]
    ids = [one for one in found if not one.is_address]
    ids = [one for one in ids if not one.may_be_address]
    if not ids:
        return Ids((), f"seems to have an address alone: {found[0].text}")
    if len(ids) < len(found):
        doubt = doubt or "has an address beside the id"
    elif len(ids) > 1 and any(map(_words, between)):
        doubt = doubt or f"has {len(ids)} ids among words: {ids[0].text} counts"
    return Ids(tuple(one.text for one in ids), doubt)


def _words(text: str) -> list[str]:
    return [word for word in _BETWEEN_WORDS.split(text) if word]


def _bare(text: str) -> list[str]:
    return [word for word in _words(text) if _BARE.fullmatch(word)]


def _pieces(raw: bytes) -> tuple[list[str], list[str], str]:
    """Return the texts in angle brackets, the words around and between them, and doubts.

    The text counts as it is written; only where that has no brackets, decoded.
    """
    text = written = plain(raw)
    for escaped, meant in _ESCAPED:
        text = escaped.sub(meant, text)
    doubt = "" if text == written else "has brackets that are escaped as in HTML"
    text = text if "<" in text else text_of(raw) or ""
    # Words and what is in brackets take turns.
    parts, inside = [""], False
    for token in tokens(text):
        if token.text == "<":
            if inside:  # nothing closed the one before
                parts[-2:] = [f"{parts[-2]} {parts[-1]} "]
            parts.append("")
            inside = True
        elif token.text == ">" and inside:
            parts.append("")
            inside = False
        elif inside or token.kind != "comment":
            parts[-1] += token.text
    if inside:
        parts[-2:] = [f"{parts[-2]} {parts[-1]}"]
    texts, between = [], [parts[0]]
    for inner, words in zip(parts[1::2], parts[2::2], strict=True):
        # White space around its parts is an obsolete form (RFC 5322, section 4.5.4).
        one = one_line("".join(inner.split()) if "@" in inner else inner)
        if one is None or " " in one:
            between[-1] += f" {inner} {words}"
            continue
        doubt = doubt or ("has white space in an id" if one != inner else "")
        texts.append(one)
        between.append(words)
    return texts, between, doubt
