"""A run that a command plans itself: carried out here, and written down as dbt's runs are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapestry.cli.models import Opened
from tapestry.names import RUNS_TABLE
from tapestry.runs.engine.own_tables import in_schema_of
from tapestry.runs.kinds.registry import execute
from tapestry.runs.protocol.log import write_log

if TYPE_CHECKING:
    from tapestry.runs.protocol.outcome import Outcome
    from tapestry.runs.protocol.plan import Planned


def carry_out(opened: Opened, planned: Planned) -> Outcome:
    """Execute a plan; raises what ``run.execute`` does."""
    session, invocation = opened.session, opened.invocation
    try:
        return execute(session, planned, invocation)
    finally:
        # The log first: a state that is gone must not keep it from being written.
        entries, invocation.log = invocation.log, []
        try:
            if entries:
                table = in_schema_of(invocation.state_table, RUNS_TABLE)
                write_log(session, table, invocation.id, entries)
        finally:
            invocation.states.record(session)
