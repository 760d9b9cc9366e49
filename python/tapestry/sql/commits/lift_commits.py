"""The queries of a rule over all commits of a window at once (rules, section 4).

    q(commit)    for each commit, one after the other
    q↑           the rows of q for all of them, each with its commit in ``_instant``

A transition table has rows of many commits, each with its own; another table is the same for all
of them, or has a first and a last commit to each row. ``sql.lift`` does the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql import timing
from tapestry.sql.commits.transitions import TRANSACTION, TRANSITIONS
from tapestry.sql.facts.values import Names
from tapestry.sql.ir import SourceTable
from tapestry.sql.lift.cases import AT, Visible
from tapestry.sql.lift.lift import Lift
from tapestry.sql.normalize.scope import Scope
from tapestry.sql.normalize.write_out import WriteOut
from tapestry.sql.operators.texts import text_of
from tapestry.sql.passes.tree.refuse_misplaced import refuse_misplaced
from tapestry.sql.passes.tree.refuse_nondeterministic import refuse_nondeterministic
from tapestry.sql.passes.tree.refuse_subqueries import refuse_subqueries
from tapestry.sql.read.read_query import ReadQuery
from tapestry.sql.read.total_orders import has_orders, total_orders
from tapestry.sql.write import build

COMMITS: Final = "_commits"
"""The relation of the transactions of a window; ``_instant`` is their number."""
SINCE, UNTIL = "_since", "_until"
"""Columns of a table that changes within a window: the transactions from and before which a row is
there."""
_REFUSE = (refuse_nondeterministic, refuse_misplaced, refuse_subqueries)


@dataclass(frozen=True)
class LiftedQuery:
    """A query over commits: its columns, and its text over the relations of what it reads.

    sources
        Those that it reads, in the order in which its text numbers them.
    """

    columns: tuple[str, ...]
    tree: exp.Query
    sources: tuple[str, ...]

    def text(self, relations: Mapping[str, str], dialect: str = "spark") -> str:
        """The SELECT; ``relations`` gives the SELECT of each source, and that of ``COMMITS``."""
        listed = [(COMMITS, relations[COMMITS])]
        listed += [
            (f"_read_{number}", relations[source])
            for number, source in enumerate(self.sources, start=1)
        ]
        return text_of(self.tree, (), listed, dialect)


def lift_over_commits(query: ReadQuery, moved: Collection[str] = ()) -> LiftedQuery:
    """Lift a query of a rule; ``moved`` are the other tables that change between its commits.

    Raises Refusal for what a rule cannot ask, or what is not lifted.
    """
    for refuse in _REFUSE:
        refuse(query.tree, query.catalog)
    if timing.contains_now(query.tree):
        raise Refusal(
            "a rule that asks for the clock: it is evaluated once, for a commit that is past",
            query.sql,
            "compare with commit_time, a column of the transition tables",
            code="clock-in-rule",
        )
    tree, catalog = query.tree, query.catalog
    tree = total_orders(tree, catalog) if has_orders(tree) else tree
    writer = WriteOut(catalog, Names())
    written = writer.query(tree, Scope({}, {}), {})
    tables = list(writer.tables.values())
    sources = dict.fromkeys(table.source for table in tables)
    reads = {source: f"_read_{number}" for number, source in enumerate(sources, start=1)}
    lifted = Lift(written, tables, reads, Commits(frozenset(moved))).rows(written)
    return LiftedQuery(
        query.columns, build.with_names(lifted, [*query.columns, AT]), tuple(sources)
    )


@dataclass(frozen=True)
class Commits:
    """The cases of a rule: the commits that may trigger it."""

    moved: frozenset[str]

    def every(self, alias: str) -> exp.Table:
        """Every commit, each once."""
        return build.table(COMMITS, alias)

    def in_every_case(self, table: SourceTable) -> bool:
        """Return whether a use has the same rows for all of the commits."""
        return table.source not in TRANSITIONS and table.source not in self.moved

    def visible(self, table: SourceTable, alias: str) -> Visible:
        """The rows of a commit, or those that are there at it."""
        at = exp.column(AT, table=alias)
        if table.source in TRANSITIONS:
            own = exp.column(TRANSACTION, table=table.alias)
            return Visible(self.every(alias), [exp.EQ(this=own, expression=at)])
        since, until = (exp.column(name, table=table.alias) for name in (SINCE, UNTIL))
        on: list[exp.Expr] = [
            exp.LTE(this=since, expression=at),
            exp.LT(this=at.copy(), expression=until),
        ]
        return Visible(self.every(alias), on)
