"""Makes characters visible on which a terminal, a mail reader or a file system would act.

A control character becomes its picture (``␍`` for a carriage return), and what has no picture
becomes ``�``: it can be seen that something stood there, and it does nothing any more.
"""

from __future__ import annotations

import re

_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421"}
# Without pictures: C1 controls, surrogates that stand alone, the separators of lines and
# paragraphs, and what reorders the text around it (embeddings, overrides, isolates).
_NAMELESS = re.compile(r"[\x80-\x9f\ud800-\udfff\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_NO_TEXT = re.compile(r"[\x80-\x9f\ud800-\udfff]")
_LINES = {code: picture for code, picture in _PICTURES.items() if chr(code) not in "\t\n"}


def one_line(text: str) -> str:
    """A text for a place of one line: a header, a name.

    >>> one_line("x\\r\\nBcc: evil@example.org")
    'x␍␊Bcc: evil@example.org'
    """
    return _NAMELESS.sub("\ufffd", text.translate(_PICTURES))


def many_lines(text: str) -> str:
    """A text for a body: ends of lines and tabs stay, and so does what writes from right to left.

    >>> many_lines("a\\r\\nb\\x1b[2Jc")
    'a\\nb␛[2Jc'
    """
    return _NO_TEXT.sub("\ufffd", text.replace("\r\n", "\n").translate(_LINES))


def file_name(text: str) -> str:
    """A text as one part of a path: no separators, no hidden or parent folder, of bounded length.

    >>> file_name("../../etc/passwd"), file_name("Größe.v2")
    ('_.._etc_passwd', 'Größe.v2')
    """
    plain = re.sub(r'[/\\:*?"<>|]', "_", one_line(text)).lstrip(".")
    return plain.encode("utf-8")[:150].decode("utf-8", "ignore") or "_"
