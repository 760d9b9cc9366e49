"""The order in which a rendered statement joins its tables, and the reason for it.

It is found by comparing the statement with one rendered without sizes and the author's wishes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from sqlglot import exp, parse_one

from tapestry.sql.look.source_reads import arms_in, steps_in

NAMED, SIZES, WRITTEN = "join_order", "statistics", "as written"


@dataclass(frozen=True)
class Joined:
    """The tables that one SELECT joins, by their aliases.

    place
        As in ``Reading``.
    why
        ``join_order``, ``statistics``, or ``as written``: the table in which the branch looks for
        what is new, then what an equality joins, as FROM has it.
    """

    place: str
    tables: tuple[str, ...]
    why: str


def join_orders(statement: str, undecided: str, named: Collection[str]) -> tuple[Joined, ...]:
    """Return the tables of each SELECT that joins several, with the reason for their order.

    ``undecided`` is the statement without wishes and sizes, ``named`` are the aliases that the
    author gave an order.
    """
    before = dict(_orders(undecided))
    found = []
    for place, tables in _orders(statement):
        why = WRITTEN if before.get(place) == tables else SIZES
        found.append(Joined(place, tables, NAMED if set(named) & set(tables) else why))
    return tuple(found)


def _orders(statement: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the place and the aliases of each SELECT over several tables."""
    tree = parse_one(statement, dialect="spark")
    assert isinstance(tree, exp.Query)
    for name, query in steps_in(tree):
        for place, arm in arms_in(query, name):
            yield from _of_select(place, arm)


def _of_select(place: str, select: exp.Select) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the place and the aliases of one SELECT; look into a derived table alone in FROM."""
    from_, joins = select.args.get("from_"), select.args.get("joins") or []
    if from_ is not None and joins:
        yield place, tuple(one.this.alias_or_name for one in (from_, *joins))
    elif from_ is not None and isinstance(from_.this, exp.Subquery):
        for _, inner in arms_in(from_.this.this, ""):
            yield from _of_select(f"{place}, inside {from_.this.alias}", inner)
