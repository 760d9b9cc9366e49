"""Bring a condition to negation normal form: when is it true, false, or unknown?

``_Truth.of(condition, wanted)`` gives the formula that holds exactly where the three-valued
condition has the wanted value.  Everything free of time and subqueries stays opaque; NOT, IS TRUE,
COALESCE and CASE over time atoms are expanded by the definition of SQL's connectives, and NOT of
unknown stays unknown (semantics, section 2, "Standard form" and "NULL").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql import timing
from tapestry.sql.facts.common_types import as_type, shared_type
from tapestry.sql.facts.solve_comparison import OPERATORS
from tapestry.sql.ir import (
    FALSE,
    TRUE,
    Condition,
    ExistsFormula,
    Formula,
    TimeAtom,
    all_of,
    any_of,
    weight_of,
)
from tapestry.sql.work import size, spend

CONDITIONS = (exp.Predicate, exp.Connector, exp.Not, exp.Boolean, exp.Exists, exp.In, exp.Between)


_CONDITION = 4
"""Units for a condition, besides those for its nodes."""


class Context(Protocol):
    """The scope of the block around a condition, as the normalization needs it."""

    def resolve(self, node: exp.Expr) -> exp.Expr:
        """The expression over the block's base tables."""

    def exists(self, query: exp.Expr, negated: bool) -> Formula:
        """EXISTS over a correlated subquery."""

    def exists_where(
        self, query: exp.Expr, of: Callable[[list[exp.Expr]], exp.Expr]
    ) -> ExistsFormula:
        """EXISTS over the rows of a subquery whose select list satisfies a condition."""


def normalize_conditions(condition: exp.Expr, context: Context, wanted: str = "true") -> Formula:
    """Return the formula that holds exactly where the condition is true, or as ``wanted``."""
    return _Truth(context).of(condition, wanted)


def is_opaque(node: exp.Expr) -> bool:
    """Return whether the expression is free of the clock and of subqueries."""
    return not any(timing.is_now(part) or isinstance(part, exp.Query) for part in node.walk())


