"""Rules and actions of a project that trigger each other in a circle, from dbt's graph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dbt.adapters.tapestry.nodes import depends_on
from tapestry.runs.kinds.action.cycles import Triggered, refuse_cycle, written_in
from tapestry.runs.query.relations import plain

_TRIGGERED = re.compile(r"triggered_by\s*\((.*?)\)\s*-?\}\}", re.DOTALL)
_CALL = re.compile(r"(?:ref|source)\s*\(([^()]*)\)")
_TEXT = re.compile(r"'([^']*)'|\"([^\"]*)\"")


def refuse_cycles(node: Mapping[str, Any], graph: Mapping[str, Any]) -> None:
    """Raise ConfigurationError where a rule or an action is in a circle that is not allowed."""
    nodes = graph["nodes"]
    kinds = {name: str(one["config"].get("materialized")) for name, one in nodes.items()}
    if kinds.get(node["unique_id"]) not in ("rule", "action"):
        return
    found = {
        _relation(one): _triggered(one, kinds[name], graph)
        for name, one in nodes.items()
        if kinds[name] in ("rule", "action")
    }
    refuse_cycle(_relation(node), found)


def _triggered(node: Mapping[str, Any], kind: str, graph: Mapping[str, Any]) -> Triggered:
    config, text = node["config"], str(node.get("raw_code") or "")
    file = str(node.get("original_file_path") or "")
    python = node.get("language") == "python"
    said = {**(config.get("meta") or {}), **config}
    above = set(_above(node, graph)) if python else set()
    for called in _TRIGGERED.findall(text):
        above |= set(_called(called, node, graph))
    if kind == "rule":
        return Triggered(above, file=file)
    writes = said.get("writes") or (() if python else written_in(text))
    names = [writes] if isinstance(writes, str) else list(writes)
    targets = {target for name in names for target in _targets(str(name), node, graph)}
    return Triggered(above, targets, said.get("cycles") == "allow", file)


def _targets(name: str, node: Mapping[str, Any], graph: Mapping[str, Any]) -> Iterator[str]:
    """Yield the relations that a target's name, or a call in its place, stands for."""
    if "{{" in name:
        yield from _called(name, node, graph)
        return
    short = plain(name)
    for other in (*graph["nodes"].values(), *graph["sources"].values()):
        relation = _relation(other)
        if relation in (short, plain(f"{node.get('schema')}.{name}")) or other["name"] == name:
            yield relation


def _called(text: str, node: Mapping[str, Any], graph: Mapping[str, Any]) -> Iterator[str]:
    """Yield the relations of a text's calls of ref and source that the node depends on."""
    for arguments in _CALL.findall(text):
        named = [one or other for one, other in _TEXT.findall(arguments)]
        if not named:
            continue
        for other in depends_on(node, graph):
            source = other.get("resource_type") == "source"
            if other["name"] == named[-1] and (not source or other["source_name"] == named[0]):
                yield _relation(other)


def _above(node: Mapping[str, Any], graph: Mapping[str, Any]) -> Iterator[str]:
    """Yield the rules that a Python action names."""
    for other in depends_on(node, graph):
        if other["config"].get("materialized") == "rule":
            yield _relation(other)


def _relation(node: Mapping[str, Any]) -> str:
    return plain(str(node.get("relation_name") or node["name"]))
