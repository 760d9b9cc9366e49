"""Solve each comparison with now() for the instant s (semantics, section 2, "time atom")."""

from __future__ import annotations

from sqlglot import exp

from tapestry.sql.facts.solve_comparison import solve_comparison
from tapestry.sql.facts.walk import ArmWalk
from tapestry.sql.ir import ATOM, And, Formula, Lower, TimeAtom, Upper
from tapestry.sql.query_state import QueryState


def solve_time_atoms(query: QueryState) -> QueryState:
    """The query with bounds of s in the place of comparisons with now().

    Sound because a comparison of f(s) with e, f monotone, changes its truth at one instant: it is
    true iff s is at or after (or before) that instant, and unknown iff there is none.

    Raises Refusal, with the place, for a comparison that is not monotone in now().
    """
    return query.with_arms(Solve(query.catalog.time_zone).outermost(query.arms))


class Solve(ArmWalk):
    """Formulas with each comparison solved, in a session time zone."""

    def __init__(self, zone: str) -> None:
        super().__init__()
        self.zone = zone

    def leaf(self, formula: Formula) -> Formula:
        """Bounds for a comparison."""
        if not isinstance(formula, TimeAtom):
            return formula
        atom, wanted = formula.sql, formula.wanted
        solution = solve_comparison(atom, self.zone)
        if wanted == "unknown":
            return solution.unknown
        solved = solution.true if wanted == "true" else solution.false
        _remember(solved, atom if wanted == "true" else exp.Not(this=exp.Paren(this=atom)))
        return solved


def _remember(solved: Formula, atom: exp.Expr) -> None:
    """Write the comparison into the bounds that it was solved to, for those who read the trace.

    Not where the solution has alternatives: there no bound by itself stands for the comparison.
    """
    parts = solved.parts if isinstance(solved, And) else (solved,)
    if parts and all(isinstance(part, Lower | Upper) for part in parts):
        text = atom.sql("spark")
        for part in parts:
            assert isinstance(part, Lower | Upper)
            part.bound.meta[ATOM] = text
