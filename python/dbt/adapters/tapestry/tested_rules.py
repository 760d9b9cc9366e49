"""dbt's unit tests of rules: the rows that a rule binds for the changes that a test gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.tapestry.nodes import depends_on, model_of
from dbt.adapters.tapestry.unit_test_rows import OF_FEED
from dbt.adapters.tapestry.unit_tests import cte_of, graph_of
from tapestry.errors import ConfigurationError
from tapestry.instants import now_utc
from tapestry.names import STATE_TABLE
from tapestry.quoting import Sql, authored
from tapestry.runs.context.clock import Clock
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_query
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.registry import kind_named
from tapestry.runs.kinds.rule.given_changes import GivenRows, rows_of_test
from tapestry.runs.model.triggers import marks_in
from tapestry.runs.query.relations import plain
from tapestry.runs.query.unit_test import GIVEN, UnitTest
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.difference import FEED
from tapestry.runs.sources.pins import Pin, Pinned, Pins
from tapestry.sql import Column, View


def rule_over_given(
    session: Session, manifest: Any, tested: Mapping[str, Any], sql: str, zone: str
) -> str:
    """Return the query of a unit test of a rule; a test of another model stays as it is.

    Raises the errors of a run of the rule, and ConfigurationError for a test of an action.
    """
    kind = kind_named(tested["config"].get("materialized"))
    if kind == "action":
        raise ConfigurationError(
            f"{tested['name']} is an action: it has no rows of its own to be expected",
            where=str(tested.get("original_file_path") or ""),
            hint="test its rule, and the table that it writes",
        )
    if kind != "rule":
        return sql
    asked, graph = UnitTest.read(sql), graph_of(manifest)
    # what triggers the rule stands in a comment, by the name of dbt's CTE
    test = UnitTest(authored(f"{marks_in(sql)}\n{asked.query}"), asked.given)
    inputs = {
        cte_of(node): node["relation_name"]
        for node in depends_on(tested, graph)
        if node.get("relation_name")
    }
    given = {name: test.rows_of(name) for name in test.names}
    called = {plain(relation): name for name, relation in inputs.items()}
    called |= {f"{GIVEN}{name}": name for name in inputs}
    model = model_of(tested, graph, test.over(inputs), "", zone)
    invocation = Invocation("unit test", Clock(now_utc(), True), STATE_TABLE, zone)
    invocation.pins = GivenTables(given, called)
    return rows_of_test(session, model, invocation, GivenRows(given, called))


class GivenTables(Pins):
    """Tables with the columns of the rows that a test gives, whatever the warehouse has."""

    def __init__(self, given: Mapping[str, Sql], called: Mapping[str, str]) -> None:
        super().__init__()
        self._given, self._called = given, called

    def of(self, session: Session, name: str) -> Pinned | View:
        """Return the stand-in of a table that rows are given for, else the table itself."""
        given = self._called.get(name, "")
        rows = self._given.get(given)
        if rows is None:
            return super().of(session, name)
        described = columns_of_query(session, rows)
        columns = tuple(
            Column(column, kind.lower())
            for column, kind in described
            if column.lower() not in OF_FEED
        )
        return Pinned(DeltaSource(given, columns, given, "", {FEED: "true"}), Pin(given, 0))
