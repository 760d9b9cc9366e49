"""The instants at which a comparison with now() may change, for each row: aggregates, section 3.

Between two neighbouring instants of these, and of arrivals and ends, nothing of an answer changes.
An instant too many costs time; one too few would be wrong, so that whatever else a condition
demands is left out where it is not an equality beside the comparison.

A bound over an extreme (``HAVING max(ts) < now() - INTERVAL 1 HOUR``) is the bound of some row: the
bounds of all rows are taken, each of which is an instant too many at worst.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql import timing
from tapestry.sql.arms import Change
from tapestry.sql.facts.blocks import BlockScope, blocks_of, leaf_blocks
from tapestry.sql.facts.grouping import is_aggregate
from tapestry.sql.facts.solve_comparison import OPERATORS, solve_comparison
from tapestry.sql.ir import And, Formula, Lower, Or, SourceTable, Upper
from tapestry.sql.work import spend

ROW_VALUES = (
    exp.Min,
    exp.Max,
    exp.First,
    exp.Last,
    exp.FirstValue,
    exp.LastValue,
    exp.NthValue,
    exp.Lag,
    exp.Lead,
    exp.ArgMax,
    exp.ArgMin,
    exp.AnyValue,
)
"""Functions whose value is that of their first argument in some row, or NULL."""
SKIPS_NULLS = (
    exp.Coalesce,
    exp.Case,
    exp.If,
    exp.Greatest,
    exp.Least,
    exp.Nullif,
    exp.Anonymous,
)
"""May be a value where an argument is NULL."""
SELECTING = (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)
"""Expressions around an aggregate that select the rows which it reads."""
MOST = 64
"""So many ways in which a bound comes from columns of tables."""


def changes_of(tree: exp.Query, tables: Sequence[SourceTable], zone: str) -> tuple[Change, ...]:
    """Return the changes of every comparison with now() in a query whose CTEs are written out.

    Raises Refusal for a clock outside of a comparison, one that is not monotone, and a bound that
    is computed from several rows (a sum, a count).
    """
    uses = {table.alias: table for table in tables}
    found: dict[tuple[object, ...], Change] = {}
    for scope in blocks_of(tree):
        for condition in scope.conditions():
            for atom in atoms_in(condition):
                for bound in bounds_of(atom, zone):
                    for change in _Tracer(scope, uses).changes(bound, atom):
                        key = (change.tables, change.bound, change.conditions)
                        found[key] = change
    return tuple(found.values())


def atoms_in(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the innermost comparisons with the clock in a condition, except those in subqueries."""
    for part in node.walk(prune=lambda one: isinstance(one, exp.Query)):
        if not timing.is_now(part):
            continue
        atom: exp.Expr | None = part
        while atom is not None and not _compares(atom):
            atom = atom.parent if atom is not node else None
        if atom is None:
            raise Refusal(
                "now() stands inside an expression that is no comparison",
                node.sql("spark"),
                "compare now() with an expression over the data, alone on one side",
                code="clock-in-expression",
            )
        yield atom


def _compares(node: exp.Expr) -> bool:
    return type(node) in OPERATORS or isinstance(node, exp.Between | exp.In)


def bounds_of(atom: exp.Expr, zone: str) -> Iterator[exp.Expr]:
    """Yield the instants at which a comparison with the clock changes its truth.

    Raises Refusal for one that is not monotone.
    """
    for comparison in comparisons_in(atom):
        solution = solve_comparison(comparison, zone)
        for formula in (solution.true, solution.false):
            yield from _bounds_in(formula)


