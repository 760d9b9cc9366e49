"""The queries of a rule over a window of commits: what fires, and the rows that are bound by it."""

from __future__ import annotations

from dataclasses import dataclass

from tapestry.quoting import identifier, identifiers
from tapestry.runs.engine.column_types import columns_of_query, sql_type
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule.states import States
from tapestry.runs.kinds.rule.triggers import RuleText
from tapestry.runs.query.views import Views
from tapestry.runs.sources.transactions import (
    HOW,
    TYPE,
    ChangedInWindow,
    CommitWindow,
    gone,
    has_order,
    transition,
)
from tapestry.runs.tables.bound_rows import COMMIT_TIME, COMMIT_VERSION, FIRING, ROW, N
from tapestry.sql.commits.lift_commits import COMMITS
from tapestry.sql.commits.transitions import ADDED, TRANSITIONS, VERSION
from tapestry.sql.lift.cases import AT


@dataclass(frozen=True)
class Evaluated:
    """A window has come to this: views of the bound rows of each query, and of the firings.

    columns
        By query: its columns, with their types.
    """

    window: CommitWindow
    rows: dict[str, str]
    columns: dict[str, tuple[tuple[str, str], ...]]
    fired: str

    def bound(self, name: str, number: bool, n: int = 0) -> str:
        """A SELECT of the bound rows of a query, with the commit of each."""
        names = [identifier(column) for column, _ in self.columns[name]]
        time = self.window.time_of(AT) if self.window.commits else "CAST(NULL AS TIMESTAMP)"
        placed = ", ".join(identifier(c) for c, kind in self.columns[name] if has_order(kind))
        own = [f"{n:d}L AS {N}"] if number else []
        own += [
            f"{AT} AS {FIRING}",
            f"{AT} AS {COMMIT_VERSION}",
            f"{time} AS {COMMIT_TIME}",
            f"row_number() OVER (PARTITION BY {AT} ORDER BY {placed or AT}) AS {ROW}",
        ]
        return (
            f"SELECT {', '.join([*names, *own])} FROM {self.rows[name]}"
            f" WHERE {AT} IN (SELECT {AT} FROM {self.fired})"
        )

    @property
    def firings(self) -> str:
        """A SELECT of the firings: number, version, time, depth, and rows bound by each."""
        if not self.window.commits:
            return "SELECT 0L, 0L, CAST(NULL AS TIMESTAMP), 0L, 0L FROM range(0)"
        counted = " UNION ALL ".join(
            f"SELECT {AT}, 1 AS _tap_one FROM {view}" for view in self.rows.values()
        )
        time, depth = self.window.time_of("f." + AT), self.window.depth_of("f." + AT)
        return (
            f"SELECT f.{AT}, f.{AT}, {time}, CAST({depth} AS BIGINT), coalesce(sum(r._tap_one), 0)"
            f" FROM {self.fired} AS f LEFT JOIN ({counted}) AS r ON r.{AT} = f.{AT}"
            f" GROUP BY f.{AT}"
        )


@dataclass(frozen=True)
class OverWindow:
    """A rule over a window of commits; ``views`` takes what is computed."""

    session: Session
    rule: RuleText
    states: States
    views: Views

    def evaluate(self) -> Evaluated:
        """Evaluate all queries; their rows stand in views."""
        views, window, states = self.views, self.states.window, self.states
        table, tables = self.rule.table.table, self.rule.relations.tables
        changes = self.changes()
        relations = {name: transition(name, changes, table.columns) for name in TRANSITIONS}
        relations |= {name: states.relation(name, one) for name, one in tables.items()}
        triggered = " UNION ".join(event.triggering(changes) for event in self.rule.events)
        commits = views.keep(f"SELECT DISTINCT {VERSION} AS {AT} FROM ({triggered})")
        relations[COMMITS] = f"SELECT {AT} FROM {commits}"
        rows, columns = {}, {}
        for name, lifted in self.rule.lifted(states.moved).items():
            select = lifted.text(relations)
            described = columns_of_query(self.session, select)
            rows[name] = views.keep(select)
            kinds = (kind for _, kind in described)
            columns[name] = tuple(zip(lifted.columns, kinds, strict=False))
        conditions = self.rule.queries.conditions
        fired = f"SELECT {AT} FROM {commits}"
        for name in conditions:
            fired += f" INTERSECT SELECT {AT} FROM {rows[name]}"
        return Evaluated(window, rows, columns, views.keep(fired))

    def changes(self) -> str:
        """A view of the changed rows of all commits of a window.

        Raises CannotPair where it matters which new row was which old one, and that is not known;
        ChangesGone where the feed does not reach back.
        """
        table, views, window = self.rule.table.table, self.views, self.states.window
        if not window.commits:
            added = ", ".join(
                f"CAST(NULL AS {sql_type(c.type)}) AS {identifier(c.name)}" for c in ADDED
            )
            names = identifiers(column.name for column in table.columns)
            return views.keep(
                f"SELECT {names}, {added}, '' AS {TYPE}, 0 AS {HOW}"
                f" FROM {table.at(self.rule.table.pin.version)} LIMIT 0"
            )
        how = ChangedInWindow(window, self.rule.config.key, self.rule.paired, table.columns)
        try:
            view = views.compute(how.select())
        except Exception as error:
            if not feed_gone(error):
                raise
            why = "its change data feed does not reach back that far"
            raise gone(table, window.after, window.until, why) from error
        if self.rule.paired:
            ((odd,),) = self.session.rows(how.unpaired(view))
            if odd is not None:
                raise how.cannot_pair(int(odd))
        return view


def feed_gone(error: BaseException) -> bool:
    """Does an error of Spark say that a change feed was not kept over all versions asked for?"""
    text = str(error)
    return "DELTA_MISSING_CHANGE_DATA" in text or "DELTA_CHANGE_DATA" in text
