"""Makes a `Model` of `tapestry.runs` from dbt's nodes: its configuration, sources' arrivals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dbt.adapters.tapestry.config_keys import known_keys, refuse_misspelt_arrival
from tapestry.delivery.declare import parse_sinks
from tapestry.errors import ConfigurationError
from tapestry.quoting import authored
from tapestry.runs.engine.instants import parse_zone
from tapestry.runs.kinds.action.python_text import named_relations
from tapestry.runs.kinds.registry import kind_called, kind_named, parse_config
from tapestry.runs.model.declare import Expectation
from tapestry.runs.model.model import EXPECTATIONS, Model, parse_only
from tapestry.runs.model.triggers import mark
from tapestry.runs.query.relations import plain


def model_of(
    node: Mapping[str, Any], graph: Mapping[str, Any], sql: str, clauses: str, zone: str
) -> Model:
    """Return a dbt node as a model to be run.

    Raises ConfigurationError for unknown keys and wrong values of ours.
    """
    config = dict(node["config"])
    if "on_schema_change" not in (node.get("unrendered_config") or {}):
        config.pop("on_schema_change", None)  # dbt fills in its own default
    try:
        said = str(config["materialized"])
        kind = kind_named(said) or said
        parsed = parse_config(kind, config, known_keys(), parse_zone(zone))
        parse_sinks(parsed.deliver)
    except ConfigurationError as error:
        raise ConfigurationError(error.reason, _file(node), error.hint) from error
    return Model(
        name=node["name"],
        relation=plain(node["relation_name"]),
        sql=authored(with_triggers(node, graph, sql)),
        config=parsed,
        arrivals=_arrivals(node, graph),
        file=_file(node),
        materialized=kind,
        unique_id=str(node.get("unique_id") or ""),
        options=authored(clauses),
        properties=config.get("tblproperties") or {},
        feeds=_feeds(node, graph),
        fed=_fed(node, graph) if kind == "rule" else (),
    )


def with_triggers(node: Mapping[str, Any], graph: Mapping[str, Any], sql: str) -> str:
    """Return a text, marked with the relations that trigger the model if it is Python.

    Python has no macros to mark them: the rules among the relations that an action names in
    `dbt.ref` trigger it.
    """
    if node.get("language") != "python":
        return sql
    named = {plain(relation) for relation in named_relations(sql).values()}
    rules = [
        relation
        for other in depends_on(node, graph)
        if kind_named((other.get("config") or {}).get("materialized")) == "rule"
        for relation in _relations(other)
        if relation in named
    ]
    return f"{sql}\n# {mark(dict.fromkeys(rules))}\n" if rules else sql


def shown_model(node: Mapping[str, Any], graph: Mapping[str, Any], sql: str) -> Model:
    """Return any node whose query is shown as a model; its configuration is not used."""
    relation = plain(node.get("relation_name") or node["name"])
    config = parse_config(Model.materialized, {})
    arrivals = _arrivals(node, graph)
    return Model(node["name"], relation, authored(sql), config, arrivals, _file(node))


def expectations_of(node: Mapping[str, Any]) -> tuple[Expectation, ...]:
    """Return the expectations of a model of dbt's own materializations, under ``meta`` too.

    Raises ConfigurationError for an invalid entry.
    """
    return expected_model(node, "").config.expectations


def expected_model(node: Mapping[str, Any], sql: str) -> Model:
    """Return a model of dbt's own materializations, which has only expectations of our keys."""
    config = dict(node["config"])
    try:
        parsed = parse_only(EXPECTATIONS, config)
    except ConfigurationError as error:
        raise ConfigurationError(error.reason, _file(node), error.hint) from error
    relation = plain(node["relation_name"])
    return Model(
        node["name"],
        relation,
        authored(sql),
        parsed,
        file=_file(node),
        properties=config.get("tblproperties") or {},
    )


