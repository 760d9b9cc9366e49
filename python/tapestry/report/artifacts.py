"""Reads dbt's target folder: the graph of models, the last invocation, its docs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tapestry.errors import ConfigurationError
from tapestry.runs.after.dbt_results import LOOKED, RESULTS, kept_results, read_json
from tapestry.runs.kinds.registry import kind_named
from tapestry.runs.model.model import schedule_of
from tapestry.runs.query.relations import plain

SHOWN_KINDS = ("model", "source", "seed", "snapshot")
NOT_WELL = ("error", "fail", "runtime error", "partial success")


@dataclass(frozen=True)
class Node:
    """A node of dbt's graph: ``relation`` is "schema.name", ``parents`` are unique ids.

    ``sinks`` are the names of those that it delivers to.
    """

    id: str
    relation: str
    kind: str
    materialized: str = ""
    path: str = ""
    description: str = ""
    source: str = ""
    parents: tuple[str, ...] = ()
    sinks: tuple[str, ...] = ()
    priority: int = 0

    @property
    def ours(self) -> bool:
        """Whether it is a model of one of our kinds."""
        return kind_named(self.materialized) is not None


@dataclass(frozen=True)
class NodeResult:
    """The result of a node in its last dbt invocation: ``status`` is dbt's word.

    ``at`` and ``invocation_id`` are of that invocation, where it is not the very last one.
    """

    node: str
    status: str
    message: str = ""
    action: str = ""
    tests: str = ""
    at: datetime | None = None
    invocation_id: str = ""

    @property
    def not_well(self) -> bool:
        """Whether it failed."""
        return self.status in NOT_WELL


@dataclass(frozen=True)
class Artifacts:
    """The content of the target folder; empty if there is none (a report from elsewhere).

    ``results`` are of the models that dbt ran or tried to run, and of failed tests (``tests`` is
    then the unique id of what is tested), each the last one. ``finished_at``: the end of dbt's last
    invocation.
    """

    project: str = ""
    nodes: Mapping[str, Node] = field(default_factory=dict)
    results: tuple[NodeResult, ...] = ()
    finished_at: datetime | None = None
    invocation_id: str = ""
    links: Mapping[str, Path] = field(default_factory=dict)
    run_folder: Path | None = None

    def by_relation(self) -> dict[str, Node]:
        """The models, seeds, snapshots and sources by "schema.name"."""
        return {node.relation: node for node in self.nodes.values()}

    def sql_that_ran(self, node: Node) -> str | None:
        """The statement that dbt wrote beside its compiled SQL when it ran the node last."""
        if self.run_folder is None:
            return None
        path = self.run_folder / node.id.split(".")[1] / node.path
        try:
            return path.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None


def read_artifacts(target: Path) -> Artifacts:
    """Read manifest.json, run_results.json and what documentation there is.

    A file that is missing, or half written by a dbt that runs just now, counts as not there.
    """
    manifest, results = read_json(target / "manifest.json"), read_json(target / RESULTS)
    if (results.get("args") or {}).get("which") in LOOKED:
        results = {}
    nodes = _nodes(manifest)
    tested = _tested(manifest)
    last = {str(one.get("unique_id")): one for one in results.get("results") or ()}
    earlier = {name: one for name, one in kept_results(target).items() if name not in last}
    return Artifacts(
        project=str(manifest.get("metadata", {}).get("project_name") or ""),
        nodes=nodes,
        results=tuple(_results({**last, **earlier}, tested)),
        finished_at=_instant(results.get("metadata", {}).get("generated_at")),
        invocation_id=str(results.get("metadata", {}).get("invocation_id") or ""),
        links=dict(_links(target)),
        run_folder=target / "run" if (target / "run").is_dir() else None,
    )


def _nodes(manifest: Mapping[str, Any]) -> dict[str, Node]:
    everything = {**manifest.get("sources", {}), **manifest.get("nodes", {})}
    return {
        name: _node(name, node)
        for name, node in everything.items()
        if node.get("resource_type") in SHOWN_KINDS
    }


def _node(name: str, node: Mapping[str, Any]) -> Node:
    table = node.get("alias") or node.get("identifier") or node.get("name") or name
    config = node.get("config") or {}
    sinks = config.get("deliver") or (config.get("meta") or {}).get("deliver") or ()
    return Node(
        id=name,
        relation=plain(node.get("relation_name") or f"{node.get('schema')}.{table}"),
        kind=str(node["resource_type"]),
        materialized=str(config.get("materialized") or ""),
        path=str(node.get("original_file_path") or ""),
        description=str(node.get("description") or ""),
        source=str(node.get("raw_code") or ""),
        parents=tuple((node.get("depends_on") or {}).get("nodes") or ()),
        sinks=tuple(str(sink.get("name")) for sink in sinks if isinstance(sink, Mapping)),
        priority=_priority(config),
    )


def _priority(config: Mapping[str, Any]) -> int:
    """Return the priority in a config; 0 if it is invalid, which a run reports."""
    try:
        return schedule_of(config).priority
    except ConfigurationError:
        return 0


def _tested(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the node that each data test looks at."""
    found = {}
    for name, node in manifest.get("nodes", {}).items():
        if node.get("resource_type") == "test":
            parents = (node.get("depends_on") or {}).get("nodes") or [""]
            found[name] = node.get("attached_node") or parents[0]
    return found


def _results(
    results: Mapping[str, Mapping[str, Any]], tested: Mapping[str, str]
) -> Iterable[NodeResult]:
    for name, result in results.items():
        yield NodeResult(
            node=name,
            status=str(result.get("status") or "").lower(),
            message=str(result.get("message") or ""),
            action=str((result.get("adapter_response") or {}).get("code") or ""),
            tests=tested.get(name, ""),
            at=_instant(result.get("at")),
            invocation_id=str(result.get("invocation_id") or ""),
        )


def _links(target: Path) -> Iterable[tuple[str, Path]]:
    """Documentation that exists: dbt's own pages, and Great Expectations' Data Docs."""
    if (target / "index.html").is_file() and (target / "catalog.json").is_file():
        yield "dbt docs", target / "index.html"
    folders = (target / "great_expectations", target / "gx")
    found = [path for folder in folders for path in sorted(folder.glob("**/index.html"))]
    if found:
        yield "Data Docs", min(found, key=lambda path: (len(path.parts), str(path)))


def _instant(text: Any) -> datetime | None:
    try:
        instant = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return instant if instant.tzinfo else instant.replace(tzinfo=timezone.utc)
