"""Replaces two tables of a FROM clause that are read joined by a stored join of both.

    SELECT j.l_id, r3.id FROM read_joined AS j CROSS JOIN read_1 AS r3 WHERE j.r_bank = r3.bank

in the place of ``FROM read_1 AS r1 CROSS JOIN read_1 AS r2 CROSS JOIN read_1 AS r3``. Sound: it has
each pair of their rows for which the conditions on the two hold, and all conditions stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from tapestry.names import ARRIVAL, ROW_ID
from tapestry.sql.branches.selects import Reads, aliases_of, free_columns, on_of
from tapestry.sql.branches.split_by_bound import Branch
from tapestry.sql.facts.identifiers import identifier
from tapestry.sql.ir import SourceTable, Table
from tapestry.sql.normalize.look_ups import with_on
from tapestry.sql.scan import LEFT, RIGHT, JoinScan
from tapestry.sql.write import build

Pair = tuple[str, str]
"""The aliases of two uses, the left one first."""


@dataclass(frozen=True)
class Joining:
    """The parts of a SELECT over some tables; ``branch`` as in ``split_by_bound``."""

    listed: list[exp.Expr]
    tables: tuple[Table, ...]
    conditions: list[exp.Expr]
    branch: Branch


def with_stored_joins(said: Joining, reads: Reads) -> Joining:
    """Return the SELECT's parts with stored joins in place of the two tables each."""
    for pair, alias in reads.joined.items():
        said = _with_one(said, pair, alias)
    return said


def _with_one(said: Joining, pair: Pair, alias: str) -> Joining:
    mine = [one for one in said.tables if one.alias in pair and on_of(one) is None]
    if len(mine) < len(pair):
        return said
    first = mine[0]
    assert isinstance(first, SourceTable)
    both = replace(first, alias=alias, written=alias, inferred=())
    tables = [both if one is first else one for one in said.tables if one is not mine[1]]
    branch = said.branch
    if branch.narrowed is not None and aliases_of(branch.narrowed) & set(pair):
        branch = replace(branch, narrowed=_of_both(branch.narrowed, pair, alias))
    return Joining(
        [_of_both(one, pair, alias) for one in said.listed],
        tuple(with_on(one, lambda on: _of_both(on, pair, alias)) for one in tables),
        [_of_both(one, pair, alias) for one in said.conditions],
        branch,
    )


def _of_both(node: exp.Expr, pair: Pair, alias: str) -> exp.Expr:
    """Return the node over the columns of the join."""
    sides = dict(zip(pair, (LEFT, RIGHT), strict=True))
    copy = node.copy()
    for column in list(free_columns(copy)):
        if column.table in sides:
            column.set("this", identifier(sides[column.table] + column.name))
            column.set("table", exp.to_identifier(alias))
    return copy


def read_joined(scan: JoinScan, columns: Iterable[str], dialect: str) -> str:
    """Return the body of the CTE that applies a stored join: columns, by name."""
    special: dict[str, str] = {}
    for side, arrival, row_id in zip(
        (LEFT, RIGHT), scan.arrival_of_each, scan.row_ids, strict=True
    ):
        special |= {side + ARRIVAL: arrival, side + ROW_ID: row_id}
    listed = [
        f"{special[name]} AS {build.column(name).sql(dialect)}"
        if name in special
        else build.column(name).sql(dialect)
        for name in columns
    ]
    return f"SELECT {', '.join(listed) or '1 AS found'} FROM {scan.relation}"
