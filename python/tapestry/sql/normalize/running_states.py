"""Groups whose aggregates follow from running states: aggregates, section 5.

    SELECT k, count(*), sum(v) FROM … WHERE … GROUP BY k HAVING count(*) > 2

Its rows come, and perhaps end, and each of them changes what is kept of its group: how many rows,
how many values, their sum. So an instant is not evaluated; the states are summed up over time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql import timing
from tapestry.sql.arms import AtInstants, RunningGroups, State
from tapestry.sql.facts.common_types import as_type, type_of
from tapestry.sql.facts.grouping import GROUPINGS
from tapestry.sql.ir import And, Arm, Bag, Condition, TimeAtom
from tapestry.sql.normalize.builder import Builder
from tapestry.sql.normalize.lifted_beside import type_of_sum
from tapestry.sql.normalize.needs_instants import needs_instants
from tapestry.sql.normalize.scope import Scope
from tapestry.sql.read.exact_numbers import DECIMAL, WHOLE, kind_of_number
from tapestry.sql.read.open_clauses import GROUPING, is_aggregate

WAYS = 8
"""So many ways to form a row of FROM, each of which is read by itself."""
STATES = "_v"
"""The alias of the states that the select list is computed from."""
_CLAUSES = frozenset(
    {"expressions", "from_", "joins", "laterals", "where", "group", "having", "distinct", "order"}
)
"""The clauses that may stand in the block; DISTINCT and ORDER BY are void if values count once."""


def running_states(
    lifted: AtInstants, node: exp.Expr, scope: Scope, builder: Builder
) -> RunningGroups | None:
    """Return the groups of a block by their states; None if these do not give its answers."""
    if not isinstance(node, exp.Select) or not _plain(node):
        return None
    group, having = node.args.get("group"), node.args.get("having")
    reader = _Reader(list(group.expressions) if group is not None else [])
    try:
        items = tuple(reader.over_states(item.unalias()) for item in node.selects)
        condition = None if having is None else reader.over_states(having.this)
        if condition is not None and timing.contains_now(condition):
            return None
        rows = _rows(node, reader.rows)
        arms = ways_of(rows, scope, builder)
    except (NoStatesError, Refusal):
        return None
    if arms is None:
        return None
    return RunningGroups(
        **vars(lifted),
        width=len(reader.keys),
        states=tuple(reader.states),
        items=items,
        where=condition,
        arms=arms,
    )


def ways_of(rows: exp.Select, scope: Scope, builder: Builder) -> tuple[Arm, ...] | None:
    """The ways to form the rows of a block, each of which holds for an interval; None for others.

    Raises Refusal for what the theory does not cover.
    """
    if needs_instants(rows, scope):  # a table of FROM does, or a subquery
        return None
    query = builder.query(rows, scope)
    if not isinstance(query, Bag) or len(query.arms) > WAYS or not all(map(_holds, query.arms)):
        return None
    return query.arms


def _rows(node: exp.Select, values: list[exp.Expr]) -> exp.Select:
    """Return the rows of a block before it groups them, with the values that are read of each."""
    listed = [exp.alias_(value.copy(), f"_r{n}") for n, value in enumerate(values)]
    rows = node.copy()
    for clause in ("with_", "group", "having", "distinct", "order"):
        rows.set(clause, None)
    rows.set("expressions", listed or [exp.alias_(exp.Literal.number(1), "_r0")])
    return rows


class NoStatesError(Exception):
    """A block that running states do not cover."""


def _plain(node: exp.Select) -> bool:
    """Return whether a block groups, and all of its clauses are free of subqueries."""
    clauses = {name for name, value in node.args.items() if value and name != "with_"}
    if not clauses <= _CLAUSES or node.args.get("from_") is None:
        return False
    group = node.args.get("group")
    if group is not None and group.find(*GROUPINGS):
        return False
    inside = [*node.selects, *(node.args[c] for c in ("group", "having") if node.args.get(c))]
    return not any(one.find(exp.Query, exp.Window, *GROUPING) for one in inside)


def _holds(arm: Arm) -> bool:
    """Return whether a row holds for one interval, which its own columns decide."""
    parts = arm.where.parts if isinstance(arm.where, And) else (arm.where,)
    return all(isinstance(part, Condition | TimeAtom) for part in parts)


@dataclass
class _Reader:
    """Reads aggregates as states; ``rows`` are the values that are read of each row."""

    keys: list[exp.Expr]
    rows: list[exp.Expr] = field(default_factory=list)
    states: list[State] = field(default_factory=lambda: [State("rows")])

    def __post_init__(self) -> None:
        self.rows = [key.copy() for key in self.keys]

    def over_states(self, node: exp.Expr) -> exp.Expr:
        """A value over the key and the states of a group.

        It is read where it stands: what a column is of, its query says.
        """
        for place, key in enumerate(self.keys, start=1):
            if node == key:
                column = exp.column(f"_k{place}", table=STATES)
                column.type = key.type
                return column
        if isinstance(node, exp.Filter):
            return self.aggregate(node.this, node.expression.this)
        if is_aggregate(node):
            return self.aggregate(node, None)
        if isinstance(node, exp.Column | exp.Star):
            raise NoStatesError
        copy = node.copy()
        for name, value in node.args.items():
            if isinstance(value, exp.Expr):
                copy.set(name, self.over_states(value))
            elif isinstance(value, list):
                copy.set(
                    name, [self.over_states(v) if isinstance(v, exp.Expr) else v for v in value]
                )
        return copy

    def aggregate(self, node: exp.Expr, where: exp.Expr | None) -> exp.Expr:
        """An aggregate over states, of the rows for which a condition holds."""
        if timing.contains_now(node) or (where is not None and timing.contains_now(where)):
            raise NoStatesError
        if isinstance(node, exp.Count):
            return exp.cast(self.counted(node, where), "bigint")
        if isinstance(node, exp.CountIf):
            return exp.cast(self.held(node.this, where), "bigint")
        if isinstance(node, exp.LogicalAnd | exp.LogicalOr):
            values = self.state("values", node.this, where)
            held = self.held(node.this, where)
            if isinstance(node, exp.LogicalAnd):
                return _if_any(values, exp.EQ(this=held, expression=values.copy()))
            return _if_any(values, exp.GT(this=held, expression=exp.Literal.number(0)))
        if isinstance(node, exp.Sum):
            return self.summed(node, where)
        if isinstance(node, exp.Avg) and kind_of_number(node.this) == WHOLE:
            if node.this.find(exp.Distinct, exp.Interval):
                raise NoStatesError
            values = self.state("values", node.this, where)
            total = self.state("sum", exp.cast(node.this, "bigint"), where)
            divided = exp.Div(this=exp.cast(total, "double"), expression=exp.cast(values, "double"))
            return _if_any(values, divided)
        if isinstance(node, exp.Min | exp.Max) and not node.expressions:
            if isinstance(node.this, exp.Distinct):
                raise NoStatesError
            kind = "least" if isinstance(node, exp.Min) else "greatest"
            return self.state(kind, node.this, where)
        raise NoStatesError

    def counted(self, node: exp.Count, where: exp.Expr | None) -> exp.Expr:
        """Return ``count(…)`` over states."""
        if isinstance(node.this, exp.Star):
            one = exp.Literal.number(1)
            return self.column(0) if where is None else self.state("values", one, where)
        values = [node.this, *node.expressions]
        kind = "values"
        if isinstance(node.this, exp.Distinct):
            values, kind = node.this.expressions, "distinct"
        if len(values) != 1:
            raise NoStatesError
        return self.state(kind, values[0], where)

    def held(self, condition: exp.Expr, where: exp.Expr | None) -> exp.Expr:
        """Return the number of rows for which a condition holds."""
        return self.state("values", _where(exp.Literal.number(1), condition), where)

    def summed(self, node: exp.Sum, where: exp.Expr | None) -> exp.Expr:
        """``sum(…)`` of whole numbers or DECIMALs, as Spark types it."""
        value, distinct = node.this, isinstance(node.this, exp.Distinct)
        if distinct:
            if len(value.expressions) != 1:
                raise NoStatesError
            value = value.expressions[0]
        kind = kind_of_number(value)
        if value.find(exp.Interval) or kind not in (WHOLE, DECIMAL):
            raise NoStatesError
        name = "bigint" if kind == WHOLE else type_of_sum(type_of(value))
        if not name:
            raise NoStatesError
        value = exp.cast(value, "bigint") if kind == WHOLE else value
        counted = self.state("distinct" if distinct else "values", value, where)
        total = self.state("distinct_sum" if distinct else "sum", value, where)
        return _if_any(counted, as_type(total, name))

    def state(self, kind: str, value: exp.Expr, where: exp.Expr | None) -> exp.Expr:
        """Return the column of a state, adding the state if it is new."""
        value = value if where is None else _where(value, where)
        if value not in self.rows[len(self.keys) :]:
            self.rows.append(value.copy())
        place = self.rows.index(value, len(self.keys))
        state = State(kind, place)
        if state not in self.states:
            self.states.append(state)
        return self.column(self.states.index(state))

    def column(self, place: int) -> exp.Expr:
        """The column of a state."""
        return exp.column(f"_s{place + 1}", table=STATES)


def _where(value: exp.Expr, condition: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def _if_any(count: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Return the value, or NULL for a group in which nothing is counted."""
    return _where(value, exp.GT(this=count.copy(), expression=exp.Literal.number(0)))
