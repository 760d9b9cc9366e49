"""Tells from a query's standard form whether an answer can end, though its model keeps it.

An answer holds on ``[c, d)``. It can end where a bound of time closes it, where a row that comes
later hinders it (NOT EXISTS, and what stands for that: NOT IN, EXCEPT, the NULLs of an outer
join), or where such a row changes what is counted, ranked or limited. Where none of it is there
every answer goes on holding: rows are only added, and what is left of the form (joins, EXISTS,
DISTINCT, UNION) is monotone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.arms import AtInstants, FirstRows, Lifted, OuterArm, RunningGroups, State
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.facts.grouping import is_grouped
from tapestry.sql.ir import (
    Block,
    Conjunction,
    Lower,
    SourceTable,
    Table,
)

_UP = frozenset({"rows", "values", "distinct", "greatest"})
"""States that grow alone while rows are only added."""
_MONOTONE = (exp.And, exp.Or, exp.Paren, exp.Where, exp.Having, exp.Join, exp.Select)


@dataclass(frozen=True)
class Endings:
    """The reasons why an answer may end; false if there are none.

    by_time
        A comparison with now() holds until an instant only.
    by_rows
        The sources of which a later row hinders an answer.
    by_groups
        Those of which a later row changes a total, a rank or which rows are the first.
    """

    by_time: bool = False
    by_rows: tuple[str, ...] = ()
    by_groups: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.by_time or bool(self.by_rows or self.by_groups)


def endings(arms: Iterable[OuterArm], catalog: Catalog) -> Endings:
    """Return the reasons why an answer of a query in standard form may end."""
    found = _Endings()
    for arm in arms:
        for block in arm.blocks:
            for conjunction in block.disjuncts:
                found.ends(conjunction)
        if isinstance(arm, Lifted):
            found.lifted(arm, catalog)
    return Endings(found.time, tuple(found.rows), tuple(found.groups))


class _Endings:
    """Collects endings over the conjunctions of a query, each with its sign."""

    def __init__(self) -> None:
        self.time = False
        self.rows: dict[str, None] = {}
        self.groups: dict[str, None] = {}

    def ends(self, conjunction: Conjunction) -> None:
        """Add the reasons why ``conjunction`` may end."""
        self.time |= bool(conjunction.uppers)
        for table in conjunction.tables:
            if isinstance(table, SourceTable) and table.on is not None:
                begun = table.appended and all(isinstance(one, Lower) for one in table.within)
                self.time |= bool(table.within) and not begun
                self._later(table)  # its NULLs end with the first match
        for exists in conjunction.exists:
            (self.begins if exists.negated else self.ends)(exists.inner)

    def begins(self, conjunction: Conjunction) -> None:
        """Add the reasons why ``conjunction`` may begin, and so end the row that it hinders."""
        grows = [self._later(table) for table in conjunction.tables]
        self.time |= bool(conjunction.lowers) and not any(grows)
        for exists in conjunction.exists:
            (self.ends if exists.negated else self.begins)(exists.inner)

    def _later(self, table: Table) -> bool:
        if isinstance(table, SourceTable) and table.appended:
            self.rows[table.source] = None
            return True
        return False

    def lifted(self, arm: AtInstants | RunningGroups | FirstRows, catalog: Catalog) -> None:
        """Add the reasons why an answer of a grouped, ranked or limited arm may end."""
        growing = {table.alias: table.source for table in arm.tables if table.appended}
        if isinstance(arm, AtInstants):
            self._tree(arm.tree, growing)
        elif isinstance(arm, FirstRows) or _changes(arm, catalog):
            self.groups |= dict.fromkeys(growing.values())

    def _tree(self, tree: exp.Query, growing: Mapping[str, str]) -> None:
        for node in tree.walk():
            if isinstance(node, exp.Select | exp.SetOperation) and is_grouped(node):
                self.groups |= _read(node, growing)
            if isinstance(node, exp.Except):
                self.rows |= _read(node.expression, growing)
            elif isinstance(node, exp.Select):
                self.rows |= _without_partner(node, growing)
            elif isinstance(node, exp.Subquery) and _is_value(node):
                self.groups |= _read(node, growing)
            elif isinstance(node, exp.Exists | exp.In) and not _is_positive(node):
                self.rows |= _read(node, growing)
            elif timing.is_now(node):
                self.time |= not _is_lower(node)


def _changes(arm: RunningGroups, catalog: Catalog) -> bool:
    """Return whether later rows change a value that a group's answer shows or depends on."""
    shown = {column.name for item in arm.items for column in item.find_all(exp.Column)}
    for place, state in enumerate(arm.states, 1):
        if f"_s{place}" in shown and not _is_first_arrival(state, arm.blocks, catalog):
            return True
    having = arm.where
    if having is None:
        return False
    parts = having.flatten() if isinstance(having, exp.And) else [having]
    return not all(_goes_on(part, arm) for part in parts)


