"""The relations that a query may read: sources with columns and arrival, and views over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from sqlglot import exp

from tapestry.sql.copies import copied


@dataclass(frozen=True)
class Column:
    """One column of a source; ``type`` is Spark's type text in lower case.

    ``unordered``: local times in a zone with transitions. Those that a transition skips are later
    instants than the local times that follow them.
    """

    name: str
    type: str
    unordered: bool = False

    @property
    def data_type(self) -> exp.DataType:
        """The type as a tree; raises SqlglotError or ValueError for one that cannot be read."""
        if self.type.lower() == "void":
            return exp.DataType(this=exp.DataType.Type.NULL)
        return copied(_built(self.type))


@lru_cache(maxsize=1_000)
def _built(text: str) -> exp.DataType:
    """Return a type, cached, as a schema's thousands of columns have few types."""
    return exp.DataType.build(text, dialect="spark")


@dataclass(frozen=True)
class Source:
    """An append-only Delta table, or a static one (``arrival=None``): semantics, section 1.

    ``ends``: it has the column ``_ended`` too, and a row is there before the instant in it only.
    ``hidden``: columns that its scan has and that no query can name, nor a star stand for. The
    arrival column may be one of them.
    """

    name: str
    columns: tuple[Column, ...]
    arrival: str | None
    ends: bool = False
    hidden: tuple[Column, ...] = ()


@dataclass(frozen=True)
class Exploded(Source):
    """A source with a generator applied to each of its rows, itself a source.

    A row of it is there as long as its row of ``base`` is, and its place among what is generated
    tells it from the others. So everything that holds of a source holds of it.

    base
        Key of the source in the catalog, "" for a single row that is always there.
    argument
        The array or map, over columns of the base with the table ``OF``.
    outer
        Where nothing is generated there is one row of NULLs.
    values
        Names of the columns that hold an element, or a key and its value.
    place, row
        Names of the columns with the place from 0, and with the row id of the base.
    """

    base: str = ""
    argument: exp.Expr = field(default_factory=exp.null)
    outer: bool = False
    values: tuple[str, ...] = ()
    place: str = ""
    row: str = ""


OF = "_of"
"""Qualifies the columns of its base in the argument of a generator."""


@dataclass(frozen=True)
class View:
    """A view over sources; names in ``sql`` without a schema belong to ``namespace``."""

    name: str
    sql: str
    namespace: str = ""


@dataclass(frozen=True)
class Catalog:
    """The relations of a query: all that ``rewrite`` knows besides the query's text.

    ``relations`` is keyed by normalized name: lower case, no backticks, dots between the parts, as
    the name stands in the SQL.
    """

    relations: Mapping[str, Source | View]
    time_zone: str = "UTC"
    deterministic_functions: frozenset[str] = field(default_factory=frozenset)

    def __hash__(self) -> int:
        relations = frozenset(self.relations.items())
        return hash((relations, self.time_zone, self.deterministic_functions))

    def root(self, name: str) -> str:
        """Return the table from which a source is read; "" if there is none."""
        source = self.relations.get(name)
        return self.root(source.base) if isinstance(source, Exploded) else name
