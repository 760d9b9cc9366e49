"""The text of a rule: the table that it looks at, and its queries, each read over what it reads."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from tapestry.errors import ConfigurationError
from tapestry.quoting import remark
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule.config import RuleConfig, config_of
from tapestry.runs.kinds.rule.events import TableEvent, read_events
from tapestry.runs.model.model import Model
from tapestry.runs.model.triggers import triggers_of
from tapestry.runs.query.relations import STATIC, Relations, Unsaid, read_relations
from tapestry.runs.query.settings import settings_line
from tapestry.runs.sources.pins import Pinned
from tapestry.runs.sources.transactions import needs_feed
from tapestry.sql.commits.lift_commits import LiftedQuery, lift_over_commits
from tapestry.sql.commits.rule_queries import RuleQueries, rule_queries
from tapestry.sql.commits.transitions import NEW, OLD, transition_sources
from tapestry.sql.read.read_query import read


@dataclass(frozen=True)
class RuleText:
    """A rule as it is read over the tables of now.

    table
        The one that it looks at.
    queries
        What of its text is which query.
    relations
        All that they read.
    """

    model: Model
    table: Pinned
    events: tuple[TableEvent, ...]
    queries: RuleQueries
    relations: Relations
    canonical: str

    @property
    def config(self) -> RuleConfig:
        """The keys that its author has written."""
        return config_of(self.model.config.own)

    def lifted(self, moved: Collection[str] = ()) -> dict[str, LiftedQuery]:
        """Each query over all commits at once; ``moved`` are tables that change between them.

        Raises Refusal for one that is not lifted.
        """
        catalog, texts = self.relations.catalog, self.queries.texts
        return {n: lift_over_commits(read(sql, catalog), moved) for n, sql in texts.items()}

    @cached_property
    def paired(self) -> bool:
        """Does it matter which new row was which old one?"""
        read_ = {source for one in self.lifted().values() for source in one.sources}
        return any(event.updates for event in self.events) or {OLD, NEW} <= read_


def read_rule(session: Session, model: Model, invocation: Invocation) -> RuleText:
    """Read a rule's text.

    Raises ConfigurationError for one that names several tables or none, or queries that are not
    there; Refusal for a query that is not lifted; ChangesGone for a table without a change feed.
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
    if (error := needs_feed(table.table)) is not None:
        raise error
    events = read_events(config.when, table.table.columns, model.file)
    given = transition_sources(table.table.name, table.table.columns)
    relations = read_relations(
        session, model.sql, model, invocation.pins, invocation.time_zone, Unsaid(STATIC, given)
    )
    queries = rule_queries(model.sql, config.asked, model.file)
    found = RuleText(
        model, table, events, queries, relations, _canonical(model, config, invocation)
    )
    found.lifted()  # refused before anything is read
    return found


def _canonical(model: Model, config: RuleConfig, invocation: Invocation) -> str:
    """A text that changes where the rule means something else."""
    said = json.dumps([config.when, config.conditions, config.evaluate, config.bind_as])
    return "\n".join([model.sql, f"-- {remark(said)}", settings_line(invocation.settings)])
