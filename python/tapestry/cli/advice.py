"""Finds settings that would make a model's runs cheaper, by trying them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from tapestry.errors import Refusal
from tapestry.names import COMMITTED_AT
from tapestry.runs.kinds.continuous.after.cost import Cost
from tapestry.runs.kinds.continuous.after.plain_statement import plain_statement
from tapestry.runs.kinds.continuous.after.preview import Preview
from tapestry.sql import Rewriting, Source
from tapestry.sql.facts.walk import source_tables
from tapestry.sql.look.source_reads import KEYS, branches, readings

FEW_FILES = 8
"""A table of so few files is read whole in no time."""
MOST = 0.5
"""A narrow range that still reads this share of the files: statistics exclude too little."""
PAIRS = 12
"""So many orders of two tables are tried as assumptions, no more."""


@dataclass(frozen=True)
class Table:
    """A source as it lies on disk."""

    arrival: str | None
    clustered_by: tuple[str, ...]
    partitioned_by: tuple[str, ...]
    files: int


def give_advice(
    looked_at: Preview,
    costs: Mapping[tuple[str, str], Cost],
    tables: Mapping[str, Table],
    rewrite_with: Callable[[tuple[str, ...]], Rewriting],
    assumed: Sequence[str],
) -> list[str]:
    """Sentences, the most helpful first; none where nothing is known to help."""
    found = _assumptions(looked_at, rewrite_with, tuple(assumed))
    found += _clustering(looked_at, costs, tables)
    return list(dict.fromkeys(found))


def _assumptions(
    looked_at: Preview,
    rewrite_with: Callable[[tuple[str, ...]], Rewriting],
    assumed: tuple[str, ...],
) -> list[str]:
    """Orders of arrival columns that, were they true of the data, would remove branches."""
    before = _size(looked_at, looked_at.query.rewriting)
    found = []
    for text in _orders(looked_at.query.rewriting)[:PAIRS]:
        if text in assumed:
            continue
        try:
            after = _size(looked_at, rewrite_with((*assumed, text)))
        except Refusal:
            continue
        if after >= before:
            continue
        gains = [
            f"{old - new} of {old} {what}"
            for old, new, what in zip(before, after, ("branches", "whole reads"), strict=True)
            if new < old
        ]
        found.append(
            f'if {text} always holds, say so: assume: ["{text}"] removes {" and ".join(gains)}'
        )
    return found


def _orders(rewriting: Rewriting) -> list[str]:
    """``b.ts >= a.ts`` for every ordered pair of tables with an arrival, as they are written."""
    written: dict[str, str] = {}
    for table in source_tables(rewriting.arms):
        if table.appended:
            source = rewriting.catalog.relations[table.source]
            assert isinstance(source, Source)
            written[table.written] = f"{table.written}.{source.arrival}"
    return [f"{later} >= {earlier}" for later, earlier in permutations(written.values(), 2)]


def _size(looked_at: Preview, rewriting: Rewriting) -> tuple[int, int]:
    """Branches of the run's statement, and readings that no instant bounds from below."""
    statement = plain_statement(rewriting, looked_at.window, looked_at.scans)
    whole = [r for r in readings(statement, looked_at.scans) if not r.narrowed]
    return branches(statement), len(whole)


def _clustering(
    looked_at: Preview,
    costs: Mapping[tuple[str, str], Cost],
    tables: Mapping[str, Table],
) -> list[str]:
    """Tables whose files do not follow the column that a branch narrows or looks up by."""
    found = []
    for reading in looked_at.readings:
        table, cost = tables[reading.source], costs[reading.source, reading.predicate]
        total = costs[reading.source, ""]
        if table.files < FEW_FILES or reading.place.endswith(KEYS) or not total.size:
            continue
        laid_out = {c.lower() for c in (*table.clustered_by, *table.partitioned_by)}
        stored = table.arrival not in (None, COMMITTED_AT)
        if reading.narrowed and cost.size > MOST * total.size and stored:
            if str(table.arrival).lower() not in laid_out:
                found.append(
                    f"{reading.source}: a narrow range of {table.arrival} still reads"
                    f" {cost.size / total.size:.0%} of it; alter table {reading.source}"
                    f" cluster by ({table.arrival}), then optimize {reading.source}"
                )
        elif not reading.narrowed and reading.keys and not laid_out & set(reading.keys):
            key = reading.keys[0]
            found.append(
                f"{reading.source} ({reading.alias}) is looked up by {key} over all of history;"
                f" if few files hold a key's rows, clustering helps: alter table {reading.source}"
                f" cluster by ({', '.join(dict.fromkeys([*table.clustered_by, key]))})"
            )
    return found