def comparisons_in(atom: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the single comparisons that make up a comparison of the clock with a range or list."""
    if isinstance(atom, exp.Between):
        yield exp.GTE(this=atom.this.copy(), expression=atom.args["low"].copy())
        yield exp.LTE(this=atom.this.copy(), expression=atom.args["high"].copy())
    elif isinstance(atom, exp.In):
        for item in atom.expressions:
            if timing.reads_now(atom.this) or timing.reads_now(item):
                yield exp.EQ(this=atom.this.copy(), expression=item.copy())
    else:
        yield atom.copy()


def _bounds_in(formula: Formula) -> Iterator[exp.Expr]:
    if isinstance(formula, And | Or):
        for part in formula.parts:
            yield from _bounds_in(part)
    elif isinstance(formula, Lower | Upper):
        yield formula.bound


@dataclass
class _Tracer:
    """Traces a bound to the columns of tables; ``copies`` are the rows it is computed from."""

    scope: BlockScope
    uses: dict[str, SourceTable]
    copies: dict[tuple[int, str], SourceTable] = field(default_factory=dict)
    groups: int = 0

    def changes(self, bound: exp.Expr, atom: exp.Expr) -> Iterator[Change]:
        skips = any(isinstance(part, SKIPS_NULLS) for part in bound.walk())
        values = self.values(bound, self.scope, 0, skips)
        spend(8 * len(values), "instants at which comparisons with now() change")
        for value in values:
            names = {column.table for column in value.find_all(exp.Column)}
            copies = [(use, t) for (_, use), t in self.copies.items() if t.alias in names]
            tables, uses = tuple(t for _, t in copies), tuple(use for use, _ in copies)
            direct = {use: t.alias for (group, use), t in self.copies.items() if group == 0}
            equal = tuple(self.scope.equalities(direct, names)) if len(tables) > 1 else ()
            yield Change(tables, value, equal, uses)

    def values(self, node: exp.Expr, scope: BlockScope, group: int, skips: bool) -> list[exp.Expr]:
        """Return the values that an expression may have, each over columns of copies."""
        leaves = list(_leaves(node))
        options = [self.leaf(leaf, scope, group, skips) for leaf in leaves]
        ways = 1
        for option in options:
            ways *= len(option)
        if ways > MOST:
            raise Refusal(
                f"a bound of now() comes from tables in more than {MOST} ways",
                node.sql("spark"),
                "compare now() with a column of one table",
                code="too-many-alternatives",
            )
        return [_with(node, leaves, chosen) for chosen in product(*options)]

    def leaf(self, node: exp.Expr, scope: BlockScope, group: int, skips: bool) -> list[exp.Expr]:
        nothing = [_null(node)] if skips else []
        if isinstance(node, exp.Column):
            return self.origins(node, scope, group, skips) + nothing
        if isinstance(node, exp.Subquery):
            inner = scope.inside(node)
            return [
                value
                for select in leaf_blocks(inner)
                for value in self.values(
                    select.node.selects[0].unalias(), select, self.group(), skips
                )
            ] + nothing
        function = node.this if isinstance(node, exp.Window) else node
        while isinstance(function, SELECTING):
            function = function.this
        if not isinstance(function, ROW_VALUES):
            raise Refusal(
                "now() is compared with what is computed from several rows",
                node.sql("spark"),
                "compare it with an extreme (max, min) or a column; what a sum or a count decides"
                " belongs in a condition without now()",
                code="moving-bound",
            )
        arguments = [function.this]
        if isinstance(function, exp.Lag | exp.Lead) and function.args.get("default"):
            arguments.append(function.args["default"])
        return [
            value for one in arguments for value in self.values(one, scope, self.group(), skips)
        ] + nothing

    def group(self) -> int:
        """Return the number of a new group of copies, for the row that gives an extreme."""
        self.groups += 1
        return self.groups

    def origins(
        self, column: exp.Column, scope: BlockScope, group: int, skips: bool
    ) -> list[exp.Expr]:
        if column.table in self.uses:
            key = (group, column.table)
            if key not in self.copies:
                use = self.uses[column.table]
                alias = f"_c{len(self.copies) + 1}_{use.alias}"
                self.copies[key] = SourceTable(
                    alias, use.source, use.written, use.appended, use.ends
                )
            copy = column.copy()
            copy.set("table", exp.to_identifier(self.copies[key].alias))
            return [copy]
        found = []
        relation = scope.relation(column.table)
        if relation is None:
            raise Refusal(
                "now() is compared with an element of a list, beside what is evaluated at instants",
                column.sql("spark"),
                "explode in a continuous model of its own, and read that one here",
                code="generator",
            )
        for select in leaf_blocks(relation):
            item = select.item(column.name)
            found += self.values(item, select, group, skips)
        return found


def _leaves(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the inputs of an expression: columns, aggregates, window functions and subqueries."""
    for part in node.walk(prune=_is_leaf):
        if _is_leaf(part):
            yield part


def _is_leaf(node: exp.Expr) -> bool:
    return isinstance(node, (exp.Column, exp.Window, exp.Query, *SELECTING)) or is_aggregate(node)


def _with(node: exp.Expr, leaves: Sequence[exp.Expr], values: Sequence[exp.Expr]) -> exp.Expr:
    known = {id(leaf): value for leaf, value in zip(leaves, values, strict=True)}

    def copied(part: exp.Expr) -> exp.Expr:
        if id(part) in known:
            return timing.wrapped(known[id(part)])
        return part.copy()

    if id(node) in known:
        return known[id(node)].copy()
    copy = node.copy()
    for old, new in zip(list(_leaves(copy)), values, strict=True):
        old.replace(timing.wrapped(new))
    return copy


def _null(node: exp.Expr) -> exp.Expr:
    """Return NULL of the type of a value.

    A bound adds intervals to it, and not every engine adds one to an untyped NULL.
    """
    kind = node.type
    if kind is not None and not kind.is_type("unknown"):
        return exp.cast(exp.null(), kind.copy())
    inner = node.unnest() if isinstance(node, exp.Subquery) else None
    if isinstance(inner, exp.Query):
        return _null(inner.selects[0].unalias())
    if isinstance(node, (*SELECTING, exp.Window, exp.Max, exp.Min)):
        return _null(node.this)
    return exp.null()
