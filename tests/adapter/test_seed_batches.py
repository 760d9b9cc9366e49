"""A seed's file as the statements that load it."""

from __future__ import annotations

import csv
import datetime as dt
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest
from dbt_common.clients.agate_helper import from_csv
from tests.seeds import seeds

from dbt.adapters.tapestry.impl import TapestryAdapter
from dbt.adapters.tapestry.seeds import (
    SeedColumn,
    SeedFile,
    read_cells,
    seed_batches,
    typed_columns,
)
from tapestry.errors import ConfigurationError


def test_an_empty_seed_keeps_its_columns() -> None:
    columns = [SeedColumn("id", "bigint"), SeedColumn("na`me", "string")]
    (select,) = seed_batches(columns, [])
    assert select.startswith("select cast(c0 as bigint) as `id`, cast(c1 as string) as `na``me`")
    assert select.endswith("where false")


def test_a_seed_holds_what_its_file_does() -> None:
    """Names and values as they are: no variable of Spark's, and nothing that ends a literal."""
    columns = [SeedColumn("id", "bigint"), SeedColumn("a -- b", "string")]
    (select,) = seed_batches(columns, [("1", "${env:HOME}"), ("2", "it's"), (None, "\\")])
    assert "as `a -- b`" in select
    assert "('1', ('$' || '{env:HOME}'))" in select
    assert "('2', ('it' || CAST(X'27' AS STRING) || 's'))" in select
    assert "(cast(null as string), CAST(X'5C' AS STRING))" in select
    assert "${" not in select


def _read(
    folder: Path, text: str, types: dict[str, str], delimiter: str = ","
) -> tuple[list[SeedColumn], list[tuple[Any, ...]]]:
    path = folder / "s.csv"
    path.write_bytes(text.encode())
    table = from_csv(path, types, delimiter)

    def asked(kind: str, texts: Sequence[str]) -> frozenset[str]:
        assert kind == "interval day to second"
        return frozenset(text for text in texts if not text[:1].isdigit())

    columns = typed_columns(table, types, lambda n: TapestryAdapter.convert_type(table, n) or "")
    file = SeedFile(path, "seeds/s.csv", delimiter)
    return columns, read_cells(table, columns, file, lambda: dt.timezone.utc, asked)


def test_with_a_type_the_text_of_the_file_counts(tmp_path: Path) -> None:
    """Whatever agate made of it, and in whatever letters the type's key is."""
    columns, rows = _read(
        tmp_path,
        '\ufeffid;code;note\n001;001;"a\r\nb"\nnull;" NULL ";""\n2;yes; x \n',
        {"ID": "string", "code": "string"},
        ";",
    )
    assert [str(column) for column in columns] == ["id string", "code string", "note string"]
    assert rows == [("001", "001", "a\r\nb"), (None, None, None), ("2", "yes", " x ")]


def test_without_a_type_the_guess_of_dbt_counts(tmp_path: Path) -> None:
    columns, rows = _read(
        tmp_path,
        "n,x,d,t,b,s\n001,0.5,2026-1-3,20260103T101112Z,True,yes\n1e3,2,,2026-01-03T10:00:00+02:00,,\n",
        {},
    )
    kinds = ["bigint", "double", "date", "timestamp", "boolean", "string"]
    assert [(column.kind, column.guessed) for column in columns] == [(kind, True) for kind in kinds]
    assert rows == [
        ("1", "0.5", "2026-01-03", "2026-01-03 10:11:12.000000+00:00", "true", "yes"),
        ("1000", "2", None, "2026-01-03 08:00:00.000000+00:00", None, None),
    ]


