"""Rules and actions over tables of a test; commits have the time of this machine's clock."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.spark.any_tables import AnyTables
from tests.spark.run_world import run_alone

from tapestry.instants import now_utc
from tapestry.runs.checks.checks import CheckResult
from tapestry.runs.context.clock import Clock
from tapestry.runs.kinds.registry import kind_of, parse_config, prepare
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.outcome import Outcome
from tapestry.runs.protocol.plan import Decided

FEED = "tblproperties ('delta.enableChangeDataFeed' = true)"


class Rules(AnyTables):
    """A schema with tables, rules over them, and actions."""

    def model_of(self, kind: str, name: str, sql: str, *triggers: str, **config: Any) -> Model:
        """A rule or an action; ``{s}`` is the schema."""
        mark = json.dumps([f"{self.schema}.{one}" for one in triggers])
        text = f"/* triggered_by {mark} */\n{sql.replace('{s}', self.schema)}"
        made = replace(self.model("select 1", name), sql=text, materialized=kind, arrivals={})
        return replace(made, config=parse_config(kind, config))

    def rule(self, name: str, sql: str, table: str, **config: Any) -> Model:
        return self.model_of("rule", name, sql, table, **config)

    def action(self, name: str, sql: str, *rules: str, **config: Any) -> Model:
        return self.model_of("action", name, sql, *rules, **config)

    def derived(self, name: str, sql: str, **config: Any) -> Model:
        made = replace(self.model("select 1", name), sql=sql.replace("{s}", self.schema))
        return replace(made, materialized="derived", config=parse_config("derived", config))

    def drift(self, model: Model) -> CheckResult:
        """Compare a derived table with its query, as `tapestry verify --full` does."""
        invocation = self.invoked(Clock(now_utc(), True))
        audited = kind_of(model).audit(self.session, model, invocation, "full", 0)
        (found,) = audited.results
        return found

    def planned(self, model: Model) -> Decided:
        """What a run would do."""
        return prepare(self.session, model, self.invoked(Clock(now_utc(), True)))

    def now(self, model: Model, later: float = 0, full_refresh: bool = False) -> Outcome:
        """Run a model as of the machine's clock, or so many seconds later.

        Every second run is that of a process which remembers nothing.
        """
        if len(self.invocations) % 2:
            self.recall = type(self.recall)()
        invocation = self.invoked(Clock(now_utc() + timedelta(seconds=later), True))
        self.invocations.append(invocation)
        return run_alone(self.session, model, invocation, full_refresh)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.session.rows(sql.replace("{s}", self.schema))]
