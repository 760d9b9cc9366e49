"""Looks, at the end of an invocation, at what waits for the actions of the project.

An invocation in which a rule has looked at commits, or an action has executed batches, writes the
view ``tapestry_rules`` anew, about all actions of the project. A process of `tapestry watch` looks
in any case: it runs the action when the next batch is due.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from threading import Lock
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.invocation import get_invocation_id

from dbt.adapters.tapestry.invocations import current_invocation
from dbt.adapters.tapestry.nodes import model_of
from dbt.adapters.tapestry.session import DbtSession
from dbt.adapters.tapestry.unit_tests import as_compiled, graph_of
from tapestry.errors import TapestryError
from tapestry.instants import now_utc
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.own_tables import in_schema_of
from tapestry.runs.kinds.action.queue import queue_of
from tapestry.runs.kinds.action.rule_rows import NAME, RuleRow, rule_rows, write_view
from tapestry.runs.kinds.registry import kind_named
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.outcome import Outcome

logger = AdapterLogger("Tapestry")
ACTION, RULE = "action", "rule"
_lock = Lock()
_noted: dict[str, dict[str, Model]] = {}
_changed: set[str] = set()
_due: dict[str, datetime | None] = {}
_watching = False


def note_run(model: Model, outcome: Outcome | None) -> None:
    """Note that a run of a rule or an action is over; None: it ended with an error."""
    if model.materialized not in (ACTION, RULE):
        return
    key = str(get_invocation_id())
    with _lock:
        _noted.setdefault(key, {})[model.unique_id] = model
        if outcome is None or outcome.action != "nothing":
            _changed.add(key)


def watch_queues() -> None:
    """Look, from now on, after every invocation with a rule or an action, whatever it did."""
    global _watching
    _watching = True


def next_due() -> dict[str, datetime | None]:
    """Return, by unique id, when each action looked at last has something to do; None: never."""
    with _lock:
        found = dict(_due)
        _due.clear()
        return found


def look_at_queues(adapter: Any) -> None:
    """Look at what waits where the ending invocation may have changed it; harms nothing."""
    key = str(get_invocation_id())
    with _lock:
        noted, changed = _noted.pop(key, {}), key in _changed
        _changed.discard(key)
    if not noted or not (changed or _watching):
        return
    schema = adapter.config.credentials.schema
    try:
        with adapter.connection_named(NAME):
            session = DbtSession(adapter)
            invocation = current_invocation(adapter.config, session)
            rows: list[RuleRow] = []
            for model in _actions(adapter, noted, invocation.time_zone):
                rows += _look(session, invocation, model)
            if changed:
                write_view(session, in_schema_of(invocation.state_table, NAME), rows, now_utc())
    except Exception as error:
        logger.warning(f"{schema}.{NAME} was not written: {error}")


def _look(session: DbtSession, invocation: Invocation, model: Model) -> list[RuleRow]:
    try:
        queue = queue_of(session, model, invocation)
        with _lock:
            _due[model.unique_id] = queue.next_due
        return list(rule_rows(session, model, invocation, queue))
    except TapestryError as error:
        logger.debug(f"what waits for {model.name} is not told: {error}")
        return []


def _actions(adapter: Any, noted: dict[str, Model], zone: str) -> Iterator[Model]:
    """Yield the actions of the project; compile those that this invocation has not run."""
    manifest = adapter._macro_resolver
    nodes = getattr(manifest, "nodes", {})
    named = {i: m for i, m in noted.items() if m.materialized == ACTION}
    yield from named.values()
    for unique_id, node in nodes.items():
        if node.resource_type != "model" or unique_id in named:
            continue
        if kind_named(node.config.materialized) != ACTION:
            continue
        try:
            text = as_compiled(adapter.config, manifest, unique_id)
            yield model_of(node.to_dict(), graph_of(manifest), text, "", zone)
        except Exception as error:
            logger.debug(f"{unique_id} was not compiled: {error}")
