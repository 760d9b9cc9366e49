"""The response to dbt for a model that the operator has switched off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.tapestry.response import RunResponse
from tapestry.errors import ConfigurationError
from tapestry.names import SWITCHED_OFF
from tapestry.runs.context.switches import Switches
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import schedule_of
from tapestry.runs.query.relations import plain


def skipped(
    session: Session, switches: Switches, node: Mapping[str, Any], noted: bool
) -> RunResponse | None:
    """Return the response for a model that is switched off; None: it is to be run.

    ``noted``: the model is to be noted in the table. Raises StateUnreadable for a row of it that
    our runs have not written.
    """
    model = plain(node["relation_name"])
    off = switches.off(session, model)
    if noted:
        try:
            priority = schedule_of(node["config"]).priority
        except ConfigurationError:
            return None  # whoever plans the run says what is wrong
        switches.plans(model, str(node.get("unique_id") or ""), priority)
    if off is None:
        return None
    why = " ".join(off.why.split())
    return RunResponse(_message=f"switched off: {why}", code=SWITCHED_OFF, rows_affected=0)
