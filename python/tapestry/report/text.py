"""Formats numbers, lengths of time and instants for people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta

from tapestry.words import counted

_STEPS = ((86400 * 365, "year"), (86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def length(time: timedelta | None) -> str:
    """Return a length of time in its largest unit, and the next one if the first is small.

    >>> length(timedelta(days=3, hours=5)), length(timedelta(minutes=1)), length(timedelta(0))
    ('3 days', '1 minute', 'less than a second')
    >>> length(timedelta(hours=1, minutes=20)), length(None)
    ('1 hour 20 minutes', '–')
    """
    if time is None:
        return "–"
    left = int(time.total_seconds())
    for place, (size, unit) in enumerate(_STEPS):
        if left >= size:
            count, rest = divmod(left, size)
            text = counted(count, unit)
            if count < 3 and place + 1 < len(_STEPS):
                smaller = rest // _STEPS[place + 1][0]
                text += f" {counted(smaller, _STEPS[place + 1][1])}" if smaller else ""
            return text
    return "less than a second"


def ago(instant: datetime | None, now: datetime) -> str:
    """Return the time before now in words; an instant in the future is marked.

    >>> noon = datetime(2026, 1, 1, 12)
    >>> ago(datetime(2026, 1, 1, 9), noon), ago(datetime(2026, 1, 2, 12), noon), ago(None, noon)
    ('3 hours ago', 'in 1 day', 'never')
    """
    if instant is None:
        return "never"
    if instant > now:
        return f"in {length(instant - now)}"
    return "just now" if now - instant < timedelta(seconds=1) else f"{length(now - instant)} ago"


def instant(moment: datetime | None) -> str:
    """Return an instant to the second, in UTC; a midnight as the date alone.

    >>> instant(datetime(2026, 1, 1)), instant(datetime(2026, 1, 1, 9, 5, 1, 17)), instant(None)
    ('2026-01-01', '2026-01-01 09:05:01', '–')
    """
    if moment is None:
        return "–"
    midnight = not (moment.hour or moment.minute or moment.second or moment.microsecond)
    return f"{moment:%Y-%m-%d}" if midnight else f"{moment:%Y-%m-%d %H:%M:%S}"


def number(value: float | None) -> str:
    """Return a count with commas.

    >>> number(1234567), number(None)
    ('1,234,567', '–')
    """
    return "–" if value is None else f"{value:,.0f}"


def seconds(value: float | None) -> str:
    """Return a cost in seconds, with a sensible precision.

    >>> seconds(0.234), seconds(7.25), seconds(1234.5), seconds(None)
    ('0.23 s', '7.2 s', '1,234 s', '–')
    """
    if value is None:
        return "–"
    return f"{value:.2f} s" if value < 1 else f"{value:.1f} s" if value < 100 else f"{value:,.0f} s"


def size(value: float | None) -> str:
    """Return a number of bytes in powers of 1,000.

    >>> size(999), size(1_500_000), size(None)
    ('999 B', '1.5 MB', '–')
    """
    if value is None:
        return "–"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError


def models_by_kind(materialized: Iterable[str]) -> str:
    """Return the number of models of each of our kinds.

    >>> models_by_kind(["maintained", "continuous", "maintained"]), models_by_kind([])
    ('1 continuous model, 2 maintained models', '0 models of ours')
    """
    told = sorted(Counter(materialized).items())
    return ", ".join(counted(n, f"{kind} model") for kind, n in told) or "0 models of ours"


def first_lines(text: str, lines: int = 5, width: int = 400) -> str:
    """Return the beginning of a message, cut with an ellipsis.

    >>> first_lines("a\\nb\\nc", lines=2)
    'a\\nb\\n…'
    """
    kept = text.strip().splitlines()
    cut = [line if len(line) <= width else line[: width - 1] + "…" for line in kept[:lines]]
    return "\n".join([*cut, "…"] if len(kept) > lines else cut)


def natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts m2 before m10.

    >>> sorted(["m10", "m2", "m"], key=natural)
    ['m', 'm2', 'm10']
    """
    parts = re.findall(r"\d{1,18}|\D+", name)  # what is longer is no number that counts
    return [(int(part), "") if part.isdecimal() else (-1, part.lower()) for part in parts]