class _Truth:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.weights: dict[int, int] = {}
        self.known: dict[tuple[int, str], tuple[exp.Expr, Formula]] = {}
        """By the identity of a condition, which is kept so that this stays its own, and by what is
        wanted of it: a comparison of conditions asks for each several times."""

    def of(self, node: exp.Expr, wanted: str) -> Formula:
        """The formula for ``node`` being 'true', 'false' or 'unknown'."""
        key = (id(node), wanted)
        if key not in self.known:
            spend(_CONDITION + size(node), "conditions on time and subqueries")
            formula = self.made(node, wanted)
            self.known[key] = (node, formula)
            spend(weight_of(formula, self.weights) // 4, "conditions on time and subqueries")
        return self.known[key][1]

    def made(self, node: exp.Expr, wanted: str) -> Formula:
        """Return the formula for ``node`` being ``wanted``, not cached."""
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Boolean):
            return TRUE if wanted == ("true" if node.this else "false") else FALSE
        if isinstance(node, exp.Null):
            return TRUE if wanted == "unknown" else FALSE
        if is_opaque(node):
            return self.opaque(node, wanted)
        handlers: list[tuple[type[exp.Expr], Callable[..., Formula]]] = [
            (exp.Not, self.negation),
            (exp.And, self.conjunction),
            (exp.Or, self.disjunction),
            (exp.Is, self.test),
            (exp.Exists, self.existence),
            (exp.In, self.membership),
            (exp.Between, self.between),
            (exp.Case, self.case),
            (exp.If, self.case),
            (exp.Coalesce, self.coalesce),
        ]
        for kind, handler in handlers:
            if isinstance(node, kind):
                return handler(node, wanted)
        if type(node) in OPERATORS:
            return self.comparison(node, wanted)
        raise self.refuse(node)

    def refuse(self, node: exp.Expr) -> Refusal:
        if any(isinstance(part, exp.Query) for part in node.walk()):
            return Refusal(
                "a subquery that gives a value inside a condition is not supported yet",
                node.sql("spark"),
                "write it as [NOT] EXISTS or [NOT] IN (subquery), or join the table",
                code="scalar-subquery",
            )
        if node.find(exp.Lambda) is not None:
            return Refusal(
                "now() stands inside a function over an array",
                node.sql("spark"),
                "compare it with one element: now() > array_min(m.times) is exists(m.times,"
                " x -> x < now())",
                code="clock-in-expression",
            )
        return Refusal(
            "now() stands inside an expression that is no comparison",
            node.sql("spark"),
            "compare now() with an expression over the data, alone on one side",
            code="clock-in-expression",
        )

    def opaque(self, node: exp.Expr, wanted: str) -> Formula:
        resolved = self.context.resolve(node)
        if wanted == "true":
            parts = resolved.flatten() if isinstance(resolved, exp.And) else [resolved]
            return all_of(*(Condition(part.copy()) for part in parts))
        if wanted == "false":
            return Condition(exp.Not(this=timing.wrapped(resolved)))
        return Condition(exp.Is(this=timing.wrapped(resolved), expression=exp.Null()))

    def not_true(self, node: exp.Expr) -> Formula:
        return any_of(self.of(node, "false"), self.of(node, "unknown"))

    # -- connectives --------------------------------------------------------------------------
    def negation(self, node: exp.Not, wanted: str) -> Formula:
        mirrored = {"true": "false", "false": "true", "unknown": "unknown"}
        return self.of(node.this, mirrored[wanted])

    def conjunction(self, node: exp.And, wanted: str) -> Formula:
        left, right = node.this, node.expression
        if wanted == "true":
            return all_of(self.of(left, "true"), self.of(right, "true"))
        if wanted == "false":
            return any_of(self.of(left, "false"), self.of(right, "false"))
        left_unknown, right_unknown = self.of(left, "unknown"), self.of(right, "unknown")
        return any_of(
            all_of(left_unknown, self.of(right, "true")),
            all_of(self.of(left, "true"), right_unknown),
            all_of(left_unknown, right_unknown),
        )

    def disjunction(self, node: exp.Or, wanted: str) -> Formula:
        if wanted == "unknown":
            negated = exp.And(
                this=exp.Not(this=timing.wrapped(node.this)),
                expression=exp.Not(this=timing.wrapped(node.expression)),
            )
            return self.conjunction(negated, "unknown")
        combine = any_of if wanted == "true" else all_of
        return combine(self.of(node.this, wanted), self.of(node.expression, wanted))

    def test(self, node: exp.Is, wanted: str) -> Formula:
        """IS NULL, IS TRUE, IS FALSE: never unknown themselves."""
        if wanted == "unknown":
            return FALSE
        operand, tested = node.this, node.expression
        while isinstance(operand, exp.Paren):
            operand = operand.this
        if not isinstance(operand, CONDITIONS) and type(operand) not in OPERATORS:
            raise self.refuse(node)
        values = ["true", "false", "unknown"]
        hit = "unknown"
        if isinstance(tested, exp.Boolean):
            hit = "true" if tested.this else "false"
        if wanted == "true":
            return self.of(operand, hit)
        return any_of(*(self.of(operand, value) for value in values if value != hit))

    # -- subqueries ---------------------------------------------------------------------------
    def existence(self, node: exp.Exists, wanted: str) -> Formula:
        if not isinstance(node.this, exp.Query):
            raise self.refuse(node)
        if wanted == "unknown":
            return FALSE
        return self.context.exists(node.this, wanted == "false")

    def membership(self, node: exp.In, wanted: str) -> Formula:
        if node.args.get("query") is None:
            return self.in_list(node, wanted)
        query = node.args["query"]
        needles = list(node.this.expressions) if isinstance(node.this, exp.Tuple) else [node.this]
        needles = [self.context.resolve(needle) for needle in needles]
        if not all(is_opaque(needle) for needle in needles):
            raise self.refuse(node)

        def matching(columns: list[exp.Expr]) -> exp.Expr:
            if len(columns) != len(needles):
                raise Refusal(
                    f"IN compares {len(needles)} values with {len(columns)} columns",
                    node.sql("spark"),
                    "select as many columns as stand before IN: (a, b) IN (SELECT c, d …)",
                    code="uneven-columns",
                )
            pairs = zip(needles, columns, strict=True)
            return exp.and_(*(exp.EQ(this=_p(n), expression=_p(c)) for n, c in pairs), copy=False)

        def unclear(columns: list[exp.Expr]) -> exp.Expr:
            """True for the rows that make the comparison unknown."""
            return exp.Is(this=timing.wrapped(matching(columns)), expression=exp.Null())

        def found(of: Callable[[list[exp.Expr]], exp.Expr], negated: bool) -> Formula:
            exists = self.context.exists_where(query, of)
            return ExistsFormula(negated, exists.arms)

        if wanted == "true":
            return found(matching, False)
        if wanted == "unknown":
            return all_of(found(matching, True), found(unclear, False))
        if len(needles) > 1:
            return all_of(found(matching, True), found(unclear, True))
        # NOT IN (semantics, "NULL"): no equal row, no NULL among the rows, and where the needle
        # itself is NULL no row at all; three anti-joins that each keep their own simple condition.
        return all_of(
            found(matching, True),
            found(lambda columns: exp.Is(this=_p(columns[0]), expression=exp.Null()), True),
            found(lambda _: exp.Is(this=_p(needles[0]), expression=exp.Null()), True),
        )

    def in_list(self, node: exp.In, wanted: str) -> Formula:
        equalities = [
            exp.EQ(this=node.this.copy(), expression=item.copy()) for item in node.expressions
        ]
        if any(part.find(exp.Query) is not None for part in node.expressions):
            raise self.refuse(node)
        if self.shared_type(node.expressions) != "":
            raise Refusal(
                "the values of an IN list with now() have several types",
                node.sql("spark"),
                "cast them to one, or write = and OR",
                code="clock-mixed-types",
            )
        union: exp.Expr = equalities[0]
        for equality in equalities[1:]:
            union = exp.Or(this=union, expression=equality)
        return self.of(union, wanted)

    def between(self, node: exp.Between, wanted: str) -> Formula:
        above = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
        below = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
        return self.of(exp.And(this=above, expression=below), wanted)

    # -- conditional expressions --------------------------------------------------------------
    def case(self, node: exp.Case | exp.If, wanted: str) -> Formula:
        parts: list[Formula] = []
        before: list[Formula] = []
        branches, default = case_branches(node)
        for condition, result in branches:
            parts.append(all_of(*before, self.of(condition, "true"), self.of(result, wanted)))
            before.append(self.not_true(condition))
        parts.append(all_of(*before, self.of(default, wanted)))
        return any_of(*parts)

    def coalesce(self, node: exp.Coalesce, wanted: str) -> Formula:
        operands = [node.this, *node.expressions]
        parts: list[Formula] = []
        before: list[Formula] = []
        for operand in operands:
            if wanted != "unknown":
                parts.append(all_of(*before, self.of(operand, wanted)))
            before.append(self.of(operand, "unknown"))
        return all_of(*before) if wanted == "unknown" else any_of(*parts)

    # -- comparisons --------------------------------------------------------------------------
    def comparison(self, node: exp.Expr, wanted: str) -> Formula:
        left, right = _p_inner(node.this), _p_inner(node.expression)
        for side, other, on_left in ((left, right, True), (right, left, False)):
            if isinstance(side, exp.Case | exp.If) and not is_opaque(side):
                return self.of(self.push_into_case(node, side, other, on_left), wanted)
        if isinstance(left, CONDITIONS) or isinstance(right, CONDITIONS):
            return self.equivalence(node, left, right, wanted)
        if any(isinstance(part, exp.Query) for part in node.walk()):
            raise self.refuse(node)
        return TimeAtom(self.context.resolve(node), wanted)

    def push_into_case(
        self, node: exp.Expr, case: exp.Case | exp.If, other: exp.Expr, on_left: bool
    ) -> exp.Expr:
        """``CASE ... THEN r ... END op e`` is ``CASE ... THEN r op e ... END``.

        Where the results have one type, or are cast to the one that Spark gives to the CASE.
        """
        branches, default = case_branches(case)
        kind = self.shared_type([*(result for _, result in branches), default])
        if kind is None:
            raise Refusal(
                "the results of a CASE with now() have several types, or none that is certain",
                case.sql("spark"),
                "cast them to one",
                code="clock-mixed-types",
            )

        def compared(result: exp.Expr) -> exp.Expr:
            result = as_type(_p(result), kind)
            left, right = (result, _p(other)) if on_left else (_p(other), result)
            return type(node)(this=left, expression=right)

        return exp.Case(
            ifs=[exp.If(this=c.copy(), true=compared(result)) for c, result in branches],
            default=compared(default),
        )

    def shared_type(self, values: list[exp.Expr]) -> str | None:
        """``common_types.shared_type`` of values with a place in the query."""
        return shared_type(
            [
                value if isinstance(value, CONDITIONS) else self.context.resolve(value.copy())
                for value in values
            ]
        )

    def equivalence(self, node: exp.Expr, left: exp.Expr, right: exp.Expr, wanted: str) -> Formula:
        """``a = b``, ``<=>`` and their negations between conditions."""
        if not isinstance(node, exp.EQ | exp.NEQ | exp.NullSafeEQ | exp.NullSafeNEQ):
            raise self.refuse(node)

        def both(first: str, second: str) -> Formula:
            return all_of(self.of(left, first), self.of(right, second))

        safe = isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ)
        if wanted == "unknown":
            return FALSE if safe else any_of(self.of(left, wanted), self.of(right, wanted))
        equal = (wanted == "true") == isinstance(node, exp.EQ | exp.NullSafeEQ)
        values = ("true", "false", "unknown") if safe else ("true", "false")
        pairs = [(a, b) for a in values for b in values if (a == b) == equal]
        return any_of(*(both(*pair) for pair in pairs))


def case_branches(
    node: exp.Case | exp.If,
) -> tuple[list[tuple[exp.Expr, exp.Expr]], exp.Expr]:
    """The (condition, result) pairs of a CASE or IF, and its default."""
    if isinstance(node, exp.If):
        default = node.args.get("false") or exp.Null()
        return [(node.this, node.args["true"])], default
    operand = node.this
    branches = []
    for branch in node.args["ifs"]:
        condition = branch.this
        if operand is not None:
            condition = exp.EQ(this=operand.copy(), expression=condition.copy())
        branches.append((condition, branch.args["true"]))
    return branches, node.args.get("default") or exp.Null()


def _p(node: exp.Expr) -> exp.Expr:
    return timing.wrapped(node)


def _p_inner(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node
