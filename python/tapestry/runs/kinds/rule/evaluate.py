"""Evaluates the queries of a rule over a window of transactions: firings and bound rows."""

from __future__ import annotations

from dataclasses import dataclass

from tapestry.quoting import identifier
from tapestry.runs.engine.column_types import columns_of_query
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule.triggers import RuleText
from tapestry.runs.kinds.rule.windows import TransactionWindow
from tapestry.runs.query.views import Views
from tapestry.runs.sources.transactions import has_order, transition
from tapestry.runs.tables.bound_rows import COMMIT_TIME, COMMIT_VERSION, FIRING, ROW, N
from tapestry.sql.commits.lift_commits import COMMITS
from tapestry.sql.commits.transitions import TIME, TRANSACTION, TRANSITIONS, VERSION
from tapestry.sql.lift.cases import AT

AT_VERSION, AT_TIME, DEPTH = "_tap_version", "_tap_time", "_tap_depth"
"""The columns of a transaction, beside its number: the version and the time of its commit, and its
depth in a chain of actions."""


@dataclass(frozen=True)
class Evaluated:
    """The result of a window: views of the bound rows of each query, and of the firings.

    columns
        By query: its columns, with their types.
    changes, triggers
        Views of the changed rows, and of the transactions with an event of `when`.
    """

    rows: dict[str, str]
    columns: dict[str, tuple[tuple[str, str], ...]]
    fired: str
    changes: str
    triggers: str

    def bound(self, name: str, number: bool, n: int = 0) -> str:
        """Return a SELECT of the bound rows of a query, with the firing of each."""
        names = [f"r.{identifier(column)}" for column, _ in self.columns[name]]
        placed = ", ".join(
            f"r.{identifier(c)}" for c, kind in self.columns[name] if has_order(kind)
        )
        own = [f"{n:d}L AS {N}"] if number else []
        own += [
            f"f.{AT} AS {FIRING}",
            f"f.{AT_VERSION} AS {COMMIT_VERSION}",
            f"f.{AT_TIME} AS {COMMIT_TIME}",
            f"row_number() OVER (PARTITION BY f.{AT} ORDER BY {placed or f'f.{AT}'}) AS {ROW}",
        ]
        return (
            f"SELECT {', '.join([*names, *own])} FROM {self.rows[name]} AS r"
            f" JOIN {self.fired} AS f ON r.{AT} = f.{AT}"
        )

    @property
    def firings(self) -> str:
        """Return a SELECT of the firings: number, version, time, depth, number of bound rows."""
        counted = " UNION ALL ".join(
            f"SELECT {AT}, 1 AS _tap_one FROM {view}" for view in self.rows.values()
        )
        return (
            f"SELECT f.{AT}, f.{AT_VERSION}, f.{AT_TIME}, f.{DEPTH}, coalesce(sum(r._tap_one), 0)"
            f" FROM {self.fired} AS f LEFT JOIN ({counted}) AS r ON r.{AT} = f.{AT} GROUP BY"
            f" f.{AT}, f.{AT_VERSION}, f.{AT_TIME}, f.{DEPTH}"
        )


@dataclass(frozen=True)
class OverWindow:
    """A rule over a window of transactions; ``views`` holds computed rows."""

    session: Session
    rule: RuleText
    window: TransactionWindow
    views: Views

    def evaluate(self, n: int) -> Evaluated:
        """Evaluate all queries for the run n; their rows stand in views."""
        views, window, tables = self.views, self.window, self.rule.relations.tables
        changes = window.read_changes(views, n)
        relations = {name: transition(name, changes, window.columns) for name in TRANSITIONS}
        relations |= {name: window.rows_at_each(name, one) for name, one in tables.items()}
        triggered = " UNION ".join(event.triggering(changes) for event in self.rule.events)
        commits = views.keep(
            f"SELECT {TRANSACTION} AS {AT}, max({VERSION}) AS {AT_VERSION}, max({TIME}) AS"
            f" {AT_TIME}, CAST(max({window.depth_of(VERSION)}) AS BIGINT) AS {DEPTH}"
            f" FROM {changes} WHERE {TRANSACTION} IN ({triggered}) GROUP BY {TRANSACTION}"
        )
        relations[COMMITS] = f"SELECT {AT} FROM {commits}"
        rows, columns = {}, {}
        for name, lifted in self.rule.lifted(window.moved).items():
            select = lifted.text(relations)
            described = columns_of_query(self.session, select)
            rows[name] = views.keep(select)
            kinds = (kind for _, kind in described)
            columns[name] = tuple(zip(lifted.columns, kinds, strict=False))
        fired = f"SELECT * FROM {commits} WHERE true"
        for name in self.rule.queries.conditions:
            fired += f" AND {AT} IN (SELECT {AT} FROM {rows[name]})"
        return Evaluated(rows, columns, views.keep(fired), changes, commits)
