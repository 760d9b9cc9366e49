"""Commands that limit what models read, and what they may do to a table that remembers.

A table that remembers (the history of a snapshot, rows of earlier incremental runs, answers up to
an instant) takes rows that its query does not give for deleted, or for done. Written from a part of
its inputs it would stay wrong for ever, so it is written from all of them or not at all. Every
materialization of ours calls `limited_by` first, except those of `FORGETFUL`, which only ever hold
what their last run read: they keep dbt's own behaviour.
"""

from __future__ import annotations

from typing import Any

from dbt.adapters.base import available
from dbt.adapters.base.meta import AdapterMeta

from dbt.adapters.tapestry.dbt_errors import dbt_errors
from dbt.adapters.tapestry.response import RunResponse
from dbt.adapters.tapestry.session import DbtSession
from tapestry.quoting import authored

LIMITING = ("empty", "sample")
"""The options with which dbt writes a part of a table where a query names the table.

`--event-time-start` and `--event-time-end` are none: they say which batches of a microbatch model
are built, each from all of its rows, and limit no other model.
"""
FORGETFUL = ("seed", "table", "view")


def limiting_option(args: Any) -> str | None:
    """Return a command's option that limits what its models read; None if there is none.

    ``args``: dbt's flags, which hold options of the command line and of the environment.
    """
    given = [name for name in LIMITING if getattr(args, name.upper(), None)]
    return f"--{given[0]}" if given else None


class LimitedDoors(metaclass=AdapterMeta):
    """A mixin of the adapter: checks for materializations of tables that remember."""

    config: Any

    @available.parse_none
    def limited_by(self) -> str | None:
        """Return the option that limits the inputs of this command; None: run without limits."""
        return limiting_option(self.config.args)

    @available.parse_none
    def analyse(self, query: str) -> None:
        """Have Spark read a query and find what it names; no row is read."""
        with dbt_errors():
            DbtSession(self).rows(f"DESCRIBE QUERY {authored(query)}")  # type: ignore[arg-type]

    @available
    def limited_response(self, option: str, stands: str = "") -> RunResponse:
        """Return the response for a model not run; ``stands``: what was made in its place."""
        what = f"{stands}, without a run" if stands else "nothing written"
        message = f"{what}: {option} limits what it reads"
        return RunResponse(_message=message, code="nothing", rows_affected=0)
