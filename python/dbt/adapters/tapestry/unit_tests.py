"""dbt's unit tests of continuous models: a test of a query that no run would take does not pass.

dbt puts the given rows into CTEs before the model's query. What a run reads stands behind their
names, so that the query is looked at as a run looks at it: over the tables themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.tapestry.nodes import CONTINUOUS, continuous_model
from tapestry.errors import Refusal
from tapestry.runs.engine.session import Session
from tapestry.runs.query.relations import read_relations
from tapestry.runs.query.unit_test import UnitTest
from tapestry.runs.sources.pins import Pins
from tapestry.sql import rewrite


def tested_model(manifest: Any, test: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The continuous model that a unit test is about; None where it is about another kind."""
    node = getattr(manifest, "nodes", {}).get(test.get("tested_node_unique_id"))
    if node is None or node.config.materialized != CONTINUOUS:
        return None
    found: Mapping[str, Any] = node.to_dict()
    return found


def refuse_as_a_run(
    session: Session, manifest: Any, tested: Mapping[str, Any], test: UnitTest, zone: str
) -> str:
    """Raise what a run of the model would, before it reads any data.

    Returns a sentence where that cannot be told, for a table that the query reads is not there;
    else nothing.  Raises Refusal and ConfigurationError.
    """
    graph = manifest.flat_graph or {
        kind: _as_dicts(getattr(manifest, kind)) for kind in ("nodes", "sources")
    }
    inputs = {}
    every = {**graph["nodes"], **graph["sources"]}
    for unique_id in (tested["unique_id"], *tested["depends_on"]["nodes"]):
        node = every.get(unique_id)
        if node is not None and node.get("relation_name"):
            inputs[_cte_of(node)] = node["relation_name"]
    missing = sorted(set(test.names) - set(inputs))
    if missing:
        return _untold(f"{missing[0]} is no table")
    text = test.over(inputs)
    model = continuous_model(tested, graph, text, "", zone)
    try:
        relations = read_relations(session, text, model, Pins(), zone)
    except Refusal as refusal:
        if refusal.code == "unknown-relation":
            return _untold(refusal.reason)
        raise
    rewrite(text, relations.catalog, assume=model.config.assume, begin=model.config.begin)
    return ""


def _cte_of(node: Mapping[str, Any]) -> str:
    """What dbt's CTE of the rows given for a node is called, without what all begin with."""
    if node["resource_type"] == "source":
        return f"{node['source_name']}__{node['name']}".lower()
    return str(node.get("alias") or node["name"]).lower()


def _untold(why: str) -> str:
    return f"it was not asked whether a run would refuse the query: {why}"


def _as_dicts(nodes: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {unique_id: node.to_dict() for unique_id, node in nodes.items()}
