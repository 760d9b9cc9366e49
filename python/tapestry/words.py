"""Numbers with their nouns, names and errors, for people."""

from __future__ import annotations

import re

_CAUSE = re.compile(
    r"^(?:Caused by)?:? ?[\w.$]+(?:Exception|Error): (\[[A-Z][A-Z0-9_.]+\].*)$", re.MULTILINE
)
STACK = re.compile(r"^\s*(at [\w.$<>/]+\(|\.\.\. \d+ more|Caused by:)", re.MULTILINE)
"""The beginning of the stack trace in the text of a Java error."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "run"), counted(2000, "run"), counted(0, "match", "matches")
    ('1 run', '2,000 runs', '0 matches')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def with_article(noun: str) -> str:
    """Return a noun behind its indefinite article.

    >>> with_article("rule"), with_article("action")
    ('a rule', 'an action')
    """
    return f"{'an' if noun[:1] in 'aeio' else 'a'} {noun}"


def size_text(size: int) -> str:
    """A number of bytes as people read it.

    >>> size_text(0), size_text(34304), size_text(5 * 2**30)
    ('0 B', '33.5 KiB', '5.0 GiB')
    """
    amount, units = float(size), ["B", "KiB", "MiB", "GiB", "TiB"]
    while amount >= 1024 and len(units) > 1:
        amount /= 1024
        units.pop(0)
    return f"{amount:.0f} B" if units[0] == "B" else f"{amount:.1f} {units[0]}"


def printable(text: str) -> str:
    r"""Text from outside on one line of a terminal: what is no character to show is escaped.

    >>> printable("a\x1b[2J\nb"), printable("Grüße.mbox"), printable("\udcff")
    ('a\\x1b[2J\\nb', 'Grüße.mbox', '\\udcff')
    """
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
    )


def without_stack(text: str) -> str:
    r"""Take the stack of Java out of an error's text.

    Of a chain of causes the innermost one counts that has one of Spark's error classes.

    >>> without_stack("o7\n: x.AException: [ODD] no\n\tat a.b(c)\nCaused by: x.BError: [LOW] why")
    '[LOW] why'
    >>> without_stack("[NOT_FOUND] no table\n\nJVM stacktrace:\nx.YException")
    '[NOT_FOUND] no table'
    """
    causes = _CAUSE.findall(text)
    if causes:
        return str(causes[-1]).strip()
    place = STACK.search(text)
    return (text[: place.start()] if place else text).split("\nJVM stacktrace")[0].strip()
