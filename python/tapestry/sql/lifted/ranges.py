"""Finds the rows of a source that can matter at an instant of a window, so that files are skipped.

    WHERE m.ts > now() - INTERVAL 30 DAYS        m.ts > tau - INTERVAL 30 DAYS
    WHERE now() >= m.due                         m.due <= t

Sound because every instant s that is evaluated lies in the window: ``s < bound`` and ``tau < s``
give ``tau < bound``; ``bound <= s`` and ``s <= t`` give ``bound <= t``. A row for which that is not
true fails WHERE at every one of them, whatever it is joined to.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tapestry.sql.branches.frame import Frame
from tapestry.sql.branches.split_by_bound import by
from tapestry.sql.facts.bounds_of_time import comparisons_in
from tapestry.sql.facts.solve_comparison import solve_comparison
from tapestry.sql.ir import And, Formula, Lower, Upper
from tapestry.sql.lifted.find_opens import compares_alone, conjuncts_of


def ranges_of(tree: exp.Query, frame: Frame) -> dict[str, list[exp.Expr]]:
    """Return, by alias of a table, the conditions on its rows that WHERE implies in the window.

    ``frame``: the instants that are evaluated; without its begin none is bounded from below.
    """
    found: dict[str, list[exp.Expr]] = {}
    for select in tree.find_all(exp.Select):
        where = select.args.get("where")
        if where is None:
            continue
        tables = {one.alias for one in select.find_all(exp.Table) if one.parent_select is select}
        for part in conjuncts_of(where.this):
            if not compares_alone(part):
                continue
            for comparison in comparisons_in(part):
                solution = solve_comparison(comparison, frame.order.zone)
                for condition in _implied(solution.true, frame):
                    aliases = {column.table for column in condition.find_all(exp.Column)}
                    if len(aliases) == 1 and aliases <= tables:
                        found.setdefault(aliases.pop(), []).append(condition)
    return found


def _implied(formula: Formula, frame: Frame) -> Iterator[exp.Expr]:
    if isinstance(formula, And):
        for part in formula.parts:
            yield from _implied(part, frame)
    elif isinstance(formula, Lower):
        yield by(formula.bound, frame.t, exp.LTE, frame.order)
    elif isinstance(formula, Upper) and frame.tau is not None:
        yield by(formula.bound, frame.tau, exp.GT, frame.order)
