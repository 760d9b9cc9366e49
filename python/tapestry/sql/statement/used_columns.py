"""The columns that a statement reads, of each source and each use with a scan of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from tapestry.names import ARRIVAL
from tapestry.sql.branches.selects import Reads
from tapestry.sql.catalog import Catalog, Exploded, Source
from tapestry.sql.ir import SourceTable
from tapestry.sql.lift.cases import AT


@dataclass(frozen=True)
class UsedColumns:
    """Names of columns in order of first use.

    By source; by alias for a use with its own scan; by both aliases for uses that are read joined.
    """

    sources: Mapping[str, tuple[str, ...]]
    uses: Mapping[str, tuple[str, ...]]
    joined: Mapping[tuple[str, str], tuple[str, ...]]


def used_columns(
    nodes: Iterable[exp.Table | exp.Column],
    tables: Iterable[SourceTable],
    reads: Reads,
    catalog: Catalog,
    dated: Iterable[str] = (),
) -> UsedColumns:
    """Return the columns that a statement's nodes read; ``tables`` are its query's uses.

    ``dated``: sources whose arrivals are read besides.
    """
    by_alias: dict[str, dict[str, None]] = {}
    for table in tables:
        by_alias.setdefault(table.alias, {})[table.source] = None
    pairs = {alias: pair for pair, alias in reads.joined.items()}
    used: dict[str, dict[str, None]] = {}
    apart: dict[str, dict[str, None]] = {}
    joined: dict[tuple[str, str], dict[str, None]] = {}
    for node in nodes:
        alias = node.alias if isinstance(node, exp.Table) else node.table
        is_column = isinstance(node, exp.Column) and node.name != AT
        if alias in pairs:
            names = joined.setdefault(pairs[alias], {})
            if is_column:
                names[node.name] = None
        for source in by_alias.get(alias, ()):
            of_alias = alias in reads.uses
            names = apart.setdefault(alias, {}) if of_alias else used.setdefault(source, {})
            if is_column and _has(catalog, source, node.name):
                names[node.name] = None
    for source in dated:
        used.setdefault(source, {})[ARRIVAL] = None
    return UsedColumns(
        {name: tuple(names) for name, names in used.items()},
        {alias: tuple(names) for alias, names in apart.items()},
        {pair: tuple(names) for pair, names in joined.items()},
    )


def _has(catalog: Catalog, name: str, column: str) -> bool:
    """Return whether a source may have the column; generated columns are none of the base."""
    if not column.startswith("_g"):
        return True
    source, made = catalog.relations[name], list[str]()
    while isinstance(source, Exploded):
        made += [source.place, source.row, *source.values]
        if not source.base:
            break
        source = catalog.relations[source.base]
    return column in made or (
        isinstance(source, Source) and any(column == one.name for one in source.columns)
    )
