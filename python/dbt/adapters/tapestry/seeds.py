"""Reads a seed's cells, and renders its rows as SQL.

Each cell is exactly a value of its column's type, or the seed is refused.

dbt has agate guess the types of the columns that `column_types` does not name, and gives the
values without their lines. So the file is read once more: a cell's own text counts.
"""

from __future__ import annotations

import csv
import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tapestry.errors import ConfigurationError
from tapestry.quoting import Sql, authored, identifier, string
from tapestry.runs.engine.session import Session
from tapestry.runs.engine.written_values import Reader, UnfitError, reader_of

if TYPE_CHECKING:
    import agate

NULLS = ("null", "")
"""The texts that dbt reads as NULL, in any case and between spaces, in columns of every type."""
SHOWN = 3
BATCH = 5000
"""Rows of a statement."""
_CUT_FRACTION = re.compile(r"[.,]\d{7}")
Cell = str | None
Asked = Callable[[str, Sequence[str]], frozenset[str]]
"""Tells for a type which of some texts Spark cannot cast to it."""


@dataclass(frozen=True)
class SeedColumn:
    """A column of a seed's table; ``guessed``: the project does not give its type."""

    name: str
    kind: str
    guessed: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.kind}"


@dataclass(frozen=True)
class SeedFile:
    """The file of a seed's rows: ``shown`` is its path in messages."""

    path: Path | None
    shown: str
    delimiter: str = ","

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of each row, and the line on which it begins.

        Lines are counted from 1, the header's; a cell in quotes can have several.
        """
        assert self.path is not None
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=self.delimiter)
            next(reader, None)
            line = reader.line_num + 1
            for cells in reader:
                yield line, cells
                line = reader.line_num + 1


@dataclass(frozen=True)
class _Misfit:
    line: int
    what: str
    lacks_cells: bool = False


def typed_columns(
    table: agate.Table, column_types: Mapping[str, str], guess: Callable[[int], str]
) -> list[SeedColumn]:
    """Return the columns of a seed; the keys of `column_types` match in upper and lower case."""
    said = {name.lower(): kind for name, kind in column_types.items()}
    return [
        SeedColumn(name, str(kind)) if kind else SeedColumn(name, guess(place), guessed=True)
        for place, name in enumerate(table.column_names)
        for kind in (column_types.get(name) or said.get(name.lower()),)
    ]


def read_cells(
    table: agate.Table,
    columns: Sequence[SeedColumn],
    file: SeedFile,
    zone: Callable[[], dt.tzinfo],
    refused_by_spark: Asked,
) -> list[tuple[Cell, ...]]:
    """Return the rows as texts, which a cast to the column's type makes the values of the file.

    ``zone`` gives that of the session. Raises ConfigurationError, which names the file, and for
    the first cells that do not fit line, column, type, text and reason.
    """
    raw = list(file.rows()) if file.path else []
    if len(raw) != len(table.rows):  # rows that stand in no file
        raw = [(n, [_text(v) for v in row]) for n, row in enumerate(table.rows, start=2)]
    misfits = [
        _Misfit(line, _short_of(len(cells), len(columns)), lacks_cells=True)
        for line, cells in raw
        if len(cells) < len(columns) > 1
    ]
    read: list[list[Cell]] = []
    for place, column in enumerate(columns):
        texts = [_or_null(cells[place]) if place < len(cells) else None for _, cells in raw]
        if column.guessed:
            texts = _as_guessed(texts, table.columns[place])
        reader = reader_of(
            column.kind, zone() if "timestamp" in column.kind.lower() else dt.timezone.utc
        )
        if reader is None:
            reader = _by_spark(column.kind, texts, refused_by_spark)
        read.append(_read(reader, texts, column, [line for line, _ in raw], misfits))
    if misfits:
        raise _refusal(file.shown, misfits, columns)
    return list(zip(*read, strict=True))


def _read(
    reader: Reader,
    texts: Sequence[Cell],
    column: SeedColumn,
    lines: Sequence[int],
    misfits: list[_Misfit],
) -> list[Cell]:
    found: list[Cell] = []
    for line, text in zip(lines, texts, strict=True):
        try:
            found.append(None if text is None else reader(text))
        except UnfitError as why:
            misfits.append(_Misfit(line, f"{column}: {_shown(text or '')} {why}"))
    return found


def _as_guessed(texts: Sequence[Cell], column: agate.Column) -> list[Cell]:
    """Return the texts, but agate's values for instants: it reads forms that Spark does not."""
    return [
        _text(value)
        if text and isinstance(value, dt.date) and not _CUT_FRACTION.search(text)
        else text
        for text, value in zip(texts, column.values(), strict=True)
    ]


