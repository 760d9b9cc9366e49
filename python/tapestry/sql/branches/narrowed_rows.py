"""The rows to which a branch narrows its table, and the branches that have any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from tapestry.sql.branches.measured import Measured, NarrowedRows
from tapestry.sql.branches.split_by_bound import Branch, narrowed_aliases, own_conditions


def rows_of(conditions: Iterable[exp.Expr], branch: Branch) -> NarrowedRows | None:
    """Return the rows to which a branch of a conjunction with these conditions narrows its table.

    None where it narrows none, or several together.
    """
    aliases = narrowed_aliases(branch)
    if len(aliases) != 1:
        return None
    (alias,) = aliases
    return NarrowedRows(alias, frozenset(own_conditions(conditions, branch, aliases)))


def with_rows(
    branches: list[Branch], conditions: tuple[exp.Expr, ...], measured: Measured | None
) -> list[Branch]:
    """Return the branches that have rows; if none has, one that is known to be empty.

    Sound: every row that a branch finds has one of the table that it narrows, for which the
    conditions of the conjunction on that table hold.
    """
    if measured is None or not measured.none:
        return branches
    kept = [one for one in branches if rows_of(conditions, one) not in measured.none]
    return kept or [replace(branches[0], conditions=(exp.false(), *branches[0].conditions))]