@pytest.mark.parametrize(
    ("text", "types", "told"),
    [
        (
            'a,b\n1,"x\ny"\nabc,"x\n\nz"\n3000000000,4\n',
            {"a": "int", "b": "varchar(3)"},
            [
                "3 cells do",
                "line 4, a int: 'abc'",
                "line 4, b varchar(3): 'x\\n\\nz' has 4",
                "line 7",
            ],
        ),
        ('a\n"1,5"\n', {}, ["line 2, a bigint: '1,5' is no number", "dbt has guessed"]),
        ("a\n50%\n", {}, ["'50%'"]),
        ("a\n1_000\n", {}, ["'1_000'"]),
        ("a\n99999999999999999999\n", {}, ["a bigint: '99999999999999999999' is not between"]),
        ("a\n1.5\n1e400\n", {}, ["line 3, a double: '1e400' is too great"]),
        ("a\n2026-01-01T00:00:00.1234567\n", {}, ["has more than six digits of a second"]),
        (
            "a,b\n1,2\n\n3\nx,4\n",
            {"a": "int"},
            ["3 cells do", "line 3, an empty line", "line 4, 1 cells, and the header has 2"],
        ),
        ("a\n1 day\nx\n", {"a": "interval day to second"}, ["line 3", "'x' cannot be cast"]),
        ("a\n\x1b[2J" + "x" * 99 + "\n", {"a": "date"}, ["'\\x1b[2Jxxx", "…'"]),
    ],
)
def test_a_cell_that_does_not_fit(
    tmp_path: Path, text: str, types: dict[str, str], told: list[str]
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        _read(tmp_path, text, types)
    said = str(raised.value)
    assert said.startswith("seeds/s.csv: ")
    assert all(part in said for part in told), said
    assert len(said.splitlines()) <= 5
    assert "column_types" in said


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b\n1,2\n\n", ["a line does", "line 3, an empty line, which would be a row of NULLs"]),
        ("a,b\r\n1,2\r\n3\r\n\r\n", ["2 lines do", "line 3, 1 cells", "line 4, an empty line"]),
    ],
)
def test_of_lines_it_says_what_to_do_with_them(tmp_path: Path, text: str, told: list[str]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        _read(tmp_path, text, {})
    said = str(raised.value)
    assert all(part in said for part in [*told, "take out empty lines"]), said
    assert "column_types" not in said


def test_an_empty_line_of_one_column_is_null(tmp_path: Path) -> None:
    assert _read(tmp_path, "a\n1\n\n2\n", {"a": "int"})[1] == [("1",), (None,), ("2",)]


CELLS: dict[str, tuple[dict[str, str | None], tuple[str, ...]]] = {
    "int": ({"7": "7", "-3.0": "-3", "": None, "Null": None}, ("abc", "1.5", "3000000000")),
    "decimal(5,2)": ({"1.50": "1.50", " 2 ": "2"}, ("1.005", "1,5", "1000")),
    "date": ({"2026-1-3": "2026-01-03", "": None}, ("2026-02-30", "3/1/2026")),
    "boolean": ({"YES": "true", "0": "false"}, ("maybe", "ja\nnein")),
    "varchar(3)": ({"a\nb": "a\nb", 'a"b': 'a"b', " ; ": " ; ", "001": "001"}, ("four", "\r\n\n.")),
    "string": ({"x\r\ny": "x\r\ny", "\\N": "\\N", "é": "é", " null ": None}, ()),
}
"""Texts of each type with what is read of them, and texts that are none of it."""


@pytest.mark.parametrize("case", seeds(60))
def test_random_files(tmp_path: Path, case: int) -> None:
    """Any cells in any form of CSV: all are read, or those that do not fit are told with lines."""
    chance = Random(case)
    kinds = chance.choices(list(CELLS), k=chance.randint(2, 6))
    names = [f"c{place}" for place in range(len(kinds))]
    delimiter, end = chance.choice(",;|\t"), chance.choice(("\n", "\r\n"))
    written = StringIO()
    quoting = chance.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    writer = csv.writer(written, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow(names)
    expected: list[tuple[str | None, ...]] = []
    misfits: list[str] = []
    for _ in range(chance.randint(0, 12)):
        line = len(written.getvalue().replace("\r\n", "\n").split("\n"))
        row: list[tuple[str, str | None]] = []
        for name, kind in zip(names, kinds, strict=True):
            fit, unfit = CELLS[kind]
            if unfit and chance.random() < 0.05:
                row.append((chance.choice(unfit), None))
                misfits.append(f"line {line}, {name} {kind}: {row[-1][0]!r} ")
            else:
                row.append(chance.choice(list(fit.items())))
        writer.writerow([text for text, _ in row])
        expected.append(tuple(read for _, read in row))
    bom = chance.choice(("", "\ufeff"))
    types = dict(zip(names, kinds, strict=True))
    if not misfits:
        assert _read(tmp_path, bom + written.getvalue(), types, delimiter)[1] == expected
        return
    with pytest.raises(ConfigurationError) as raised:
        _read(tmp_path, bom + written.getvalue(), types, delimiter)
    said = str(raised.value)
    assert f"{len(misfits)} cells do not" in said or (
        len(misfits) == 1 and "a cell does not" in said
    )
    for told in misfits[:3]:
        assert told in said, said
