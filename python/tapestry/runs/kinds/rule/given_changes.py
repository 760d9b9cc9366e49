"""Evaluates a rule over the rows that a unit test gives: the rows bound by each of their commits.

The rows of the table that triggers the rule are those of a change data feed: its columns, and
``_change_type``, ``_commit_version`` and ``_commit_timestamp``. A row without a type was inserted,
one without a version is of the first commit. Every other table has the rows that are given for it,
at each commit the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tapestry.errors import ConfigurationError
from tapestry.quoting import Sql, identifier, identifiers
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_query
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule.shown import CHANGES, FIRED, one_statement, show_window
from tapestry.runs.kinds.rule.triggers import RuleText, read_rule
from tapestry.runs.kinds.rule.windows import WindowReached
from tapestry.runs.model.model import Model
from tapestry.runs.query.views import Views
from tapestry.runs.sources.pins import Pinned
from tapestry.runs.sources.transactions import ChangedInWindow, CommitWindow
from tapestry.runs.tables.bound_rows import COMMIT_TIME, COMMIT_VERSION
from tapestry.sql.catalog import Column
from tapestry.sql.commits.transitions import TIME, VERSION
from tapestry.sql.lift.cases import AT


@dataclass(frozen=True)
class GivenRows:
    """The rows that a unit test gives.

    selects
        By input: the SELECT of its rows.
    called
        By relation: the input that stands for it.
    """

    selects: Mapping[str, Sql] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)

    def rows_given(self, rule: RuleText, name: str) -> Sql:
        """Return the SELECT of a table's given rows; raise ConfigurationError for none."""
        found = self.selects.get(self.called.get(name, name))
        if found is None:
            raise ConfigurationError(
                f"no rows are given for {name}, which the rule reads",
                where=rule.model.file,
                hint="give it an input in the unit test; rows: [] for none",
            )
        return found


def rows_of_test(session: Session, model: Model, invocation: Invocation, given: GivenRows) -> str:
    """Return a SELECT of the rows that a rule binds for the given changes, with their commits.

    ``given`` has the rows of each table; the pins of the invocation know its columns.
    Raises the errors of a run about the rule's text, and ConfigurationError for a table without
    rows.
    """
    rule = read_rule(session, model, invocation)
    if rule.log is not None:
        raise ConfigurationError(
            f"{model.name} looks at a log of changes, which a unit test does not give",
            where=model.file,
            hint="test the rule over a small table",
        )
    found, texts = show_window(session, rule, GivenWindow(session, rule, given))
    called = {one.name: one.relation for one in texts}
    main, changes = called[rule.queries.main], called[CHANGES]
    names = [f"r.{identifier(name)}" for name, _ in found.columns[rule.queries.main]]
    return one_statement(
        texts,
        f"SELECT {', '.join(names)}, r.{AT} AS {COMMIT_VERSION}, (SELECT max({TIME}) FROM {changes}"
        f" AS c WHERE c.{VERSION} = r.{AT}) AS {COMMIT_TIME}"
        f" FROM {main} AS r WHERE r.{AT} IN (SELECT {AT} FROM {called[FIRED]})",
    )


@dataclass(frozen=True)
class GivenCommits(CommitWindow):
    """The commits of given rows; ``rows`` is a SELECT of them, ``said`` its columns."""

    rows: str = ""
    said: Collection[str] = ()

    @property
    def version(self) -> str:
        """Return SQL: the commit of a given row."""
        there = "_commit_version" in self.said
        return "coalesce(CAST(_commit_version AS BIGINT), 1L)" if there else "1L"

    @property
    def feed(self) -> str:
        """Return the given rows in the form of a change feed, with defaults for missing columns."""
        names = identifiers(column.name for column in self.table.columns)
        kind = "coalesce(_change_type, 'insert')" if "_change_type" in self.said else "'insert'"
        return (
            f"(SELECT {names}, {kind} AS _change_type, {self.version} AS _commit_version"
            f" FROM ({self.rows}))"
        )

    def time_of(self, version: str) -> str:
        """Return SQL: when a commit was made: the latest instant that its rows give."""
        there = "_commit_timestamp" in self.said
        at = "CAST(_commit_timestamp AS TIMESTAMP)" if there else "CAST(NULL AS TIMESTAMP)"
        assert version == VERSION
        return (
            "element_at((SELECT map_from_entries(collect_list(struct(v, t))) FROM (SELECT"
            f" {self.version} AS v, max({at}) AS t FROM ({self.rows}) GROUP BY 1)), {VERSION})"
        )


@dataclass(frozen=True)
class GivenWindow:
    """The given changes as a window of transactions; other tables are the same at all of them."""

    session: Session
    rule: RuleText
    given: GivenRows
    empty: bool = False
    moved: Collection[str] = ()

    @property
    def columns(self) -> Sequence[Column]:
        """The columns of the table."""
        return self.rule.table.table.columns

    def read_changes(self, views: Views, n: int) -> str:
        """Return a view of the given changes; raise CannotPair where a run would."""
        table = self.rule.table.table
        rows = self.given.rows_given(self.rule, table.name)
        said = frozenset(name.lower() for name, _ in columns_of_query(self.session, rows))
        commits = GivenCommits(table, 0, (), rows, said)
        how = ChangedInWindow(
            commits, self.rule.config.key, self.rule.paired, table.columns, commits.feed
        )
        view = views.compute(how.select())
        odd = self.session.rows(how.unpaired(view)) if self.rule.paired else []
        if odd:
            raise how.cannot_pair(int(odd[0][0]))
        return view

    def rows_at_each(self, name: str, pinned: Pinned) -> str:
        """Return a SELECT of the rows that are given for another table."""
        if pinned.table.table_id == self.rule.table.table.table_id:
            raise ConfigurationError(
                f"the rule reads {name}, whose commits trigger it: a unit test gives the changes"
                " of that table, and not its rows",
                where=self.rule.model.file,
                hint="look at it by dbt show, over a small table",
            )
        return f"SELECT * FROM ({self.given.rows_given(self.rule, name)})"

    def depth_of(self, version: str) -> str:
        """Return SQL for depth 0: no commit of a test is one of an action."""
        return "0"

    def reached(self) -> WindowReached:
        """Return an empty position: no run goes on from a test."""
        return WindowReached(0, 0)
