"""Which columns a statement reads: of each source, and of what has a scan of its own."""

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
    """Names of columns in order of first use: by source, of a use by its alias, of two uses that
    are read joined by theirs."""

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
    """What the statement of these nodes reads; ``tables`` are the uses of its query.

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
    """May a source have the column? What a generator makes is no column of its base."""
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
