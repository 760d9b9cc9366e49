"""Numbers with their nouns, for people."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "run"), counted(2000, "run"), counted(0, "match", "matches")
    ('1 run', '2,000 runs', '0 matches')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
