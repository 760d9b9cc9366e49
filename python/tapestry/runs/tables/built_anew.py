"""Finds tables that dbt builds anew each time: another kind of model may replace them."""

from __future__ import annotations

from tapestry.runs.engine.session import Session
from tapestry.runs.tables.target import newest_commits

BUILT_ANEW = "table"
"""The materialization whose build writes its own name into the table's properties."""


def is_built_anew(session: Session, name: str) -> bool:
    """Return whether a table's rows are exactly those of a `table` model's build.

    False too where the log does not tell.
    """
    commit = next((one for one in newest_commits(session, name) if not one.harmless), None)
    return commit is not None and commit.kind == BUILT_ANEW
