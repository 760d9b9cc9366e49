"""Methods by which macros ask for queries: as of an instant, of a unit test, with our marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from typing import Any

from dbt.adapters.base import BaseRelation, available
from dbt.adapters.base.meta import AdapterMeta

from dbt.adapters.tapestry.dbt_errors import dbt_errors
from dbt.adapters.tapestry.invocations import current_invocation, given_clock
from dbt.adapters.tapestry.nodes import key_of_derived, model_of, shown_model
from dbt.adapters.tapestry.session import DbtSession
from dbt.adapters.tapestry.tested_rules import rule_over_given
from dbt.adapters.tapestry.unit_tests import as_compiled, refuse_as_a_run, tested_model
from tapestry.errors import ConfigurationError
from tapestry.names import COMMITS_TABLE
from tapestry.quoting import authored
from tapestry.runs.kinds.action.recompute import recompute_mark
from tapestry.runs.kinds.action.statement import batch_mark
from tapestry.runs.kinds.registry import kind_named
from tapestry.runs.kinds.rule.ask import rows_of_newest
from tapestry.runs.model.triggers import mark
from tapestry.runs.query.answer_as_of import AskedQuery, answer_at, clock_only
from tapestry.runs.query.relations import plain
from tapestry.runs.query.unit_test import UnitTest
from tapestry.sql.read.open_qualify import without_qualify


class QueryDoors(metaclass=AdapterMeta):
    """A mixin of the adapter: what `show`, unit tests and the macros inside queries call."""

    config: Any

    @available
    def without_qualify(self, sql: str) -> str:
        """Return a query with the same columns for Spark to analyse: Spark has no QUALIFY."""
        return without_qualify(authored(sql))

    @available
    @staticmethod
    def mark_triggers(relations: Sequence[BaseRelation]) -> str:
        """Render the macro `triggered_by`."""
        return mark(map(str, relations))

    @available
    @staticmethod
    def mark_batch(name: str) -> str:
        """Render the macro `batch`."""
        return batch_mark(name)

    @available
    @staticmethod
    def mark_recompute(relation: BaseRelation, key: Any, graph: dict[str, Any]) -> str:
        """Render the macro `recompute`; without a key, with that of the derived model."""
        with dbt_errors():
            listed = [key] if isinstance(key, str) else key
            return recompute_mark(
                plain(str(relation)), listed or key_of_derived(str(relation), graph)
            )

    @available
    def answer_as_of(
        self, node: dict[str, Any], graph: dict[str, Any], sql: str, var: Any
    ) -> AskedQuery:
        """Return a query at `tapestry_as_of`, if that is given; else as it is.

        A query with QUALIFY, which Spark lacks, is rewritten for the present instant.
        """
        with dbt_errors():
            session = DbtSession(self)  # type: ignore[arg-type]
            if (shown := _shown_rule(self.config, session, node, graph, sql, var)) is not None:
                return AskedQuery(shown)
            clock = given_clock(var, session)
            if clock is None and without_qualify(authored(sql)) == sql:
                return AskedQuery(sql)
            instant = datetime.now(timezone.utc) if clock is None else clock.instant
            model = shown_model(node, graph, sql)
            kept = f"{self.config.credentials.schema}.{COMMITS_TABLE}"
            return answer_at(session, model, instant, session.time_zone, kept)

    @available
    def unit_test_query(self, sql: str, test: dict[str, Any], var: Any) -> AskedQuery:
        """Return a unit test's query with the clock at `tapestry_as_of`, where that is given.

        The query of a model of ours is refused where a run would refuse it.
        """
        with dbt_errors():
            session = DbtSession(self)  # type: ignore[arg-type]
            clock = given_clock(var, session)
            s = None if clock is None else clock.instant
            manifest = self._macro_resolver  # type: ignore[attr-defined]
            tested = tested_model(manifest, test)
            if tested is None:
                return clock_only(sql, s)
            if (rule := rule_over_given(session, manifest, tested, sql, session.time_zone)) != sql:
                return AskedQuery(rule)
            asked = UnitTest.read(sql)
            compiled = partial(as_compiled, self.config, manifest, tested["unique_id"])
            untold = refuse_as_a_run(session, manifest, tested, asked, session.time_zone, compiled)
            return AskedQuery(sql if s is None else asked.at(s), untold)

    @available.parse_none
    def tested_rule(self, sql: str, test: dict[str, Any]) -> str:
        """Return the query of a unit test of a rule; that of another model stays as it is."""
        with dbt_errors():
            session = DbtSession(self)  # type: ignore[arg-type]
            manifest = self._macro_resolver  # type: ignore[attr-defined]
            tested = tested_model(manifest, test)
            if tested is None:
                return sql
            return rule_over_given(session, manifest, tested, sql, session.time_zone)


def _shown_rule(
    config: Any,
    session: DbtSession,
    node: Mapping[str, Any],
    graph: Mapping[str, Any],
    sql: str,
    as_of: Any,
) -> str | None:
    """Return the query that shows a rule's rows; None: the node is no rule.

    Raises ConfigurationError for an action, whose text would write.
    """
    kind = kind_named(node.get("config", {}).get("materialized"))
    if kind == "action":
        raise ConfigurationError(
            f"{node['name']} is an action: its statements write, and are never only shown",
            where=node.get("original_file_path") or "",
            hint=f"tapestry explain {node['name']} shows them with the rows of the next batch",
        )
    if kind != "rule":
        return None
    invocation = current_invocation(config, session, as_of)
    model = model_of(node, graph, sql, "", invocation.time_zone)
    return rows_of_newest(session, model, invocation)