def _is_first_arrival(state: State, blocks: Sequence[Block], catalog: Catalog) -> bool:
    """Return whether a state is the least arrival of one source, which no later row changes."""
    if state.kind != "least":
        return False
    for block in blocks:
        value, (first, *more) = block.select[state.place], block.tables
        source = catalog.relations.get(first.source) if isinstance(first, SourceTable) else None
        arrival = source.arrival if isinstance(source, Source) else None
        if (
            more
            or not isinstance(value, exp.Column)
            or value.name.lower() != (arrival or "").lower()
        ):
            return False
    return True


def _goes_on(condition: exp.Expr, arm: RunningGroups) -> bool:
    """Return whether a HAVING condition, once true, stays true: ``count(*) >= 3``."""
    if not isinstance(condition, (exp.GT, exp.GTE, exp.LT, exp.LTE)):
        return condition.find(exp.Column) is None or _is_of_keys(condition)
    greater, less = condition.left, condition.right
    if isinstance(condition, exp.LT | exp.LTE):
        greater, less = less, greater
    kinds = [_kind(greater, arm), _kind(less, arm)]
    return kinds[0] in (*_UP, "fixed") and kinds[1] in ("least", "fixed")


def _kind(value: exp.Expr, arm: RunningGroups) -> str:
    """Return the kind of a comparison's side: its state's kind, 'fixed', or '' for anything
    else.
    """
    value = value.unnest()
    if isinstance(value, exp.Cast) and value.to.is_type("bigint"):
        value = value.this
    if isinstance(value, exp.Column) and value.name.startswith("_s"):
        return arm.states[int(value.name[2:]) - 1].kind
    return "fixed" if _is_of_keys(value) else ""


def _is_of_keys(value: exp.Expr) -> bool:
    return all(column.name.startswith("_k") for column in value.find_all(exp.Column))


def _read(node: exp.Expr, growing: Mapping[str, str]) -> dict[str, None]:
    """Return the growing sources that a piece of a query reads."""
    names = [table.alias_or_name for table in node.find_all(exp.Table)]
    return dict.fromkeys(growing[name] for name in names if name in growing)


def _without_partner(select: exp.Select, growing: Mapping[str, str]) -> dict[str, None]:
    """Return the sources whose later rows may match a row that an outer join left unmatched."""
    found: dict[str, None] = {}
    before: list[exp.Expr] = [select.args["from_"]] if select.args.get("from_") else []
    for join in select.args.get("joins") or []:
        if join.side in ("LEFT", "FULL"):
            found |= _read(join.this, growing)
        if join.side in ("RIGHT", "FULL"):
            for one in before:
                found |= _read(one, growing)
        before.append(join.this)
    return found


def _is_value(query: exp.Subquery) -> bool:
    """Return whether a subquery is used as a value."""
    around = query.parent
    return not isinstance(
        around,
        (exp.From, exp.Join, exp.Lateral, exp.In, exp.Exists, exp.SetOperation, exp.Subquery),
    )


def _is_positive(node: exp.Expr) -> bool:
    """Return whether only AND and OR stand above a condition, up to its query."""
    around = node.parent
    while around is not None and isinstance(around, _MONOTONE):
        if isinstance(around, exp.Where | exp.Having | exp.Join):
            return True
        around = around.parent
    return False


def _is_lower(clock: exp.Expr) -> bool:
    """Return whether the comparison around a reading of the clock is true from some instant on."""
    node, around = clock, clock.parent
    while isinstance(around, exp.Paren | exp.Cast | exp.Add | exp.Sub) and around.this is node:
        node, around = around, around.parent
    if isinstance(around, exp.GT | exp.GTE):
        return around.left is node and _is_positive(around)
    if isinstance(around, exp.LT | exp.LTE):
        return around.right is node and _is_positive(around)
    return False
