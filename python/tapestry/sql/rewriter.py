"""Q → standard form → Q_M → Q^I: the passes in order.

A text is read (``tapestry.sql.read.read_query``), ``REFUSE`` looks at its tree,
``normalize_subqueries`` makes the arms of it (``tapestry.sql.ir``), and ``PASSES`` go over those.
What checks the rewriting (``tapestry.verification``) shares the reading and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from traceback import walk_tb

from tapestry.errors import Refusal
from tapestry.sql.catalog import Catalog
from tapestry.sql.facts.walk import source_tables
from tapestry.sql.look.trace import FORM, QUERY, WRITTEN, Passed, Step, steps_of
from tapestry.sql.normalize.normalize_subqueries import normalize_subqueries
from tapestry.sql.passes.sequence import PASSES, REFUSE
from tapestry.sql.query_state import Pass, QueryState
from tapestry.sql.read.read_query import READ, ReadQuery, read
from tapestry.sql.rewriting import Rewriting
from tapestry.sql.work import bounded

FORMED = (
    "Derived tables are merged into the queries that use them; IN, outer joins, DISTINCT and set"
    " operations become [NOT] EXISTS by their definitions."
)
"""Why ``normalize_subqueries``, which leads from the tree to the IR, changes no answer."""
BETWEEN = ("parse", "output_names", "normalize_subqueries")
"""Steps that are no passes: the way from a text to a tree, and from a tree to the IR."""


def rewrite(
    sql: str,
    catalog: Catalog,
    assume: Sequence[str] = (),
    begin: datetime | None = None,
    steps: list[Step] | None = None,
    passes: Sequence[Pass] = PASSES,
) -> Rewriting:
    """Rewrite a query for incremental evaluation (Tapestry, sections 4 and 5).

    ``assume`` are orders of arrival columns that the author knows; ``begin`` bounds the instants
    of interest from below; a pass that is left out of ``passes`` is off.
    Raises Refusal with the reason, the place in the SQL and a way out; ``steps`` then holds the
    steps over the syntax tree up to the one that refuses.
    """
    passed: list[Passed] = []
    with bounded(sql):
        try:
            query = _read(sql, catalog, passed)
        finally:
            if steps is not None:
                steps += steps_of(passed)
        columns = query.columns
        arms, catalog = normalize_subqueries(query.tree, catalog, query.audit)
        audit = tuple(columns[place] for place in query.audit)
        written, named = query.written, query.named
        state = QueryState(sql, written, catalog, columns, named, arms, begin, tuple(assume), audit)
        passed.append(Passed(FORM, FORMED, state))
        for one in passes:
            state = one.function(state)
            passed.append(Passed(one.name, one.why, state))
        return Rewriting(
            columns,
            _sources(state),
            query.canonical,
            state.arms,
            state.catalog,
            state.assumptions,
            tuple(passed),
            state.audit,
            begin=begin,
        )


def refusing_pass(refusal: Refusal) -> str:
    """Return the name of the step that refused (READ, REFUSE, PASSES …), else the module."""
    trees = [one.name for one in (*READ, *REFUSE)]
    steps = {*BETWEEN, *trees, *(one.name for one in PASSES)}
    names = [
        str(frame.f_globals.get("__name__", "")) for frame, _ in walk_tb(refusal.__traceback__)
    ]
    modules = [name.rpartition(".")[2] for name in names if name.startswith("tapestry.")]
    return ([name for name in modules if name in steps] or modules or ["rewriter"])[-1]


def _read(sql: str, catalog: Catalog, passed: list[Passed]) -> ReadQuery:
    """Read the text, and refuse what ``REFUSE`` does; ``passed`` takes each step."""
    query = read(sql, catalog)
    passed.append(Passed(QUERY, WRITTEN, query.written))
    for one, tree in query.steps():
        passed.append(Passed(one.name, one.why, tree))
    for one in REFUSE:
        passed.append(Passed(one.name, one.why, one.function(query.tree, catalog)))
    return query


def _sources(query: QueryState) -> tuple[str, ...]:
    """Every source of the query, those that its blocks read first."""
    tables = source_tables(query.arms)
    needed = [root for one in tables if (root := query.catalog.root(one.source))]
    return tuple(dict.fromkeys([*needed, *query.named]))
