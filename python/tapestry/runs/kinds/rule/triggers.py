"""Reads the text of a rule: the table that it looks at, and its queries."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from tapestry.errors import ConfigurationError
from tapestry.quoting import remark
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule.config import CDF, RuleConfig, config_of
from tapestry.runs.kinds.rule.events import TableEvent, read_events
from tapestry.runs.kinds.rule.log_columns import LogColumns, log_columns
from tapestry.runs.model.model import Model
from tapestry.runs.model.triggers import triggers_of
from tapestry.runs.query.relations import STATIC, Relations, Unsaid, read_relations
from tapestry.runs.query.settings import settings_line
from tapestry.runs.sources.pins import Pinned
from tapestry.runs.sources.transactions import needs_feed
from tapestry.runs.tables.bound_rows import refuse_own_columns
from tapestry.sql.catalog import Column
from tapestry.sql.commits.lift_commits import LiftedQuery, lift_over_commits
from tapestry.sql.commits.rule_queries import RuleQueries, rule_queries
from tapestry.sql.commits.transitions import NEW, OLD, transition_sources
from tapestry.sql.read.read_query import read


@dataclass(frozen=True)
class RuleText:
    """A rule as it is read over the present tables.

    table
        The table that it looks at.
    queries
        The queries in its text.
    relations
        All that they read.
    changed
        The columns of the changed rows.
    log
        The columns of a log of changes, where the table is one.
    """

    model: Model
    table: Pinned
    events: tuple[TableEvent, ...]
    queries: RuleQueries
    relations: Relations
    canonical: str
    changed: tuple[Column, ...]
    log: LogColumns | None = None

    @property
    def name(self) -> str:
        """The name of the table that it looks at."""
        return self.table.table.name

    @property
    def config(self) -> RuleConfig:
        """The keys in its author's configuration."""
        return config_of(self.model.config.own)

    def lifted(self, moved: Collection[str] = ()) -> dict[str, LiftedQuery]:
        """Return each query over all commits at once; ``moved`` tables change between them.

        Raises Refusal for one that cannot be lifted.
        """
        catalog, texts = self.relations.catalog, self.queries.texts
        return {n: lift_over_commits(read(sql, catalog), moved) for n, sql in texts.items()}

    @cached_property
    def paired(self) -> bool:
        """Whether it matters which new row was which old one."""
        return self.updates or {OLD, NEW} <= self.sources

    @property
    def updates(self) -> bool:
        """Whether an update triggers it."""
        return any(event.updates for event in self.events)

    @cached_property
    def sources(self) -> frozenset[str]:
        """All relations that its queries read."""
        return frozenset(source for one in self.lifted().values() for source in one.sources)


def read_rule(session: Session, model: Model, invocation: Invocation) -> RuleText:
    """Read a rule's text.

    Raises ConfigurationError for one that names several tables or none, or queries that do not
    exist; Refusal for a query that cannot be lifted; ChangesGone for a table without a change feed.
    """
    named = triggers_of(model)
    if len(named) > 1:
        raise ConfigurationError(
            f"{model.name} is triggered by {len(named)} tables: a rule looks at one",
            where=model.file,
            hint="write a rule for each table; an action can be triggered by several rules",
        )
    config = config_of(model.config.own)
    table = invocation.pins.of(session, named[0])
    if not isinstance(table, Pinned):
        raise ConfigurationError(
            f"{named[0]} is a view: only a table has commits",
            where=model.file,
            hint="name the table behind it, or materialize the view as maintained",
        )
    log = log_columns(config, table.table, model.file)
    if config.changes == CDF and (error := needs_feed(table.table)) is not None:
        raise error
    changed = table.table.columns if log is None else log.changed
    events = read_events(config.when, changed if log is None else log.values, model.file)
    given = transition_sources(table.table.name, changed)
    relations = read_relations(
        session, model.sql, model, invocation.pins, invocation.time_zone, Unsaid(STATIC, given)
    )
    queries = rule_queries(model.sql, config.asked, model.file)
    canonical = _canonical(model, config, invocation)
    found = RuleText(model, table, events, queries, relations, canonical, changed, log)
    for name, query in found.lifted().items():  # refused before anything is read
        refuse_own_columns(name, query.columns, model.file)
    return found


def _canonical(model: Model, config: RuleConfig, invocation: Invocation) -> str:
    """Return a text that changes where the rule means something else."""
    told: list[object] = [config.when, config.conditions, config.evaluate, config.bind_as]
    if config.changes != CDF:
        told += [config.changes, config.transaction, config.commit_time, config.order, config.key]
        told += [str(config.op), config.before]
    said = json.dumps(told)
    return "\n".join([model.sql, f"-- {remark(said)}", settings_line(invocation.settings)])
