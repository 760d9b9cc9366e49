"""Add the conditions on single tables that others imply (network, section 1)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from sqlglot import exp

from tapestry.sql.arms import with_blocks
from tapestry.sql.branches.selects import aliases_of, on_of
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.facts.walk import source_tables
from tapestry.sql.infer.imply import Knowledge
from tapestry.sql.infer.terms import Key
from tapestry.sql.ir import Block, Conjunction, SourceTable, Table
from tapestry.sql.query_state import QueryState

TEXT = "string"
"""The type of text that is compared byte by byte: no collation, no length that pads it."""


def infer_transitive(query: QueryState) -> QueryState:
    """The query with what its conditions imply of each table: fewer rows are read.

    Sound because a row is found only where all conditions of its disjunct are TRUE. What follows
    from them holds of it, and of the rows of subqueries that are asked about it: an inner row that
    breaks it fails the inner conditions for every outer row that is left.
    """
    inference = _Inference(query.catalog.time_zone, _texts(query))
    return query.with_arms(tuple(with_blocks(arm, inference.block) for arm in query.arms))


def _texts(query: QueryState) -> frozenset[Key]:
    """The columns of text that is compared byte by byte."""
    tables = source_tables(query.arms)
    return frozenset(key for table in tables for key in _texts_of(table, query.catalog))


def _texts_of(table: SourceTable, catalog: Catalog) -> list[Key]:
    source = catalog.relations[table.source]
    assert isinstance(source, Source)
    return [(table.alias, one.name) for one in source.columns if one.type.lower() == TEXT]


@dataclass(frozen=True)
class _Inference:
    zone: str
    texts: Collection[Key]

    def block(self, block: Block) -> Block:
        """Return the block with inferences for each disjunct; those of look-ups are shared."""
        disjuncts = [self.conjunction(one, ()) for one in block.disjuncts]
        known = {table.alias: self.look_up(table, block) for table in block.tables}

        def joined(tables: tuple[Table, ...]) -> tuple[Table, ...]:
            return tuple(known.get(table.alias, table) for table in tables)

        return replace(
            block,
            tables=joined(block.tables),
            disjuncts=tuple(replace(one, tables=joined(one.tables)) for one in disjuncts),
        )

    def conjunction(self, one: Conjunction, around: tuple[exp.Expr, ...]) -> Conjunction:
        """A conjunction, where those around it hold: its own tables, and its subqueries'."""
        own = dict.fromkeys(one.conditions)
        every = tuple(dict.fromkeys((*own, *around, *_needed(one))))
        aliases = [table.alias for table in one.tables if on_of(table) is None]
        exists = tuple(
            replace(each, inner=self.conjunction(each.inner, every)) for each in one.exists
        )
        inferred = self.knowledge(every).of(aliases, range(len(own)))
        return replace(one, exists=exists, inferred=inferred)

    def look_up(self, table: Table, block: Block) -> Table:
        """Return a look-up with the conditions that its ON and shared conditions imply.

        A row that is looked up is left out only where it meets no row that is left.
        """
        on = on_of(table)
        if on is None or not isinstance(table, SourceTable):
            return table
        first = {one.alias for one in block.tables if on_of(one) is None}
        shared = [
            condition
            for condition in (block.disjuncts[0].conditions if block.disjuncts else ())
            if aliases_of(condition) <= first
            and all(condition in other.conditions for other in block.disjuncts)
        ]
        own = dict.fromkeys(on)
        every = tuple(dict.fromkeys((*own, *shared)))
        return replace(table, inferred=self.knowledge(every).of([table.alias], range(len(own))))

    def knowledge(self, conditions: tuple[exp.Expr, ...]) -> Knowledge:
        return Knowledge(conditions, self.zone, self.texts)


def _needed(one: Conjunction) -> tuple[exp.Expr, ...]:
    """Return the conditions on rows that must exist: of EXISTS, never of NOT EXISTS."""
    inner = [each.inner for each in one.exists if not each.negated]
    return tuple(c for each in inner for c in (*each.conditions, *_needed(each)))
