"""Arms and blocks as readable SQL: with now() as the author compared it, with ``s`` once solved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.arms import ByDerivation, FirstRows, Lifted, OuterArm, RunningGroups
from tapestry.sql.branches.frame import Frame, at_most, less
from tapestry.sql.branches.order import Order
from tapestry.sql.branches.selects import Reads, filters_of, valid_at, where
from tapestry.sql.facts.arrivals import match_ends, match_starts
from tapestry.sql.facts.identifiers import identifier
from tapestry.sql.facts.walk import tables_of
from tapestry.sql.ir import (
    And,
    Arm,
    ArmTable,
    Block,
    Condition,
    Conjunction,
    Formula,
    Lower,
    Or,
    SourceTable,
    Table,
    TimeAtom,
    Upper,
)
from tapestry.sql.read.audit_columns import PLACE
from tapestry.sql.write import build

S = exp.column("s")
EVENTS = "-- may change at "
KEPT = {
    "rows": "rows",
    "values": "values of {}",
    "sum": "sum of {}",
    "least": "least {}",
    "greatest": "greatest {}",
    "distinct": "different values of {}",
    "distinct_sum": "sum of different values of {}",
}
"""Kind of running state -> its description, with the value of the state."""
_PLAIN = ByDerivation()
_SHOWN = Frame(None, S, Order({}, {}, frozenset(), (), "UTC"))


def describe(arms: Sequence[OuterArm], columns: tuple[str, ...]) -> str:
    """One SELECT for each arm; from the standard form on for each disjunct, with OR between.

    ``UNION ALL`` stands between the arms. Comparisons with now() stand as the author wrote them
    until they are solved for ``s``. Before the standard form, a table means its rows that are
    there; after it, all of its rows.
    """
    texts = []
    for outer in arms:
        if isinstance(outer, Lifted):
            kept = _kept(outer) if isinstance(outer, RunningGroups | FirstRows) else ""
            texts.append(kept + _lifted(outer, columns))
            continue
        texts += [_shown(_arm(arm, columns, outer)) for arm in outer.arms]
        for block in outer.blocks:
            disjuncts = block.disjuncts or (_never(block),)
            alternatives = [_shown(_disjunct(block, one, columns, outer)) for one in disjuncts]
            texts.append("\n-- OR, for the same derivation\n".join(alternatives))
    union = "\nUNION -- by value\n" if any(outer.by_value for outer in arms) else "\nUNION ALL\n"
    return union.join(texts)


def _lifted(arm: Lifted, columns: tuple[str, ...]) -> str:
    """Return an arm that is evaluated at instants, written out after comments with its bounds.

    Its tables mean their rows that are there, at every step.
    """
    tables = {table.alias: table.source for table in arm.tables}
    tree = arm.tree.copy()
    for table in tree.find_all(exp.Table):
        table.set("this", exp.to_identifier(tables[table.alias]))
    for item, name in zip(list(tree.selects), columns, strict=True):
        named = exp.alias_(item.unalias().copy(), identifier(name))
        if isinstance(tree, exp.Select):
            item.replace(named)
    changing = (_over_sources(change.bound, change.tables) for change in arm.changes)
    bounds = dict.fromkeys(f"{EVENTS}{bound}\n" for bound in changing)
    return "".join(bounds) + _shown(tree)


def _kept(outer: RunningGroups | FirstRows) -> str:
    """Return a comment that says what is kept of a group."""
    rows: tuple[Arm | Block, ...] = (*outer.arms, *outer.blocks)
    if not rows:
        return ""
    named = [table for table in rows[0].tables if isinstance(table, SourceTable)]
    kept = []
    if isinstance(outer, FirstRows):
        for one, by in zip(outer.order, rows[0].select[outer.width :], strict=False):
            kept.append(_over_sources(by, named) + (" DESC" if one.args.get("desc") else ""))
        return f"-- kept of a group: its first {outer.count} rows by {', '.join(kept)}\n"
    for state in outer.states:
        value = _over_sources(rows[0].select[max(state.place, 0)], named)
        kept.append(KEPT[state.kind].format(value))
    return f"-- kept of a group: {', '.join(kept)}\n"


def _over_sources(value: exp.Expr, tables: Iterable[SourceTable]) -> str:
    """Return a value over tables, by the names that their author gave them."""
    sources = {table.alias: table.written for table in tables}
    copy = value.copy()
    for column in copy.find_all(exp.Column):
        if column.table in sources:
            column.set("table", exp.to_identifier(sources[column.table]))
    return copy.sql("spark")


def _shown(select: exp.Query) -> str:
    named = select.transform(_dotted, copy=False)
    build.quote(named)
    return named.sql("spark", pretty=True)


# -- arms ---------------------------------------------------------------------------------------
def _arm(arm: Arm, columns: tuple[str, ...], outer: OuterArm = _PLAIN) -> exp.Select:
    listed = _listed(arm, columns, outer)
    return where(_from(build.select(listed), arm.tables), _parts_of(arm.where))


def _listed(block: Arm | Block, columns: tuple[str, ...], outer: OuterArm) -> list[exp.Expr]:
    """Return the select list, with audit columns of answers by value over the other items."""

    def value(node: exp.Expr) -> exp.Expr:
        of_place = isinstance(node, exp.Column) and node.table == PLACE
        return timing.wrapped(block.select[int(node.name)]) if of_place else node

    listed = [
        outer.audit[n].copy().transform(value, copy=False) if n in outer.audit else one.copy()
        for n, one in enumerate(block.select)
    ]
    return [exp.alias_(one, name) for one, name in zip(listed, columns, strict=True)]


def _from(select: exp.Select, tables: Iterable[ArmTable]) -> exp.Select:
    for table in tables:
        alias = exp.TableAlias(this=exp.to_identifier(table.alias))
        relation: exp.Expr
        if isinstance(table, SourceTable):
            relation = exp.Table(this=exp.to_identifier(table.source), alias=alias)
        else:
            values = [_arm(arm, table.columns) for arm in table.arms]
            for one in values:
                one.set("distinct", exp.Distinct())
            relation = exp.Subquery(this=build.union(list(values)), alias=alias)
        build.add_from(select, relation, _on(table))
    return select


def _on(table: ArmTable) -> list[exp.Expr] | None:
    """Return the conditions that join a look-up; None if the table is none."""
    if not isinstance(table, SourceTable) or table.on is None:
        return None
    return [*table.on, *map(_written, table.within)]


def _parts_of(formula: Formula) -> list[exp.Expr]:
    return [_written(part) for part in (formula.parts if isinstance(formula, And) else (formula,))]


def _written(formula: Formula) -> exp.Expr:
    """Return a condition that is true wherever a formula is."""
    if isinstance(formula, And):
        return _together(exp.And, exp.true(), [_written(part) for part in formula.parts])
    if isinstance(formula, Or):
        return _together(exp.Or, exp.false(), [_written(part) for part in formula.parts])
    if isinstance(formula, Condition):
        return formula.sql.copy()
    if isinstance(formula, TimeAtom):
        atom = timing.wrapped(formula.sql)
        if formula.wanted == "unknown":
            return exp.Is(this=atom, expression=exp.Null())
        return exp.Not(this=atom) if formula.wanted == "false" else formula.sql.copy()
    if isinstance(formula, Lower | Upper):
        bounded = (
            at_most(formula.bound, S) if isinstance(formula, Lower) else less(S, formula.bound)
        )
        return bounded
    found: list[exp.Expr] = []
    for arm in formula.arms:
        inner = where(_from(build.select_one(), arm.tables), _parts_of(arm.where))
        found.append(exp.Exists(this=inner))
    some = _together(exp.Or, exp.false(), found)
    return exp.Not(this=timing.wrapped(some)) if formula.negated else some


def _together(
    connector: type[exp.Connector], empty: exp.Expr, conditions: list[exp.Expr]
) -> exp.Expr:
    if not conditions:
        return empty
    first, *others = conditions
    together = first if not others else build.operand(first)
    for other in others:
        together = connector(this=together, expression=build.operand(other))
    return together


# -- blocks -------------------------------------------------------------------------------------
def _disjunct(
    block: Block, conjunction: Conjunction, columns: tuple[str, ...], outer: OuterArm
) -> exp.Select:
    # sql: only shown, to people
    reads = Reads({table.source: table.source for table in _sources(conjunction)})
    listed = _listed(block, columns, outer)
    select = build.select(listed)
    for table in conjunction.tables:
        build.add_from(select, reads.relation(table, _SHOWN), _matches(table))
    return where(select, _conditions(conjunction, reads))


def _matches(table: Table) -> list[exp.Expr] | None:
    """Return the conditions that join a look-up, arrivals included; None if it is none."""
    if not isinstance(table, SourceTable) or table.on is None:
        return None
    starts = [at_most(bound, S) for bound in match_starts(table)]
    return [*(filters_of(table) or ()), *starts, *(less(S, bound) for bound in match_ends(table))]


def _never(block: Block) -> Conjunction:
    """Return the disjunct that stands for an OR of nothing: it is false."""
    return Conjunction(block.tables, (exp.false(),), (), (), ())


def _conditions(conjunction: Conjunction, reads: Reads) -> Iterable[exp.Expr]:
    yield from conjunction.filters
    yield from valid_at(conjunction, S)
    for exists in conjunction.exists:
        inner = exists.inner
        select = reads.from_clause(build.select_one(), inner.tables, _SHOWN)
        node: exp.Expr = exp.Exists(this=where(select, _conditions(inner, reads)))
        yield exp.Not(this=node) if exists.negated else node


def _sources(conjunction: Conjunction) -> list[SourceTable]:
    return [table for table in tables_of(conjunction) if isinstance(table, SourceTable)]


def _dotted(node: exp.Expr) -> exp.Expr:
    """Replace the name of a CTE in a strategy's SQL by the source's own name, in its parts."""
    if isinstance(node, exp.Table) and "." in node.name:
        return exp.to_table(node.name, dialect="spark", alias=node.alias)
    return node
