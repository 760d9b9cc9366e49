"""Checks, at the end of a demonstration, each table against DuckDB's answer to the definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tapestry.demo.archive import Archive
from tapestry.demo.play import Player
from tapestry.quoting import standard_identifier, standard_string


@dataclass(frozen=True)
class TableComparison:
    """Two bags compared: rows expected, expected and not there, there and not expected.

    ``rejected`` rows are answers that an expectation of the model kept out of its table.
    """

    model: str
    expected: int
    missing: int
    surplus: int
    rejected: int = 0

    @property
    def equal(self) -> bool:
        """Whether nothing is missing and nothing is too much."""
        return not self.missing and not self.surplus


def check(player: Player, archive: Archive, *, at_once: bool = False) -> Iterator[TableComparison]:
    """Compare each model's table with what it must hold; at once: with the one run to the end."""
    for model in player.models:
        expected = archive.expect(model, at_once=at_once)
        schema = player.at_once_schema if at_once else player.schema
        database = archive.database
        columns = ", ".join(
            # sql: types of tables of our own
            f"{standard_identifier(name)}::{kind} as {standard_identifier(name)}"
            for name, kind, *_ in database.execute(f"describe {expected}").fetchall()
        )
        kept, rejected = (
            ""
            if path is None
            else f"select {columns} from read_parquet({standard_string(f'{path}/*.parquet')})"
            for path in (player.export(schema, model), player.export(schema, f"{model}__rejected"))
        )
        found = f"({' union all '.join(part for part in (kept, rejected) if part)})"
        yield TableComparison(
            model,
            archive.number(f"select count(*) from {expected}"),
            archive.number(f"select count(*) from (from {expected} except all from {found})"),
            archive.number(f"select count(*) from (from {found} except all from {expected})"),
            archive.number(f"select count(*) from ({rejected})") if rejected else 0,
        )
