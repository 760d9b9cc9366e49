"""dbt's unit tests of our models: a test of a query that no run would accept fails.

dbt puts the given rows into CTEs before the model's query. The tables that a run reads stand behind
their names, so that the query is analysed as a run analyses it: over the tables themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from dbt.adapters.tapestry.nodes import model_of
from tapestry.errors import Refusal
from tapestry.quoting import Sql, authored
from tapestry.runs.engine.column_types import columns_of_query
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.registry import kind_named, kind_of
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import STATIC, plain, read_relations
from tapestry.runs.query.unit_test import UnitTest
from tapestry.runs.sources.committed import COMMIT
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.pins import Pin, Pinned, Pins
from tapestry.sql import Column, View


def tested_model(manifest: Any, test: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the model of ours that a unit test is about; None: it is about another model."""
    node = getattr(manifest, "nodes", {}).get(test.get("tested_node_unique_id"))
    if node is None or kind_named(node.config.materialized) is None:
        return None
    found: Mapping[str, Any] = node.to_dict()
    return found


def refuse_as_a_run(
    session: Session,
    manifest: Any,
    tested: Mapping[str, Any],
    test: UnitTest,
    zone: str,
    compiled: Callable[[], str],
) -> str:
    """Raise the errors that a run of the model would raise before it reads any data.

    A table that is not built is taken to have the columns of the rows that are given for it.
    ``compiled`` returns the model's text as a run has it, with its ephemeral models. Returns a
    sentence where nothing can be checked, as a table that the query reads does not exist and no
    rows are given for it; else "". Raises Refusal and ConfigurationError.
    """
    graph = graph_of(manifest)
    inputs = {}
    every = {**graph["nodes"], **graph["sources"]}
    for unique_id in (tested["unique_id"], *tested["depends_on"]["nodes"]):
        node = every.get(unique_id)
        if node is not None and node.get("relation_name"):
            inputs[cte_of(node)] = node["relation_name"]
    text = test.over(inputs) if set(test.names) <= set(inputs) else authored(compiled())
    model = model_of(tested, graph, text, "", zone)
    given = {plain(inputs[n]): test.rows_of(n) for n in test.names if n in inputs}
    try:
        relations = read_relations(session, text, model, _GivenPins(given, model), zone)
    except Refusal as refusal:
        if refusal.code == "unknown-relation":
            return _untold(refusal.reason)
        raise
    kind_of(model).refuse(model, relations.catalog)
    return ""


def graph_of(manifest: Any) -> Mapping[str, Any]:
    """Return the nodes and sources of a manifest as macros see them."""
    if manifest.flat_graph:
        graph: Mapping[str, Any] = manifest.flat_graph
        return graph
    return {kind: _as_dicts(getattr(manifest, kind)) for kind in ("nodes", "sources")}


class _GivenPins(Pins):
    """Pins in which the columns of a test's given rows stand for a table that does not exist.

    Rows may leave the arrival column out: the table is taken to have it.
    """

    def __init__(self, given: Mapping[str, Sql], model: Model) -> None:
        super().__init__()
        self._given = given
        self._model = model

    def of(self, session: Session, name: str) -> Pinned | View:
        """Return a source as for a run; for a table that does not exist, its stand-in."""
        try:
            return super().of(session, name)
        except Refusal as refusal:
            said = self._model.arrivals.get(name, ())
            if refusal.code != "unknown-relation" or name not in self._given or COMMIT in said:
                raise
        found = columns_of_query(session, self._given[name])
        columns = [Column(column, kind.lower()) for column, kind in found]
        there = {column.name.lower() for column in columns}
        columns += [Column(n, "timestamp") for n in said if n != STATIC and n not in there]
        return Pinned(DeltaSource(name, tuple(columns), "", ""), Pin("", 0))


def as_compiled(config: Any, manifest: Any, unique_id: str) -> str:
    """Return the text of a model as a run has it, with its ephemeral models in it."""
    from dbt.compilation import Compiler

    node = deepcopy(manifest.nodes[unique_id])
    return str(Compiler(config).compile_node(node, manifest, write=False).compiled_code)


def cte_of(node: Mapping[str, Any]) -> str:
    """Return the name of dbt's CTE of a node's given rows, without the prefix common to all."""
    if node["resource_type"] == "source":
        return f"{node['source_name']}__{node['name']}".lower()
    return str(node.get("alias") or node["name"]).lower()


def _untold(why: str) -> str:
    return f"it was not asked whether a run would refuse the query: {why}"


def _as_dicts(nodes: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {unique_id: node.to_dict() for unique_id, node in nodes.items()}
