"""After all models of an invocation have run, their new answers are delivered to their sinks.

At the end, and not after each model: so a sink that hangs keeps no other model waiting. The sinks
of a model whose run failed are included: they may lag behind its table.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.invocation import get_invocation_id

from dbt.adapters.tapestry.invocations import current_invocation
from dbt.adapters.tapestry.session import DbtSession
from tapestry.delivery.deliver import deliver
from tapestry.runs.model.model import Model

logger = AdapterLogger("Tapestry")
_lock = Lock()
_noted: dict[tuple[str, str], list[Model]] = {}


def note_sinks(config: Any, model: Model) -> None:
    """Keep a model that delivers until the invocation ends."""
    if not model.config.deliver:
        return
    key = (str(get_invocation_id()), config.credentials.schema)
    with _lock:
        _noted.setdefault(key, []).append(model)


def deliver_noted(adapter: Any) -> None:
    """Deliver new answers; a sink that is down is a warning: the next invocation tries again."""
    config = adapter.config
    key = (str(get_invocation_id()), config.credentials.schema)
    with _lock:
        models = _noted.pop(key, [])
    if not models:
        return
    try:
        with adapter.connection_named("tapestry_deliveries"):
            session = DbtSession(adapter)
            invocation = current_invocation(config, session)
            outcomes = deliver(session, invocation, models, Path(config.project_root))
    except Exception as error:
        logger.warning(f"nothing was delivered: {error}")
        return
    for outcome in outcomes:
        if outcome.error:
            logger.warning(str(outcome))
        elif outcome.batches or outcome.begun:
            logger.info(str(outcome))
        for warning in outcome.warnings:
            logger.warning(f"{outcome.model} to {outcome.sink}: {warning}")
