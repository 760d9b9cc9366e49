"""Finds columns that conditions chain to other tables: a range of one may give one of another.

That it does is not certain.  What is certain is that no other column has anything to give.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tapestry.sql.branches.selects import on_of
from tapestry.sql.infer.imply import MOST, Knowledge
from tapestry.sql.infer.kinds import ValueKind
from tapestry.sql.infer.terms import Key
from tapestry.sql.ir import Block, Conjunction
from tapestry.sql.planner.measured_ranges import kinds_of


def chained_columns(block: Block, zone: str) -> dict[str, tuple[tuple[str, ValueKind], ...]]:
    """Return, by alias, the columns that conditions chain to a column of another table.

    All conditions of a disjunct count, including those of its subqueries and look-ups.
    """
    found: dict[str, dict[str, ValueKind]] = {}
    for conjunction in block.disjuncts:
        conditions = tuple(dict.fromkeys(_conditions(conjunction)))
        if len(conditions) > MOST:
            continue
        kinds = kinds_of(conditions)
        for chain in _chains(Knowledge(conditions, zone)):
            if len({alias for alias, _ in chain}) > 1:
                for alias, name in sorted(chain):
                    found.setdefault(alias, {})[name] = kinds[alias, name]
    return {alias: tuple(columns.items()) for alias, columns in found.items()}


def _chains(knowledge: Knowledge) -> list[set[Key]]:
    """Return sets of columns that conditions connect, directly or through others."""
    chains: list[set[Key]] = []
    for one in knowledge.constraints.values():
        near, far = set(one.columns), list[set[Key]]()
        for chain in chains:
            if near & chain:
                near |= chain
            else:
                far.append(chain)
        chains = [*far, near]
    return chains


def _conditions(conjunction: Conjunction) -> Iterator[exp.Expr]:
    yield from conjunction.filters
    for table in conjunction.tables:
        yield from on_of(table) or ()
    for exists in conjunction.exists:
        yield from _conditions(exists.inner)
