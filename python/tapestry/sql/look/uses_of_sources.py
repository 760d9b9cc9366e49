"""The rows of a source that a use of it needs, for memories (network, section 2).

A row that breaks a condition on its own table is in no derivation, meets no row that looks it up
and is no match of a subquery. So the conditions that a use has wherever it stands say which rows
matter; a relation without the others gives the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from tapestry.names import ARRIVAL, ENDED, ROW_ID
from tapestry.sql.arms import OuterArm
from tapestry.sql.branches.selects import expressions_of, filters_of, source_columns
from tapestry.sql.catalog import Catalog, Exploded, Source
from tapestry.sql.ir import Block, Conjunction, SourceTable, Table, ValueTable
from tapestry.sql.write import build

OWN = frozenset({ARRIVAL, ENDED, ROW_ID})
"""Columns that no source has."""


@dataclass(frozen=True)
class Use:
    """One use of a source with an arrival.

    alias, written
        Its name in the whole query, and the author's.
    conditions
        SQL over the source's columns, each implied by the query for every row of the use that
        matters; sorted, so that equal ones read alike.
    columns
        Those that the query reads of it.
    """

    alias: str
    written: str
    source: str
    conditions: tuple[str, ...]
    columns: tuple[str, ...] = ()


def uses_of(arms: Iterable[OuterArm], catalog: Catalog) -> tuple[Use, ...]:
    """Return the uses of sources in conjunctions, in the order in which they occur.

    What is read by an arm at instants has no conjunction and is none; nor is what a generator
    makes, or a table without an arrival.
    """
    tables: dict[str, SourceTable] = {}
    common: dict[str, set[str]] = {}
    blocks = [block for arm in arms for block in arm.blocks]
    columns = source_columns(_expressions(blocks))
    for table, conditions in _places(blocks):
        source = catalog.relations.get(table.source)
        if not table.appended or not isinstance(source, Source) or isinstance(source, Exploded):
            continue
        tables.setdefault(table.alias, table)
        said = {text for one in conditions if (text := _own_text(one, table.alias))}
        common[table.alias] = _agreed(common.get(table.alias, said), said)
    return tuple(
        Use(
            alias,
            table.written,
            table.source,
            tuple(sorted(common[alias])),
            tuple(sorted(set(columns.get(alias, ())) - OWN)),
        )
        for alias, table in tables.items()
    )


def _agreed(one: set[str], other: set[str]) -> set[str]:
    """Return the conditions that hold in both places of a use: a row may matter in either."""
    return one & other


def _expressions(blocks: Iterable[Block]) -> Iterator[exp.Expr]:
    """Yield all expressions over rows, including those in tables by value."""
    for block in blocks:
        yield from block.select
        for conjunction in block.disjuncts:
            yield from expressions_of(conjunction)
            for table in conjunction.tables:
                if isinstance(table, ValueTable):
                    yield from _expressions(table.universe)


def _places(blocks: Iterable[Block]) -> Iterator[tuple[SourceTable, tuple[exp.Expr, ...]]]:
    """Yield each place of a use, with the conditions on its rows where they matter there.

    Inferred conditions are among them. A look-up's row matters where its ON holds: a condition in
    WHERE may speak of NULLs in its place, too.
    """
    for block in blocks:
        yield from _in_tables(block.tables)
        for conjunction in block.disjuncts:
            yield from _in_conjunction(conjunction)


def _in_conjunction(
    conjunction: Conjunction,
) -> Iterator[tuple[SourceTable, tuple[exp.Expr, ...]]]:
    yield from _in_tables(conjunction.tables)
    for table in conjunction.tables:
        if isinstance(table, SourceTable):
            own = filters_of(table)
            yield table, conjunction.filters if own is None else own
    for exists in conjunction.exists:
        yield from _in_conjunction(exists.inner)


def _in_tables(tables: Iterable[Table]) -> Iterator[tuple[SourceTable, tuple[exp.Expr, ...]]]:
    for table in tables:
        if isinstance(table, ValueTable):
            yield from _places(table.universe)


def _own_text(condition: exp.Expr, alias: str) -> str:
    """Return a condition on one table as SQL over its columns; "" if it depends on more."""
    columns = list(condition.find_all(exp.Column))
    if not columns or any(column.table != alias for column in columns):
        return ""
    return bare_text(condition, lambda column: column.name)


def bare_text(condition: exp.Expr, named: Callable[[exp.Column], str]) -> str:
    """Return a condition as SQL over ``named`` columns; "" if it depends on more than those.

    A function that no engine's documents fix is left out: it may be another one tomorrow. So are
    the author's comments: they say nothing of rows, and other ones make no other memory.
    """
    columns = list(condition.find_all(exp.Column))
    if any(c.args.get("db") or c.name in OWN or c.name.startswith("_g") for c in columns):
        return ""
    if condition.find(exp.Query, exp.Anonymous, exp.AnonymousAggFunc, exp.Placeholder):
        return ""
    bare = condition.copy().transform(
        lambda node: build.column(named(node)) if isinstance(node, exp.Column) else node
    )
    for name in bare.find_all(exp.Identifier):
        name.set("quoted", True)
    return bare.sql("spark", comments=False)
