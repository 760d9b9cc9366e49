"""Decides whether a run goes on from a model's table, or makes it anew whatever it holds."""

from __future__ import annotations

from tapestry.errors import StateMissing, TargetChanged
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.maintained.reasons import Reason, Whole
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.standing import Standing, stand
from tapestry.runs.tables.target import newest_commits


def stand_or_replace(
    session: Session, model: Model, invocation: Invocation, full_refresh: bool
) -> tuple[Standing, Whole | None]:
    """Return the model's standing, and a reason to make the table anew besides its query.

    Raises the errors of ``stand``, except those for a table that dbt builds anew each time, and for
    one that somebody else wrote to where the author says that it is to be made anew.
    """
    try:
        asked = Whole(Reason.ASKED) if full_refresh else None
        return stand(session, model, invocation, full_refresh), asked
    except TargetChanged:
        if model.config.on_target_change != "refresh":
            raise
        return stand(session, model, invocation, refresh=True), Whole(Reason.TARGET_CHANGED)
    except StateMissing:
        if not _is_built_anew(session, model.relation):
            raise
        return stand(session, model, invocation, refresh=True), None


_BUILT_ANEW = "table"
"""The materialization whose build writes its own name into the table's properties."""


def _is_built_anew(session: Session, name: str) -> bool:
    """Return whether a table's rows are exactly those of a `table` model's build.

    False too where the log does not tell.
    """
    commit = next((one for one in newest_commits(session, name) if not one.harmless), None)
    return commit is not None and commit.kind == _BUILT_ANEW
