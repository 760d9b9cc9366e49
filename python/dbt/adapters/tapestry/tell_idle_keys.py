"""Warns, before a node is built, of keys of its configuration that do nothing there."""

from __future__ import annotations

from threading import Lock
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id

from dbt.adapters.tapestry.config_keys import idle_keys
from dbt.adapters.tapestry.own_keys import own_keys
from tapestry.errors import ConfigurationError
from tapestry.runs.kinds.registry import kind_named

logger = AdapterLogger("Tapestry")
_lock = Lock()
_told: set[tuple[str, str, str]] = set()


def tell_idle_keys(node: Any, project: Any) -> None:
    """Warn of keys that do nothing, each once an invocation for all nodes of a kind.

    ``project`` is dbt's runtime configuration. Raises DbtRuntimeError for a key of ours that is
    misspelt, and for one of another kind that the model itself sets.
    """
    config = node.config.to_dict(omit_none=True)
    given = {**node.unrendered_config, **node.config._extra}
    file = str(node.original_file_path)
    try:
        own = own_keys(node, project) if kind_named(config.get("materialized")) else ()
        found = list(idle_keys(config, given, own))
    except ConfigurationError as error:
        again = ConfigurationError(error.reason, file, error.hint)
        raise DbtRuntimeError(str(again)) from error
    invocation = str(get_invocation_id())
    for idle in found:
        told = (invocation, idle.kind, idle.key)
        with _lock:
            if told in _told:
                continue
            if not any(one[0] == invocation for one in _told):
                _told.clear()
            _told.add(told)
        logger.warning(
            f"{node.name} ({file}): {idle.key} does nothing on this kind of model"
            f" ({idle.kind}): it {idle.why} (said once of all such models)"
        )
