"""Commands that limit what models read, and what they may do to a table that remembers.

A table that remembers (the history of a snapshot, rows of earlier incremental runs, answers up to
an instant) takes what its query does not give for gone, or for done. Written from a part of its
inputs it would be wrong for ever, so it is written from all of them or not at all. Every
materialization of ours asks `limited_by` first, but those of `FORGETFUL`, which only ever hold what
their last run read: there dbt's own behaviour is kept.
"""

from __future__ import annotations

from typing import Any

from dbt.adapters.base import available
from dbt.adapters.base.meta import AdapterMeta

from dbt.adapters.tapestry.response import RunResponse
from dbt.adapters.tapestry.run_doors import dbt_errors
from dbt.adapters.tapestry.session import DbtSession
from tapestry.quoting import authored

LIMITING = ("empty", "sample")
"""The options with which dbt writes a part of a table where a query names the table.

`--event-time-start` and `--event-time-end` are none: they say which batches of a microbatch model
are built, each from all of its rows, and limit no other model.
"""
FORGETFUL = ("seed", "table", "view")


def limiting_option(args: Any) -> str | None:
    """The option of a command that limits what its models read, as it is written; None: none does.

    ``args``: dbt's flags, which hold options of the command line and of the environment.
    """
    given = [name for name in LIMITING if getattr(args, name.upper(), None)]
    return f"--{given[0]}" if given else None


class LimitedDoors(metaclass=AdapterMeta):
    """What materializations of tables that remember ask before they do anything."""

    config: Any

    @available.parse_none
    def limited_by(self) -> str | None:
        """The option that limits the inputs of this command, or None: then run as ever."""
        return limiting_option(self.config.args)

    @available.parse_none
    def analyse(self, query: str) -> None:
        """Have Spark read a query and find what it names; no row is read."""
        with dbt_errors():
            DbtSession(self).rows(f"DESCRIBE QUERY {authored(query)}")  # type: ignore[arg-type]

    @available
    def limited_response(self, option: str, stands: str = "") -> RunResponse:
        """What dbt shows of such a model; ``stands``: what was made where no table was."""
        what = f"{stands}, without a run" if stands else "nothing written"
        message = f"{what}: {option} limits what it reads"
        return RunResponse(_message=message, code="nothing", rows_affected=0)
