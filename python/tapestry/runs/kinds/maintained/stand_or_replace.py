"""A model's table is gone on from, or made anew whatever stands there."""

from __future__ import annotations

from tapestry.errors import StateMissing, TargetChanged
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.maintained.reasons import Reason, Whole
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.standing import Standing, stand
from tapestry.runs.tables.built_anew import is_built_anew


def stand_or_replace(
    session: Session, model: Model, invocation: Invocation, full_refresh: bool
) -> tuple[Standing, Whole | None]:
    """Find out where the model stands, and why all is made anew where its query does not tell.

    Raises what ``stand`` does, but for a table that dbt builds anew each time, and for one that
    somebody else wrote to where the author says that it is to be made anew.
    """
    try:
        asked = Whole(Reason.ASKED) if full_refresh else None
        return stand(session, model, invocation, full_refresh), asked
    except TargetChanged:
        if model.config.on_target_change != "refresh":
            raise
        return stand(session, model, invocation, refresh=True), Whole(Reason.TARGET_CHANGED)
    except StateMissing:
        if not is_built_anew(session, model.relation):
            raise
        return stand(session, model, invocation, refresh=True), None
