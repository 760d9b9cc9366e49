"""The tables of a project as a catalog: their columns, types and arrivals, known or guessed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tapestry.advise.context import REF
from tapestry.advise.project import Described, ProjectFolder
from tapestry.advise.records import CONTINUOUS, STATIC, ArrivalFound
from tapestry.advise.uses import DATE, NUMBER, TEXT, TIMESTAMP, AskedColumns, by_name
from tapestry.names import MATCHED_AT
from tapestry.sql import Catalog, Column, Source, View, relation_names

UNNAMED = "arrival_to_be_named"
"""Stands for the arrival column of a table of which no column looks like one."""
USUAL = (
    *("_loaded_at", "loaded_at", "_etl_loaded_at", "_ingested_at", "ingested_at", "load_tstamp"),
    *("_fivetran_synced", "_airbyte_extracted_at", "_airbyte_emitted_at", "_sdc_batched_at"),
    *("_inserted_timestamp", "inserted_timestamp", "inserted_at", "_inserted_at", "received_at"),
    *("uploaded_at", "created_at", "_created_at", "block_timestamp", "block_time"),
    *("event_timestamp", "event_time", "ts", "timestamp"),
)
"""Names that loaders and authors give to the time of arrival, the surest first."""
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass
class KnownTables:
    """The known facts about every relation of a project."""

    project: ProjectFolder
    dialect: str
    views: dict[str, str] = field(default_factory=dict)
    """Relations that a query opens (views and ephemeral models), with their SQL."""
    asked: dict[str, AskedColumns] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    """Models' relations -> columns with types, where the query tells them."""
    kinds: dict[str, str] = field(default_factory=dict)
    """Models' relations -> the kind that fits."""
    materialized: dict[str, str] = field(default_factory=dict)
    versions: set[str] = field(default_factory=set)
    """Models' relations that keep rows which are no answers any more, once they are continuous."""

    def columns(self, name: str) -> dict[str, str]:
        """A relation's columns with their types."""
        found = dict(self.outputs.get(name, {}))
        for column, written in self._described(name).columns.items():
            found.setdefault(column, written)
        for column, kind in self.asked.get(name, AskedColumns()).columns.items():
            if not found.get(column):
                found[column] = kind
        return {column: kind or by_name(column) for column, kind in found.items()}

    def has_guessed_types(self, name: str) -> bool:
        """Return whether a relation has columns whose types are guessed by use alone."""
        known = {**self.outputs.get(name, {}), **self._described(name).columns}
        return not known or any(not known.get(one) for one in self.columns(name))

    def guessed_numbers(self, name: str) -> list[str]:
        """Return the columns of a relation that are assumed to be DECIMAL."""
        sure = {one for one, kind in self._described(name).columns.items() if kind}
        found = self.columns(name).items()
        return [column for column, kind in found if kind == NUMBER and column not in sure]

    def catalog(self, sql: str, arrivals: Mapping[str, ArrivalFound]) -> Catalog:
        """Return the catalog for a query whose sources have these arrivals."""
        relations: dict[str, Source | View] = {}
        for name in self.read_by(sql):
            if name in self.views:
                relations[name] = View(name, self.views[name])
                continue
            columns = {one: kind for one, kind in self.columns(name).items() if one != "*"}
            column: str | None = arrivals[name].column or UNNAMED
            if column == STATIC:
                column = None
            elif columns.get(str(column)) not in (TIMESTAMP, DATE, "timestamp_ntz"):
                columns[str(column)] = TIMESTAMP
            listed = tuple(Column(one, kind) for one, kind in columns.items())
            relations[name] = Source(name, listed, column)
        return Catalog(relations)

    def read_by(self, sql: str) -> Iterator[str]:
        """All relations that a query reads, directly and through views."""
        left, seen = list(relation_names(sql)), set[str]()
        while left:
            name = left.pop(0)
            if name not in seen:
                seen.add(name)
                yield name
                if name in self.views:
                    left += relation_names(self.views[name])

    def arrival(self, name: str, guarded: str | None) -> ArrivalFound:
        """Return the arrival of a relation's rows; ``guarded`` is the guard's column."""
        config = self._described(name).config
        declared = config.get("arrival") or config.get("loaded_at_field")
        if isinstance(declared, str) and _WORD.fullmatch(declared):
            return ArrivalFound(name, declared.lower(), "declared")
        model = name.removeprefix(f"{REF}.")
        if self.project.others.get(model) == "seed" and name != model:
            return ArrivalFound(name, STATIC, "a seed")
        if self.kinds.get(name) == CONTINUOUS:
            return ArrivalFound(name, MATCHED_AT, "a continuous model has it")
        columns = self.columns(name)
        number = columns.get(guarded or "", by_name(guarded or "")) == NUMBER
        if guarded and not number and not guarded.endswith("id"):
            sure = columns.get(guarded, by_name(guarded)) != TEXT
            why = "is_incremental() compares it" + ("" if sure else "; it must be a time")
            return ArrivalFound(name, guarded, why)
        usual = next((one for one in USUAL if columns.get(one) in (TIMESTAMP, DATE)), "")
        if usual:
            return ArrivalFound(name, usual, "by its name; say so if rows arrive by another one")
        return ArrivalFound(
            name, "", "name the column that says when a row arrived, or arrival: static"
        )

    def _described(self, name: str) -> Described:
        described = self.project.described
        found = described.get(name) or described.get(name.removeprefix(f"{REF}."))
        return found or Described()
