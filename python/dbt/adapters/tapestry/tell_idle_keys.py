"""Warns, before a node is built, of keys of its configuration that do nothing there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt.context.context_config import ContextConfigGenerator
from dbt.utils import fqn_search
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id

from dbt.adapters.tapestry.config_keys import idle_keys
from tapestry.errors import ConfigurationError
from tapestry.runs.kinds.registry import kind_named

logger = AdapterLogger("Tapestry")
_lock = Lock()
_told: set[tuple[str, str, str]] = set()


_Placed = tuple[str, str]
"""A place, ``meta`` or none, and a key in it."""


def tell_idle_keys(node: Any, project: Any) -> None:
    """Warn of keys that do nothing, each once an invocation for all nodes of a kind.

    ``project`` is dbt's runtime configuration. Raises DbtRuntimeError for a key of ours that is
    misspelt, and for one of another kind that the model itself sets.
    """
    config = node.config.to_dict(omit_none=True)
    given = {**node.unrendered_config, **node.config._extra}
    file = str(node.original_file_path)
    try:
        own = _own_keys(node, project) if kind_named(config.get("materialized")) else ()
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


def _own_keys(node: Any, project: Any) -> frozenset[str]:
    """Return the keys that a model's ``config()`` or its YAML gives it, under ``meta`` too.

    The others come from a folder, as ``+key:`` in dbt_project.yml (``project``: dbt's runtime
    configuration). dbt keeps the value that counts and the arguments of ``config()``, but not those
    of the YAML: a key of the YAML with the very value that a folder gives it, too, counts as the
    folder's.
    """
    called = dict(_placed(node.config_call_dict))
    given = {**node.unrendered_config, **node.config._extra}
    inherited = [one for level in _folders(node, project) for one in _placed(level)]
    return frozenset(
        key
        for (place, key), value in _placed(node.config.to_dict(omit_none=True))
        if place or key in given  # dbt fills in defaults of its own
        if (place, key) in called or ((place, key), value) not in inherited
    )


def _folders(node: Any, project: Any) -> Iterator[dict[str, Any]]:
    """Yield dbt_project.yml's configuration of each of the model's folders, in dbt's order."""
    package = ContextConfigGenerator(project).get_node_project(node.package_name)
    for one in (package, project):
        for level in fqn_search(one.models, node.fqn):
            yield {
                key.removeprefix("+").strip(): value
                for key, value in level.items()
                if key.startswith("+") or not isinstance(value, dict)
            }


def _placed(config: Mapping[str, Any]) -> Iterator[tuple[_Placed, Any]]:
    for place, said in (("", config), ("meta", config.get("meta") or {})):
        for key, value in said.items():
            yield (place, str(key)), value
