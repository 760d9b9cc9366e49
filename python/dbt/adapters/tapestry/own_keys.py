"""Tells the keys that a model itself sets from those that a folder sets for all in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dbt.context.context_config import ContextConfigGenerator
from dbt.utils import fqn_search

Placed = tuple[str, str]
"""A place, ``meta`` or none, and a key in it."""


def own_keys(node: Any, project: Any) -> frozenset[str]:
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


def _placed(config: Mapping[str, Any]) -> Iterator[tuple[Placed, Any]]:
    for place, said in (("", config), ("meta", config.get("meta") or {})):
        for key, value in said.items():
            yield (place, str(key)), value
