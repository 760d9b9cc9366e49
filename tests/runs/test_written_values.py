"""Texts as values of a type: exactly, or refused.

`tests/spark/test_written_on_spark.py` asks whether Spark takes what they give for the same values.
"""

from __future__ import annotations

from datetime import timezone
from zoneinfo import ZoneInfo

import pytest

from tapestry.runs.engine.written_values import UnfitError, reader_of

READ = {
    "int": {" 7 ": "7", "1.0": "1", "1e3": "1000", "-2147483648": "-2147483648", "+5": "5"},
    "bigint": {"9007199254740993": "9007199254740993"},
    "decimal(7, 2)": {"12345.600": "12345.600", "1e2": "100", "0e-99999999": "0", ".5": "0.5"},
    "numeric": {"1234567890": "1234567890"},
    "DOUBLE": {"1e308": "1e308", "nan": "NaN", "-inf": "-Infinity", "5e-324": "5e-324"},
    "float": {"16777217": "16777217", "+Infinity": "Infinity"},
    "boolean": {"YES": "true", "0": "false", " t ": "true"},
    "date": {"2026-1-3": "2026-01-03", "2024-02-29T00:00:00.000": "2024-02-29"},
    "timestamp": {
        "2026-01-03": "2026-01-03 00:00:00.000000",
        "2026-01-03T10:00": "2026-01-03 10:00:00.000000",
        "2026-01-03 1:2:3.1234560 +02": "2026-01-02 23:02:03.123456+00:00",
        "2026-01-03 10:00 Europe/Berlin": "2026-01-03 09:00:00.000000+00:00",
        "2026-01-03 10:00:00Z": "2026-01-03 10:00:00.000000+00:00",
    },
    "timestamp_ntz": {"2026-03-29 02:30": "2026-03-29 02:30:00.000000"},
    "varchar(3)": {"äöü": "äöü", "   ": "   "},
    "string": {" 1_000 ": " 1_000 "},
    "binary": {"\x00": "\x00"},
}
REFUSED = {
    "int": (
        "abc",
        "3000000000",
        "1_000",
        "1.9",
        "1e999999999",
        "１",
        "0x1",
        "9" * 5000,
        "1 2",
        "NaN",
    ),
    "smallint": ("99999", "-32769"),
    "decimal(7,2)": ("12345.678", "1,234.50", "100000", "0.001", "1e-999999999", "NaN", "$5", "5%"),
    "double": ("1e400", "-1e400", "1e-400", "1.5d", "0x1p3", "1,5", "-NaN", ""),
    "float": ("1e39", "1e-60"),
    "boolean": ("maybe", "2", "wahr"),
    "date": (
        "2/3/2026",
        "2026-02-30",
        "2026-01-03 10:00",
        "2026",
        "99999",
        "2026-01-03Z",
        "20260103",
    ),
    "timestamp": (
        *("25:00:00", "10:00", "2026-01-01 25:00", "2026-01-01 10:00:00.1234567", "now"),
        *("2026-01-01 10:00 ../../etc/passwd", "2026-01-01 10:00+19", "2026-01-01 x"),
        "0001-01-01 00:00+10:00",
    ),
    "timestamp_ntz": ("2026-01-01 10:00Z", "2026-02-29"),
    "varchar(3)": ("toolong",),
    "char(3)": ("abc ",),
}


@pytest.mark.parametrize(
    ("kind", "text", "read"), [(k, t, r) for k, texts in READ.items() for t, r in texts.items()]
)
def test_what_fits_is_read_exactly(kind: str, text: str, read: str) -> None:
    reader = reader_of(kind)
    assert reader is not None
    assert reader(text) == read


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in REFUSED.items() for text in texts]
)
def test_what_does_not_fit_is_refused(kind: str, text: str) -> None:
    reader = reader_of(kind)
    assert reader is not None
    with pytest.raises(UnfitError):
        reader(text)


def test_a_time_that_the_clocks_skip_is_none() -> None:
    reader = reader_of("timestamp", ZoneInfo("Europe/Berlin"))
    assert reader is not None
    assert reader("2026-03-29 03:30") == "2026-03-29 03:30:00.000000"
    assert reader("2026-10-25 02:30") == "2026-10-25 02:30:00.000000"
    for text in ("2026-03-29 02:30", "2026-03-29 02:00 America/New_York"):
        if "New" in text:
            assert reader(text).endswith("06:00:00.000000+00:00")
        else:
            with pytest.raises(UnfitError, match="skipped by the clocks"):
                reader(text)


@pytest.mark.parametrize(
    "kind", ["array<int>", "struct<a:int>", "map<string,int>", "interval day to second", "text"]
)
def test_of_other_types_only_spark_knows(kind: str) -> None:
    assert reader_of(kind, timezone.utc) is None
