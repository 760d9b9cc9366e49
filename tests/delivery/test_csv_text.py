"""CSV keeps numbers as they are."""

from __future__ import annotations

import csv
import io

from tapestry.delivery.csv_text import as_csv


def test_csv_keeps_numbers_as_they_are() -> None:
    rows = ['{"a": 12345678901234567890.10, "b": "x,\\"y\\"\\nz", "c": [1, null], "d": true}']
    (row,) = list(csv.DictReader(io.StringIO(as_csv(rows, list("abcd")), newline="")))
    assert row == {"a": "12345678901234567890.10", "b": 'x,"y"\nz', "c": '["1", null]', "d": "true"}
