"""Rules and actions that trigger each other in a circle, as dbt's graph has them."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.tapestry.trigger_cycles import refuse_cycles
from tapestry.errors import ConfigurationError

MERGE = "{{ triggered_by(ref('r')) }} merge into {{ ref('d') }} as t using m on t.id = m.id"


def node(name: str, kind: str, code: str, *above: str, **config: Any) -> dict[str, Any]:
    """A node of the graph; ``above`` are names of what it depends on."""
    ids = [one if "." in one else f"model.p.{one}" for one in above]
    return {
        "unique_id": f"model.p.{name}", "name": name, "relation_name": f"`db`.`{name}`",
        "resource_type": "model", "raw_code": code, "schema": "db",
        "config": {"materialized": kind, **config}, "depends_on": {"nodes": ids},
        "original_file_path": f"models/{name}.sql", "language": config.pop("language", "sql"),
    }  # fmt: skip


SOURCE = {
    "unique_id": "source.p.market.stocks", "name": "stocks", "source_name": "market",
    "resource_type": "source", "relation_name": "`market`.`stocks`", "config": {},
}  # fmt: skip


def refused(*nodes: dict[str, Any]) -> list[str]:
    """Those of the nodes that are refused."""
    graph = {
        "nodes": {one["unique_id"]: one for one in nodes},
        "sources": {SOURCE["unique_id"]: SOURCE},
    }
    found = []
    for one in nodes:
        try:
            refuse_cycles(one, graph)
        except ConfigurationError:
            found.append(one["name"])
    return found


DERIVED = node("d", "derived", "select 1")
RULE = node("r", "rule", "{{ triggered_by(ref('d')) }} select * from new", "d")


def test_an_action_that_writes_what_its_rule_looks_at() -> None:
    action = node("a", "action", MERGE, "r", "d")
    assert refused(DERIVED, RULE, action) == ["r", "a"]
    graph = {"nodes": {one["unique_id"]: one for one in (DERIVED, RULE, action)}, "sources": {}}
    with pytest.raises(ConfigurationError, match=r"db.a triggers db.r triggers db.a"):
        refuse_cycles(action, graph)


def test_it_may_be_allowed() -> None:
    assert refused(DERIVED, RULE, node("a", "action", MERGE, "r", "d", cycles="allow")) == []
    meta = {"cycles": "allow"}
    assert refused(DERIVED, RULE, node("a", "action", MERGE, "r", "d", meta=meta)) == []


def test_what_it_writes_may_be_said() -> None:
    other = node("a", "action", MERGE, "r", "d", writes=["elsewhere"])
    assert refused(DERIVED, RULE, other) == []
    hidden = node("a", "action", "{{ triggered_by(ref('r')) }} {{ some_macro() }}", "r", "d")
    assert refused(DERIVED, RULE, hidden) == []
    for name in ("d", "db.d"):
        hidden["config"]["writes"] = name
        assert refused(DERIVED, RULE, hidden) == ["r", "a"]


def test_a_circle_of_two_actions() -> None:
    """The one beside it is in no circle."""
    first = node("a", "action", "{{ triggered_by(ref('r')) }} insert into db.u select 1", "r")
    second = node("r2", "rule", "{{ triggered_by(ref('u')) }} select 1", "u")
    last = node("a2", "action", "{{ triggered_by(ref('r2')) }} update {{ ref('d') }} set x = 1",
                "r2", "d")  # fmt: skip
    beside = node("a3", "action", "{{ triggered_by(ref('r2')) }} delete from db.other", "r2")
    other = node("u", "table", "select 1")
    every = (DERIVED, RULE, first, other, second, last, beside)
    assert refused(*every) == ["r", "a", "r2", "a2"]


def test_sources_and_functions_in_python() -> None:
    rule = node(
        "r", "rule", "{{ triggered_by(source('market', 'stocks')) }}", "source.p.market.stocks"
    )
    into = (
        "{{ triggered_by(ref('r')) }} insert into table {{ source('market', 'stocks') }} select 1"
    )
    assert refused(rule, node("a", "action", into, "r", "source.p.market.stocks")) == ["r", "a"]
    python = node("a", "action", "def model(dbt, session): ...", "r", language="python")
    assert refused(rule, python) == []
    python["config"]["writes"] = ["stocks"]
    assert refused(rule, python) == ["r", "a"]
