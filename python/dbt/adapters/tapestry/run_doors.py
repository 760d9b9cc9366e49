"""Methods by which our materializations call `tapestry.runs`; each only translates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dbt.adapters.base import BaseRelation, available
from dbt.adapters.base.meta import AdapterMeta

from dbt.adapters.tapestry.column_mapping import refuse_unmapped
from dbt.adapters.tapestry.dbt_errors import dbt_errors
from dbt.adapters.tapestry.invocations import (
    current_invocation,
    deliver_noted,
    keep_noted_memories,
    keep_quiet_times,
    note_sinks,
    refuse_other_settings,
    release_shared,
    write_runs,
)
from dbt.adapters.tapestry.nodes import model_of, node_warnings
from dbt.adapters.tapestry.queues import look_at_queues, note_run
from dbt.adapters.tapestry.response import RunResponse, response_of, skipped
from dbt.adapters.tapestry.session import DbtSession
from dbt.adapters.tapestry.trigger_cycles import refuse_cycles
from dbt.adapters.tapestry.write_beside_compiled import write_beside_compiled
from tapestry.errors import QueryChanged, TargetChanged
from tapestry.quoting import relation_name
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.kinds.continuous.begins import begins
from tapestry.runs.kinds.continuous.query import read_query
from tapestry.runs.kinds.registry import execute, plan_empty, prepare
from tapestry.runs.protocol.outcome import Outcome
from tapestry.runs.protocol.plan import Decided, Planned
from tapestry.runs.protocol.writing import Creation
from tapestry.runs.tables.target import look

CONTINUOUS = "continuous"
"""The kind whose runs stand for a guarded incremental model of dbt's."""


class RunDoors(metaclass=AdapterMeta):
    """A mixin of the adapter: what the macro `tapestry__run_model` calls."""

    config: Any

    @available
    def skip_run(self, node: dict[str, Any], said: dict[str, Any]) -> RunResponse | None:
        """Return the response for a model that is switched off; None: it is to be run.

        `said` are the command's options, as for `plan_run`.
        """
        session = DbtSession(self)  # type: ignore[arg-type]
        with dbt_errors():
            switches = self._invocation(session, said).switches
            return skipped(session, switches, node, noted=not said["limited"])

    @available.parse_none
    def refuse_kept(self, relation: BaseRelation, node: dict[str, Any]) -> None:
        """Raise QueryChanged for a model of dbt's own kinds that would add to a table of ours."""
        try:
            found = look(DbtSession(self), str(relation))  # type: ignore[arg-type]
        except TargetChanged:
            return  # of another format: none of ours
        if found is None or found.generation is None:
            return
        with dbt_errors():
            raise QueryChanged(
                f"{relation} was made by a model that was {found.kind}: {node['name']} is"
                f" {node['config']['materialized']} now, and would add to its rows",
                where=node["original_file_path"],
                hint=f"write materialized='{found.kind}' again; or build the table anew:"
                f" --full-refresh, for a snapshot DROP TABLE {relation_name(str(relation))}",
            )

    def _invocation(self, session: DbtSession, said: dict[str, Any]) -> Invocation:
        """Return the invocation that a command belongs to."""
        return current_invocation(self.config, session, said["as_of"], said["started_at"])

    @available
    def plan_run(
        self,
        node: dict[str, Any],
        graph: dict[str, Any],
        sql: str,
        clauses: str,
        said: dict[str, Any],
    ) -> Decided:
        """Return the plan of this run.

        `said` are the command's options: as_of, started_at, full_refresh, limited.
        """
        session = DbtSession(self)  # type: ignore[arg-type]
        with dbt_errors():
            invocation = self._invocation(session, said)
            model = model_of(node, graph, sql, clauses, invocation.time_zone)
            refuse_other_settings(session, invocation, model.file)
            note_sinks(self.config, model)
            refuse_cycles(node, graph)
            plan = prepare(session, model, invocation, said["full_refresh"])
            if isinstance(plan, Planned) and plan.action == Creation.action:
                refuse_unmapped(session, node, plan.rows.columns)
            warnings = (*plan.told.warnings, *invocation.switches.warnings(), *node_warnings(node))
            # Each kind of plan is a dataclass.
            return replace(plan, told=replace(plan.told, warnings=warnings))  # type: ignore[type-var]

    @available
    def plan_limited(
        self,
        node: dict[str, Any],
        graph: dict[str, Any],
        sql: str,
        clauses: str,
        said: dict[str, Any],
    ) -> str:
        """Analyse the query of a command that limits its inputs (limited.py).

        Returns "an empty table" if one was made, as there was none, else "".
        """
        session = DbtSession(self)  # type: ignore[arg-type]
        with dbt_errors():
            zone = self._invocation(session, said).time_zone
            model = model_of(node, graph, sql, clauses, zone)
            return "an empty table" if plan_empty(session, model) else ""

    @available
    def carry_out(self, plan: Decided) -> Outcome:
        """Carry a plan out."""
        session = DbtSession(self)  # type: ignore[arg-type]
        with dbt_errors():
            outcome = None
            try:
                outcome = execute(session, plan, current_invocation(self.config, session))
                return outcome
            finally:
                note_run(plan.model, outcome)

    @available
    def write_guarded(self, plan: Planned, node: dict[str, Any], graph: dict[str, Any]) -> None:
        """Write the incremental model that is equal to a run beside dbt's compiled SQL."""
        session = DbtSession(self)  # type: ignore[arg-type]
        with dbt_errors():
            invocation = current_invocation(self.config, session)
            if plan.model.materialized == CONTINUOUS:
                begin = begins(plan.row).begin
                query = read_query(session, plan.model, invocation, plan.model.sql, begin)
                write_beside_compiled(self.config, node, graph, query)

    @available
    def run_response(self, plan: Decided, outcome: Outcome) -> RunResponse:
        """Return dbt's response for a run, kept in run_results.json."""
        return response_of(plan, outcome)

    def cleanup_connections(self) -> None:
        """End the invocation; dbt calls this once, when all nodes are done.

        Runs are logged, answers delivered, memories kept; at last shared data is released.
        """
        try:
            write_runs(self)
            look_at_queues(self)
            deliver_noted(self)
            keep_noted_memories(self)
            keep_quiet_times()
        finally:
            release_shared(self)
        super().cleanup_connections()  # type: ignore[misc]
