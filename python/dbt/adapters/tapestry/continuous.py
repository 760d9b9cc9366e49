"""The doors from the continuous materialization into `tapestry.runs`; each only translates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.base.meta import AdapterMeta
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry.invocations import current_invocation
from dbt.adapters.tapestry.nodes import continuous_model, refuse_flags
from dbt.adapters.tapestry.session import DbtSession
from tapestry.errors import TapestryError
from tapestry.runs.plan import Plan
from tapestry.runs.run import Outcome, execute, prepare
from tapestry.runs.validate import plan_empty


class ContinuousDoors(metaclass=AdapterMeta):
    """What the macro `continuous` calls, mixed into the adapter."""

    config: Any

    @available
    def check_continuous_flags(self, flags: Any, node: dict[str, Any]) -> None:
        """Refuse flags of dbt that would eat a window."""
        with dbt_errors():
            refuse_flags(flags, node)

    @available
    def plan_continuous(
        self,
        node: dict[str, Any],
        graph: dict[str, Any],
        sql: str,
        clauses: str,
        as_of: Any,
        started_at: datetime,
        full_refresh: bool,
        empty: bool,
    ) -> Plan:
        """The plan of this run; `--empty` plans no run, only a table with the right columns."""
        session = DbtSession(self)  # type: ignore[arg-type]
        with dbt_errors():
            invocation = current_invocation(self.config, session, as_of, started_at)
            model = continuous_model(node, graph, sql, clauses, invocation.time_zone)
            if empty:
                return plan_empty(session, model)
            return prepare(session, model, invocation, full_refresh)

    @available
    def run_continuous(self, plan: Plan) -> Outcome:
        """Carry a plan out."""
        session = DbtSession(self)  # type: ignore[arg-type]
        with dbt_errors():
            return execute(session, plan, current_invocation(self.config, session))


@contextmanager
def dbt_errors() -> Iterator[None]:
    """Errors of ours as dbt's: their lines, without a traceback."""
    try:
        yield
    except TapestryError as error:
        raise DbtRuntimeError(str(error)) from error
