"""Joins few rows to one table after the other, so that each join but the last gives few rows.

Spark takes what comes out of a join to be as large as what goes in. So of ``few, a, b`` it would
send the few to a, and then sort and shuffle all of b. Here each join but the last is a relation of
its own with the hint that it is small:

    SELECT /*+ BROADCAST(near) */ near.few_id, b.id
    FROM (SELECT /*+ BROADCAST(few) */ few.id AS few_id, a.z AS a_z FROM few CROSS JOIN a
          WHERE few.x = a.y) AS near CROSS JOIN b
    WHERE near.a_z = b.w

Sound: a hint changes no answer, and a conjunct of WHERE may stand as soon as all that it is about
has been joined.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from tapestry.sql.branches.frame import Frame
from tapestry.sql.branches.selects import Reads, free_columns, on_of, where
from tapestry.sql.branches.split_by_bound import Branch, narrowed_aliases
from tapestry.sql.facts.identifiers import identifier
from tapestry.sql.ir import Table
from tapestry.sql.normalize.look_ups import with_on
from tapestry.sql.planner.hints import broadcast
from tapestry.sql.planner.narrowed_first import hinted, joined_after
from tapestry.sql.planner.stored_joins import Joining, with_stored_joins
from tapestry.sql.write import build

NEAR = "near"
AT_MOST = 4
"""So many rows are reckoned to come out of a join for each of the few that go into it."""


def select_of_few(
    listed: list[exp.Expr],
    tables: tuple[Table, ...],
    conditions: list[exp.Expr],
    branch: Branch,
    frame: Frame,
    reads: Reads,
) -> exp.Select:
    """Render ``SELECT listed FROM tables WHERE conditions``, with hints if a branch's rows are few.

    ``tables`` are in the order of ``narrowed_first``: the narrowed one, then what is joined to it.
    Where the author wants another one in front, nothing but the hint is said.
    """
    said = with_stored_joins(Joining(listed, tables, conditions, branch), reads)
    listed, tables, conditions, branch = said.listed, said.tables, said.conditions, said.branch
    inner = tuple(table for table in tables if on_of(table) is None)
    linked = joined_after(inner, conditions)
    steps = linked[:-1] if len(linked) == len(inner) - 1 else linked
    begins = bool(inner) and narrowed_aliases(branch) == {inner[0].alias}
    if not frame.few or not begins or not steps:
        select = reads.from_clause(build.select(listed), tables, frame)
        return where(hinted(select, branch, frame), conditions)
    behind = tables[len(inner) :]
    known = _Known(reads.relation(tables[0], frame), tables[0].alias, listed, conditions, behind)
    taken = {table.alias for table in tables} | _aliases_in([*listed, *conditions])
    for table in steps:
        near = _unused(NEAR, taken)
        taken.add(near)
        known = known.joined_to(table, reads.relation(table, frame), near)
    select = build.add_from(build.select(known.listed), known.relation)
    left = (*inner[1 + len(steps) :], *known.behind)
    select = reads.from_clause(select, left, frame)
    return broadcast(where(select, known.conditions), [known.alias])


@dataclass(frozen=True)
class _Known:
    """A small relation, with the select list, tables and conditions still to be rendered."""

    relation: exp.Expr
    alias: str
    listed: list[exp.Expr]
    conditions: list[exp.Expr]
    behind: tuple[Table, ...]
    """The look-ups, which come last."""

    def joined_to(self, table: Table, relation: exp.Expr, near: str) -> _Known:
        """Return the small relation that results from the join with a table."""
        inside = {self.alias, table.alias}
        own: list[exp.Expr] = []
        left: list[exp.Expr] = []
        for one in self.conditions:
            (own if _fits(one, inside) else left).append(one)
        looked_up = [condition for table in self.behind for condition in on_of(table) or ()]
        names = _names([*self.listed, *left, *looked_up], inside)
        columns = [
            build.named(build.column(name, alias), new) for (alias, name), new in names.items()
        ]
        select = build.select(columns) if columns else build.select_one()
        select = build.add_from(select, self.relation)
        select = broadcast(where(build.add_from(select, relation), own), [self.alias])
        alias = exp.TableAlias(this=exp.to_identifier(near))
        return _Known(
            exp.Subquery(this=select, alias=alias),
            near,
            [_renamed(one, names, near) for one in self.listed],
            [_renamed(one, names, near) for one in left],
            tuple(with_on(table, lambda one: _renamed(one, names, near)) for table in self.behind),
        )


def _fits(condition: exp.Expr, inside: set[str]) -> bool:
    """Return whether a condition is about these relations alone, without subqueries."""
    if condition.find(exp.Exists) is not None:
        return False
    return {column.table for column in free_columns(condition)} <= inside


Names = dict[tuple[str, str], str]
"""(alias, column) -> its name in the relation that comes out of the join."""


def _names(nodes: Iterable[exp.Expr], inside: set[str]) -> Names:
    """Return a unique name for each column of some relations that the nodes use."""
    names: Names = {}
    taken: set[str] = set()
    for node in nodes:
        for column in free_columns(node):
            key = (column.table, column.name)
            if column.table not in inside or key in names:
                continue
            names[key] = _unused(f"{column.table}_{column.name}".lower(), taken)
            taken.add(names[key])
    return names


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _aliases_in(nodes: Iterable[exp.Expr]) -> set[str]:
    """Return every relation that a subquery of these expressions names."""
    return {alias.name for node in nodes for alias in node.find_all(exp.TableAlias)}


def _renamed(node: exp.Expr, names: Names, near: str) -> exp.Expr:
    copy = node.copy()
    for column in list(free_columns(copy)):
        new = names.get((column.table, column.name))
        if new is not None:
            column.set("this", identifier(new))
            column.set("table", exp.to_identifier(near))
    return copy
