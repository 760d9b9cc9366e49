"""The way from Q to Q^I in steps that people can check: the query after each pass, and why.

The first steps are noted while a query is rewritten, so that a refused query shows how far it got;
the last ones are rendered by the same code as a run, with ``:tau`` and ``:t`` for its window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from tapestry.quoting import remark, rendered_name
from tapestry.sql.arms import OuterArm
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.choose_strategy import AnyStrategy
from tapestry.sql.facts.walk import ArmWalk
from tapestry.sql.ir import ATOM, Conjunction, Formula, Inferred, Lower, SourceTable, Upper
from tapestry.sql.look.describe import describe
from tapestry.sql.query_state import QueryState
from tapestry.sql.scan import Scan
from tapestry.sql.write import build

QUERY, FORM, SOLVED = "query", "normalize_subqueries", "solve_time_atoms"
INFERRED = "infer_transitive"
Q_M, Q_I = "first_instant", "split_by_bound"
WRITTEN = "What the author wrote: Q."
TAU, T = ":tau", ":t"


@dataclass(frozen=True)
class Passed:
    """The query after a step: its tree, or from the arms on the state of the passes over the IR."""

    name: str
    why: str
    state: exp.Query | QueryState


@dataclass(frozen=True)
class Step:
    """One step of the way from Q to Q^I: the pass, why it is allowed, the query after it."""

    name: str
    why: str
    sql: str


def steps_of(passed: Iterable[Passed]) -> tuple[Step, ...]:
    """The steps from Q on that changed what is shown, the first of them being Q itself."""
    steps: list[Step] = []
    before = ""
    for one in passed:
        text = shown(one)
        if text != before:
            steps.append(Step(one.name, one.why, remarks(one) + text))
        before = text
    return tuple(steps)


def shown(one: Passed) -> str:
    """Return the query after a step as SQL."""
    if isinstance(one.state, QueryState):
        return describe(one.state.arms, one.state.columns)
    return one.state.sql("spark", pretty=True)


def last_steps(
    strategy: AnyStrategy, texts: tuple[str, str], notes: Iterable[str]
) -> tuple[Step, ...]:
    """Return the steps from the standard form to Q^I, by the texts of Q_M and Q^I."""
    q_m, q_i = map(symbolic, texts)
    told = "".join(f"-- {line}\n" for line in notes)
    return Step(Q_M, strategy.why, q_m), Step(Q_I, strategy.window, told + q_i)


def symbolic(sql: str) -> str:
    """Return the statement with ``:tau`` and ``:t`` in place of casts of a timestamp's text."""
    for name in (TAU, T):
        sql = sql.replace(f"CAST('{name}' AS TIMESTAMP)", name)
    return sql


def symbolic_scans(sources: Iterable[str], catalog: Catalog) -> dict[str, Scan]:
    """Return scans that read the sources by their names, with no late rows."""
    scans = {}
    for name in sources:
        source = catalog.relations[name]
        assert isinstance(source, Source)
        types = {column.name.lower(): column.type for column in source.columns}
        arrival = source.arrival
        text = None
        if arrival is not None:
            text = build.column(arrival).sql("spark")
            if types.get(arrival.lower(), "timestamp") != "timestamp":
                text = f"CAST({text} AS TIMESTAMP)"
        scans[name] = Scan(rendered_name(name), text, "row_id")
    return scans


class _Solved(ArmWalk):
    """Collects ``comparison  <=>  bound <= s`` for every comparison with now(), each once."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {}

    def leaf(self, formula: Formula) -> Formula:
        if isinstance(formula, Lower | Upper) and ATOM in formula.bound.meta:
            text = formula.bound.sql("spark")
            solved = f"{text} <= s" if isinstance(formula, Lower) else f"s < {text}"
            known = self.found.setdefault(formula.bound.meta[ATOM], [])
            if solved not in known:
                known.append(solved)
        return formula


def remarks(one: Passed) -> str:
    """Return comments on facts that a step found besides the query that it shows."""
    if one.name == INFERRED and isinstance(one.state, QueryState):
        return "".join(f"-- {line}\n" for line in inferences(one.state.arms))
    return solved_atoms(one)


def solved_atoms(one: Passed) -> str:
    """Return comments on the solution of each comparison with now(), after the step that solves."""
    solved = _Solved()
    if one.name == SOLVED and isinstance(one.state, QueryState):
        solved.outermost(one.state.arms)
    lines = (f"-- {atom}   iff   {' AND '.join(s)}\n" for atom, s in solved.found.items())
    return "".join(lines)


def inferences(arms: Iterable[OuterArm]) -> tuple[str, ...]:
    """A line for each inferred condition, with the conditions that imply it; each once."""
    blocks = [block for arm in arms for block in arm.blocks]
    found = [one for block in blocks for each in block.disjuncts for one in _inferred(each)]
    return tuple(dict.fromkeys(map(_line, found)))


def _inferred(conjunction: Conjunction) -> Iterator[Inferred]:
    yield from conjunction.inferred
    for table in conjunction.tables:
        if isinstance(table, SourceTable):
            yield from table.inferred
    for exists in conjunction.exists:
        yield from _inferred(exists.inner)


def _line(one: Inferred) -> str:
    because = " AND ".join(build.operand(each).sql("spark") for each in one.because)
    return remark(f"{one.condition.sql('spark')}   follows from   {because}")
