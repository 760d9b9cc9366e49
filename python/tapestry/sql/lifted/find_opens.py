"""Finds instants before which no group can be an answer, by the outermost conditions on now().

    GROUP BY day HAVING now() >= day + INTERVAL 1 DAY        nothing of a day before its end

Such a bound hangs on the key alone, so that what happens to a key before it needs no evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from tapestry.sql.facts.blocks import conjuncts
from tapestry.sql.facts.bounds_of_time import atoms_in, comparisons_in
from tapestry.sql.facts.solve_comparison import OPERATORS, solve_comparison
from tapestry.sql.ir import And, Formula, Lower
from tapestry.sql.lifted.events import KEY_PLACE


def find_opens(
    tree: exp.Query, keys: Mapping[str, tuple[exp.Expr, ...]], zone: str
) -> tuple[exp.Expr, ...]:
    """The bounds, over columns that are named by the places of the key."""
    if not isinstance(tree, exp.Select) or not keys:
        return ()
    places = {value: n for values in keys.values() for n, value in enumerate(values, start=1)}
    found: list[exp.Expr] = []
    for clause in ("where", "having"):
        condition = tree.args.get(clause)
        for part in conjuncts(condition.this) if condition is not None else ():
            if not compares_alone(part):
                continue
            for comparison in comparisons_in(part):
                for bound in _lowers(solve_comparison(comparison, zone).true):
                    placed = _over_key(bound, places)
                    if placed is not None and placed not in found:
                        found.append(placed)
    return tuple(found)


def compares_alone(part: exp.Expr) -> bool:
    """Return whether a condition compares with the clock, and all its bounds must be met."""
    if not (type(part) in OPERATORS or isinstance(part, exp.Between)) or part.find(exp.Query):
        return False
    atoms = list(atoms_in(part))  # of an aggregate inside, FILTER and CASE have their own
    return bool(atoms) and all(atom is part for atom in atoms)


def _lowers(formula: Formula) -> Iterator[exp.Expr]:
    if isinstance(formula, Lower):
        yield formula.bound
    elif isinstance(formula, And):
        for part in formula.parts:
            yield from _lowers(part)


def _over_key(bound: exp.Expr, places: Mapping[exp.Expr, int]) -> exp.Expr | None:
    """Return the bound with key columns in place of the key; None if it depends on more."""

    def placed(node: exp.Expr) -> exp.Expr:
        if node not in places:
            return node
        column = exp.column(str(places[node]), table=KEY_PLACE)
        column.type = node.type
        return column

    found = bound.transform(placed)
    others = [c for c in found.find_all(exp.Column) if c.table != KEY_PLACE]
    return None if others or found.find(exp.Query, exp.AggFunc, exp.Window) else found