def _by_spark(kind: str, texts: Sequence[Cell], refused: Asked) -> Reader:
    unfit = refused(kind, sorted({text for text in texts if text is not None}))

    def read(text: str) -> str:
        if text in unfit:
            raise UnfitError("cannot be cast")
        return text

    return read


def _refusal(
    file: str, misfits: list[_Misfit], columns: Sequence[SeedColumn]
) -> ConfigurationError:
    first = sorted(misfits, key=lambda one: one.line)[:SHOWN]
    lines_only = all(one.lacks_cells for one in misfits)
    one_of = "line" if lines_only else "cell"
    count = f"{len(misfits)} {one_of}s do" if len(misfits) > 1 else f"a {one_of} does"
    lines = [f"{file}: {count} not fit; nothing was written", *map(_told, first)]
    hint = "correct the file, or give the columns other types in column_types"
    if lines_only:
        hint = "take out empty lines, and write a comma for each cell that is empty"
    elif any(column.guessed for column in columns):
        hint += " (dbt has guessed those that it does not name)"
    return ConfigurationError("\n".join(lines), hint=hint)


def _short_of(cells: int, columns: int) -> str:
    """Return the reason to refuse a line that lacks cells; dbt would make them NULL."""
    if not cells:
        return "an empty line, which would be a row of NULLs"
    return f"{cells} cells, and the header has {columns}"


def _told(one: _Misfit) -> str:
    return f"  line {one.line}, {one.what}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:39]}…")


def _or_null(text: str) -> Cell:
    return None if text.strip().lower() in NULLS else text


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    return str(value)


def seed_batches(
    columns: Sequence[SeedColumn], rows: Sequence[Sequence[Cell]], quote: bool = True
) -> list[str]:
    """Return SELECTs whose union is the seed: values as text, cast to the column's type.

    A seed without rows gives one SELECT without rows. Without `quote` (dbt's `quote_columns:
    false`) the names stand as they are in the file.
    """
    casts = [
        f"cast(c{place} as {authored(column.kind)})"
        f" as {identifier(column.name) if quote else authored(column.name)}"
        for place, column in enumerate(columns)
    ]
    names = ", ".join(f"c{place}" for place in range(len(columns)))
    select = f"select {', '.join(casts)} from values"
    texts = [f"({', '.join(_as_sql(cell) for cell in row)})" for row in rows]
    if not texts:
        nulls = ", ".join("cast(null as string)" for _ in columns)
        return [f"{select} ({nulls}) as seed({names}) where false"]
    return [
        f"{select}\n{','.join(texts[first : first + BATCH])}\nas seed({names})"
        for first in range(0, len(texts), BATCH)
    ]


def refused_by_spark(session: Session, kind: str, texts: Sequence[str]) -> frozenset[str]:
    """Return the texts that Spark cannot cast to a type, whatever the session's mode.

    Raises ConfigurationError for a type to which no text can be cast, or that does not exist.
    """
    found: set[str] = set()
    for first in range(0, len(texts), BATCH):
        rows = ", ".join(f"({string(text)})" for text in texts[first : first + BATCH])
        try:
            unfit = session.rows(
                f"SELECT c FROM VALUES {rows} AS cells(c)"
                f" WHERE try_cast(c AS {authored(kind)}) IS NULL"
            )
        except Exception as error:
            said = " ".join(str(error).split("JVM stacktrace")[0].split())
            raise ConfigurationError(
                f"column_types: Spark makes no {kind} of the text of a cell",
                where=said,
                hint="load it as a string, and let a model make the value (from_json, split …)",
            ) from error
        found |= {str(text) for (text,) in unfit}
    return frozenset(found)


def _as_sql(cell: Cell) -> Sql:
    """Return a cell as SQL text that any cast understands; a column of NULLs stays castable."""
    return Sql("cast(null as string)") if cell is None else string(cell)
