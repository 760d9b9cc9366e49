"""Random cells x types: what is taken is the value that was meant, in every session.

The oracle is the value of which a text was made; of a text that was changed at random, Spark's own
reading of it, where it has one.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.seeds import seed

from tapestry.quoting import string
from tapestry.runs.engine.written_values import UnfitError, reader_of

CELLS = 150
Made = tuple[str, Any]
"""A text, and the value that it means: an instant in microseconds."""


def _padded(chance: Random, text: str) -> str:
    return chance.choice((text, text, f" {text}", f"{text}  "))


def _whole(bits: int) -> Callable[[Random], Made]:
    def make(chance: Random) -> Made:
        end = 2 ** (bits - 1)
        number = chance.choice((-end, end - 1, 0, chance.randrange(-end, end)))
        forms = (f"{number}", f"{number:+}", f"{number}.0", f"{'-' * (number < 0)}00{abs(number)}")
        return _padded(chance, chance.choice(forms)), number

    return make


def _decimal(precision: int, scale: int) -> Callable[[Random], Made]:
    def make(chance: Random) -> Made:
        digits = chance.randrange(10 ** chance.randint(1, precision)) * chance.choice((1, -1))
        number = Decimal(digits).scaleb(-scale)
        forms = (f"{number:f}", f"{number:E}", f"{number:f}" + "0" * bool(scale))
        return _padded(chance, chance.choice(forms)), number

    return make


def _double(chance: Random) -> Made:
    (number,) = struct.unpack("d", chance.randbytes(8))
    if math.isnan(number):
        return chance.choice(("NaN", "nan")), math.nan
    if math.isinf(number):
        return ("Infinity" if number > 0 else "-inf"), number
    return _padded(chance, repr(number)), number


def _float(chance: Random) -> Made:
    (number,) = struct.unpack("f", chance.randbytes(4))
    return repr(number), number


def _local(chance: Random) -> datetime:
    moment = datetime(1, 1, 2) + timedelta(
        days=chance.randrange(3_652_000), microseconds=chance.randrange(86_400_000_000)
    )
    return moment.replace(microsecond=chance.choice((0, moment.microsecond)))


def _micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)


def _when(chance: Random, moment: datetime) -> str:
    day = f"{moment.year:04}-{moment.month}-{moment.day}"
    text = chance.choice((moment.isoformat(), f"{day} {moment.time().isoformat()}"))
    return text + ("00" if moment.microsecond and chance.random() < 0.3 else "")


def _ntz(chance: Random) -> Made:
    moment = _local(chance)
    return _padded(chance, _when(chance, moment)), _micros(moment)


def _timestamp(chance: Random) -> Made:
    moment, minutes = _local(chance), chance.randrange(-720, 720)
    sign, (hours, rest) = "-" if minutes < 0 else "+", divmod(abs(minutes), 60)
    zone = chance.choice((f"{sign}{hours:02}:{rest:02}", f" {sign}{hours:02}:{rest:02}"))
    return f"{_when(chance, moment)}{zone}", _micros(moment) - minutes * 60_000_000


def _date(chance: Random) -> Made:
    day = date(1, 1, 1) + timedelta(days=chance.randrange(3_652_000))
    forms = (f"{day}", f"{day.year:04}-{day.month}-{day.day}", f"{day} 00:00:00", f"{day}T00:00")
    return _padded(chance, chance.choice(forms)), day


def _boolean(chance: Random) -> Made:
    text = chance.choice(("true", "T", "yes", "Y", "1", "false", "f", "No", "n", "0"))
    return _padded(chance, text), text.lower() in ("true", "t", "yes", "y", "1")


def _text(chance: Random) -> Made:
    text = "".join(chance.choice("aÄ'\"\\${}\n\t\x00😀 ") for _ in range(chance.randrange(6)))
    return text, text


MAKERS: dict[str, Callable[[Random], Made]] = {
    **{"tinyint": _whole(8), "smallint": _whole(16), "int": _whole(32), "bigint": _whole(64)},
    **{"decimal(10,0)": _decimal(10, 0), "decimal(7,2)": _decimal(7, 2)},
    **{"decimal(38,18)": _decimal(38, 18), "decimal(3,3)": _decimal(3, 3)},
    **{"double": _double, "float": _float, "boolean": _boolean, "date": _date},
    **{"timestamp": _timestamp, "timestamp_ntz": _ntz},
    **{"string": _text, "varchar(5)": _text, "char(5)": _text},
    "binary": lambda chance: (lambda made: (made[0], made[0].encode()))(_text(chance)),
}


def _changed(chance: Random, text: str) -> str:
    """One character more, less or another."""
    place = chance.randrange(len(text) + 1)
    put = chance.choice(("", *"0123456789", *"-+.:eEdfTZ_,/ x１"))
    return text[:place] + put + text[place + chance.randrange(2) :]


def _taken(kind: str) -> Iterator[tuple[str, str, Any]]:
    """Texts as they were read, as they were, and what they mean (...: whatever Spark says)."""
    chance, reader = Random(f"{seed()} {kind}"), reader_of(kind)
    assert reader is not None
    for _ in range(CELLS):
        text, value = MAKERS[kind](chance)
        yield reader(text), text, value
        try:
            other = _changed(chance, text)
            yield reader(other), other, ...
        except UnfitError:
            continue


def _asked(kind: str) -> tuple[str, str]:
    """A value as something that can be compared, of a cast and of a cast that may fail."""
    form = {
        "timestamp": "unix_micros({0})",
        "timestamp_ntz": "unix_micros(cast(concat(cast({0} as string), 'Z') as timestamp))",
    }.get(kind, "{0}")
    return form.format(f"cast(c as {kind})"), form.format(f"try_cast(o as {kind})")


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("kind", MAKERS)
def test_what_is_taken_is_what_was_meant(spark: SparkSession, kind: str, ansi: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", ansi)
    session.conf.set("spark.sql.session.timeZone", "UTC")
    cells = list(_taken(kind))
    rows = ", ".join(
        f"({n}, {string(read)}, {string(text)})" for n, (read, text, _) in enumerate(cells)
    )
    cast, tried = _asked(kind)
    found = session.sql(
        f"SELECT {cast}, {tried} FROM VALUES {rows} AS cells(n, c, o) ORDER BY n"
    ).collect()
    for (read, text, value), (ours, theirs) in zip(cells, found, strict=True):
        told = f"{kind}: {text!r} read as {read!r}"
        assert ours is not None, told
        ours = bytes(ours) if kind == "binary" else ours
        if value is not ...:
            assert ours == value or (ours != ours and value != value), told
        elif theirs is not None:
            theirs = bytes(theirs) if kind == "binary" else theirs
            assert ours == theirs or (ours != ours and theirs != theirs), told
