"""Decodes the text of a header once, whatever its encoding claims to be, in bounded time."""

from __future__ import annotations

import encodings.aliases
import re
from collections.abc import Iterator
from email.errors import MessageError
from email.header import decode_header
from itertools import groupby

LONGEST = 2**13
"""Bytes of a header that are decoded, or parsed as addresses.

The email package takes time that grows with the square of what it is given: 0.1 s for the worst
text of this length, and minutes for a mebibyte.
"""

# Character sets alone. Python also knows codecs that unpack or rewrite (zlib, punycode,
# unicode_escape), and looks for the others by importing a module of the name.
_CHARACTER_SET = re.compile(
    r"ascii|utf_(7|8|8_sig|16|16_be|16_le|32|32_be|32_le)|latin_1|iso8859_\d+|cp\d+|koi8_[rtu]"
    r"|gb2312|gbk|gb18030|hz|big5|big5hkscs|euc_(jp|jis_2004|jisx0213|kr)|iso2022_(jp(_\w+)?|kr)"
    r"|shift_jis(_2004|x0213)?|johab|tis_620|mac_[a-z]\w*|ptcp154|kz1048|hp_roman8"
)
_WORD = re.compile(rb"=\?[^?\s]*\?[bq]\?.*?\?=", re.IGNORECASE)
_BASE64 = re.compile(rb"=\?[^?]*\?b\?([a-z0-9+/\s]*)={0,2}\s*\?=", re.IGNORECASE)


def text_of(raw: bytes) -> str | None:
    """A header on one line; bytes that fit no encoding are replaced, not dropped.

    A word that is encoded (RFC 2047) is decoded once: what it decodes to is text, even where that
    looks like an encoded word or like another header. One in an unknown character set, or that is
    broken, stays as it is written.

    >>> text_of(b"=?utf-8?q?=3D=3Futf-8=3Fq=3F=3D0D=3D0ABcc=3F=3D?=")
    '=?utf-8?q?=0D=0ABcc?='
    """
    line = b" ".join(raw[:LONGEST].split())
    pieces: list[tuple[bytes, str]] = []
    end, after_word = 0, False
    # No word ends behind the last end of one. So each beginning that is found has an end, and the
    # search goes over the line once.
    for word in _WORD.finditer(line, 0, line.rfind(b"?=") + 2):
        between = line[end : word.start()]
        data, codec = _decode_word(word.group())
        if not (after_word and codec and between.isspace()):
            pieces.append((between, "utf-8"))
        pieces.append((data, codec or "utf-8"))
        end, after_word = word.end(), codec is not None
    pieces.append((line[end:], "utf-8"))
    # Words that follow each other are decoded together: a character can begin in one of them and
    # end in the next.
    together = ((codec, b"".join(data for data, _ in same)) for codec, same in _runs(pieces))
    return one_line("".join(data.decode(codec, "replace") for codec, data in together))


def _runs(pieces: list[tuple[bytes, str]]) -> Iterator[tuple[str, Iterator[tuple[bytes, str]]]]:
    return groupby((piece for piece in pieces if piece[0]), key=lambda piece: piece[1])


def _decode_word(word: bytes) -> tuple[bytes, str | None]:
    """The bytes of an encoded word and their codec; the word itself and None if it is no word.

    Python leaves out what is no base64, and what follows padding: such a word is none here.
    """
    if word.split(b"?", 3)[2] in b"bB":
        base64 = _BASE64.fullmatch(word)
        if base64 is None or len(b"".join(base64[1].split())) % 4 == 1:
            return word, None
    try:
        ((data, charset),) = decode_header(word.decode("ascii"))
        codec = _codec_of(charset or "")
        b"".decode(codec)
    except (ValueError, LookupError, MessageError):
        return word, None
    return data, codec


def one_line(text: str) -> str | None:
    """Text that every reader takes: no line ends, no NUL, no half of a surrogate pair."""
    whole = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
    return " ".join(whole.split()) or None


def plain(raw: bytes) -> str:
    """Return the header's text without decoding encoded words."""
    return raw.decode("ascii", "replace")


def _codec_of(charset: str) -> str:
    """Python's name of a character set; LookupError for what is none, without asking Python."""
    name = re.sub(r"[^a-z0-9]+", "_", charset.partition("*")[0].lower()).strip("_")
    name = encodings.aliases.aliases.get(name, name)
    if not _CHARACTER_SET.fullmatch(name):
        raise LookupError(charset)
    return name