def node_warnings(node: Mapping[str, Any]) -> tuple[str, ...]:
    """Return warnings about `is_incremental()` in the author's text, which is not needed here."""
    if "is_incremental" not in (node.get("raw_code") or ""):
        return ()
    return (
        "is_incremental() is not needed in a model of this kind and is false there:"
        " write the query as if it ran once",
    )


def depends_on(node: Mapping[str, Any], graph: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield each node and source that a node refers to, in their order."""
    for unique_id in (node.get("depends_on") or {}).get("nodes") or ():
        found = graph["nodes"].get(unique_id) or graph["sources"].get(unique_id)
        if found is not None:
            yield found


def key_of_derived(relation: str, graph: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the `key` of the derived model with this relation; () where there is none."""
    for node in (graph.get("nodes") or {}).values():
        config = node.get("config") or {}
        if config.get("materialized") != "derived":
            continue
        if plain(str(node.get("relation_name"))) == plain(relation):
            key = config.get("key") or (config.get("meta") or {}).get("key") or ()
            return (key,) if isinstance(key, str) else tuple(map(str, key))
    return ()


def _arrivals(node: Mapping[str, Any], graph: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Map each relation's normalized name to its arrival columns, or `static`.

    Several entries can name one table (two teams' sources; a model and a source of what it builds).
    The entries upstream of this node count; those of others only where none is upstream.
    """
    every = {**graph["nodes"], **graph["sources"]}
    above = _above(node, every)
    found: dict[bool, dict[str, set[str]]] = {True: {}, False: {}}
    for unique_id, other in every.items():
        if unique_id in above:
            refuse_misspelt_arrival(other)
        said = arrival_said(other)
        for name in _relations(other) if said is not None else ():
            found[unique_id in above].setdefault(name, set()).add(plain(str(said)))
    return {name: tuple(sorted(said)) for name, said in {**found[False], **found[True]}.items()}


def _above(node: Mapping[str, Any], every: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return all upstream nodes, by unique id."""
    above: set[str] = set()
    left = list((node.get("depends_on") or {}).get("nodes") or ())
    while left:
        unique_id = left.pop()
        if unique_id not in above and unique_id in every:
            above.add(unique_id)
            left += (every[unique_id].get("depends_on") or {}).get("nodes") or ()
    return above


def _feeds(node: Mapping[str, Any], graph: Mapping[str, Any]) -> bool:
    """Return whether other models read it, by its name or as a source of the same table."""
    mine, relation = node.get("unique_id"), plain(node["relation_name"])
    same = {key for key, one in graph["sources"].items() if relation in _relations(one)}
    return any(
        other.get("resource_type") == "model"
        and not {mine, *same}.isdisjoint((other.get("depends_on") or {}).get("nodes") or ())
        for other in graph["nodes"].values()
    )


def _fed(node: Mapping[str, Any], graph: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the derived tables that the actions below a rule refer to."""
    mine = node.get("unique_id")
    found: set[str] = set()
    for other in graph["nodes"].values():
        names = (other.get("depends_on") or {}).get("nodes") or ()
        if mine in names and (other.get("config") or {}).get("materialized") == "action":
            found |= {
                plain(one["relation_name"])
                for one in depends_on(other, graph)
                if (one.get("config") or {}).get("materialized") == "derived"
            }
    return tuple(sorted(found))


def _relations(node: Mapping[str, Any]) -> Iterator[str]:
    for place in (node, node.get("defer_relation") or {}):
        if place.get("relation_name"):
            yield plain(place["relation_name"])


def arrival_said(node: Mapping[str, Any]) -> str | None:
    """Return the arrival column that a node or source names, or `static`; None: it names none."""
    config = node.get("config") or {}
    meta = {**(node.get("meta") or {}), **(config.get("meta") or {})}
    for said in (
        config.get("arrival"),
        meta.get("arrival"),
        config.get("loaded_at_field"),
        node.get("loaded_at_field"),
    ):
        if said:
            return str(said)
    kind = kind_named(config.get("materialized"))
    return None if kind is None else kind_called(kind).arrival


def _file(node: Mapping[str, Any]) -> str:
    return str(node.get("original_file_path") or "")
