"""The way from Q to Q^I in steps that people can check: the query after each pass, and why.

The first steps are noted while a query is rewritten, so that a refused query shows how far it got;
the last ones are rendered by the same code as a run, with ``:tau`` and ``:t`` for its window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from traceback import walk_tb
from typing import Protocol

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.quoting import rendered_name
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.ir import ATOM
from tapestry.sql.look.describe import Part, describe
from tapestry.sql.scan import Scan
from tapestry.sql.strategies.choose import Strategy
from tapestry.sql.write import build

QUERY, NAMES, STANDARD = "query", "resolve_names", "standard_form"
SOLVED, Q_M, Q_I = "solve_time_atoms", "first_instant", "split_by_bound"
TAU, T = ":tau", ":t"

PASSES = frozenset(
    {
        *("parse", "read_tokens", "open_parentheses", "balance_connectors", "name_fields"),
        *("inline_views", "inline_inner_ctes", "spend_names", "resolve_names", "expand_stars"),
        *("refuse_unread", "refuse_unsupported", "refuse_nondeterministic", "align_sides"),
        *("normalize_subqueries", "normalize_conditions", "solve_time_atoms", "to_standard_form"),
        *("keep_look_ups", "split_by_bound"),
    }
)
"""The steps that a refusal is said to come from; other modules are theirs."""
WHY: Mapping[str, str] = {
    QUERY: "What the author wrote: Q.",
    NAMES: "A view is the query that it names, * and bare names stand for columns: only the"
    " spelling changes.",
    STANDARD: "WHERE and ON become an OR of ANDs (De Morgan; IN, outer joins, DISTINCT and set"
    " operations by their definitions; what a static table says never changes, so that a LEFT JOIN"
    " to one stays); a row counts from its arrival on.",
    SOLVED: "Each comparison with now() changes its truth once as time passes, so it is solved for"
    " the instant s at which it does, to the microsecond: this is Q(s).",
    Q_I: "max(lower bounds) lies in (tau, t] iff exactly one bound is the first to do so: the"
    " branches are disjoint, together complete, and each reads a narrow range of one table.",
}


@dataclass(frozen=True)
class Step:
    """One step of the way from Q to Q^I: the pass, why it is allowed, the query after it."""

    name: str
    why: str
    sql: str


class Rewritten(Protocol):
    """What the steps are made from: a ``Rewriting``."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the select list."""

    @property
    def catalog(self) -> Catalog:
        """What the query may read."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the sources that it reads."""

    @property
    def parts(self) -> Sequence[Part]:
        """Its arms in standard form."""

    @property
    def costliest(self) -> Strategy:
        """How the first instant is found."""

    def template(
        self, scans: Mapping[str, Scan], tau: str | None, t: str, dialect: str = "spark"
    ) -> str:
        """Q_M or Q^I with texts for the ends of the window."""


def step(name: str, sql: str) -> Step:
    """One of the steps whose reason is always the same."""
    return Step(name, WHY[name], sql)


def last_steps(rewritten: Rewritten) -> tuple[Step, ...]:
    """From the standard form to Q^I."""
    parts, columns = rewritten.parts, rewritten.columns
    scans = _symbolic_scans(rewritten)
    q_m = symbolic(rewritten.template(scans, None, T))
    q_i = symbolic(rewritten.template(scans, TAU, T))
    atoms = [f"-- {text}\n" for text in _solved_atoms(parts)]
    return (
        step(STANDARD, describe(parts, columns, clock=None)),
        step(SOLVED, "".join(atoms) + describe(parts, columns)),
        Step(Q_M, rewritten.costliest.why, q_m),
        step(Q_I, q_i),
    )


def symbolic(sql: str) -> str:
    """The statement with ``:tau`` and ``:t`` alone where a timestamp's text would be cast."""
    for name in (TAU, T):
        sql = sql.replace(f"CAST('{name}' AS TIMESTAMP)", name)
    return sql


def refusing_pass(refusal: Refusal) -> str:
    """The pass that refused: the innermost one in which the error came up; else the module."""
    names = [
        str(frame.f_globals.get("__name__", "")) for frame, _ in walk_tb(refusal.__traceback__)
    ]
    ours = [name for name in names if name.startswith("tapestry.")]
    modules = [name.rpartition(".")[2] for name in ours]
    passes = [module for module in modules if module in PASSES]
    return (passes or modules or ["rewriter"])[-1]


def _symbolic_scans(rewritten: Rewritten) -> dict[str, Scan]:
    """The sources by their names, none of their rows late."""
    scans = {}
    for name in rewritten.sources:
        source = rewritten.catalog.relations[name]
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


def _solved_atoms(parts: Sequence[Part]) -> list[str]:
    """``comparison  <=>  bound <= s`` for every comparison with now(), each once."""
    found: dict[str, list[str]] = {}
    for low, bound in _bounds(parts):
        atom = bound.meta.get(ATOM)
        if atom is None:
            continue
        text = bound.sql("spark")
        solved = f"{text} <= s" if low else f"s < {text}"
        if solved not in found.setdefault(atom, []):
            found[atom].append(solved)
    return [f"{atom}   iff   {' AND '.join(solved)}" for atom, solved in found.items()]


def _bounds(parts: Sequence[Part]) -> list[tuple[bool, exp.Expr]]:
    """(is it a lower one, bound) of every conjunction, subqueries included."""
    found: list[tuple[bool, exp.Expr]] = []
    open_ones = [c for part in parts for block in part.blocks for c in block.disjuncts]
    while open_ones:
        conjunction = open_ones.pop(0)
        found += [(True, bound) for bound in conjunction.lowers]
        found += [(False, bound) for bound in conjunction.uppers]
        open_ones += [exists.inner for exists in conjunction.exists]
    return found
