"""Selects the rows that the newest commits of a table have bound, for `dbt show` of a rule."""

from __future__ import annotations

from tapestry.errors import ChangesGone, ConfigurationError
from tapestry.quoting import identifiers
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule.config import DIFF
from tapestry.runs.kinds.rule.feed import FeedSource, FeedWindow
from tapestry.runs.kinds.rule.shown import FIRED, one_statement, show_window
from tapestry.runs.kinds.rule.triggers import RuleText, read_rule
from tapestry.runs.model.model import Model
from tapestry.runs.sources.difference import feed_reaches
from tapestry.runs.tables.bound_rows import COMMIT_VERSION
from tapestry.sql.lift.cases import AT

LOOKED_AT = 20
"""So many of the newest commits are looked at for one that fires."""


def rows_of_newest(session: Session, model: Model, invocation: Invocation) -> str:
    """Return a SELECT of the rows that a rule binds for the newest commit that fires it.

    The state of the rule does not matter. Raises the errors of a run about the rule's text.
    """
    rule = read_rule(session, model, invocation)
    evaluated, texts = show_window(session, rule, newest_window(session, rule, invocation))
    called = {one.name: one.relation for one in texts}
    main = rule.queries.main
    names = identifiers(name for name, _ in evaluated.columns[main])
    return one_statement(
        texts,
        f"SELECT {names}, {AT} AS {COMMIT_VERSION} FROM {called[main]}"
        f" WHERE {AT} = (SELECT max({AT}) FROM {called[FIRED]})",
    )


def newest_window(session: Session, rule: RuleText, invocation: Invocation) -> FeedWindow:
    """Return the newest commits of a rule's table, as far as history and feed reach back.

    The other tables are as they were at each of them. Raises ConfigurationError for a table that is
    a log of changes: its newest load does not tell the order of its changes.
    """
    if rule.log is not None:
        raise ConfigurationError(
            f"{rule.model.name} looks at a log of changes, of which no newest transaction is shown",
            where=rule.model.file,
            hint="run it, and look at its table",
        )
    table, last = rule.table.table, rule.table.pin.version
    source, after = FeedSource(session, rule, invocation.clock.instant), max(-1, last - LOOKED_AT)
    if rule.config.changes == DIFF or feed_reaches(session, table, after + 1, last):
        try:
            return source.between(after, None, None)
        except ChangesGone:
            pass  # the log was cleaned up in between
    return source.between(last - 1, None, None)
