"""What stands where a node writes is dropped at the node's end, or has its name again."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.events.contextvars import log_contextvars
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.tapestry.naming import TapestryRelation
from dbt.adapters.tapestry.set_aside import AsideDoors

OWN = {"node_relation": {"schema": "dev", "alias": "T"}}


def relation(name: str, kind: str = "view") -> Any:
    return TapestryRelation.create(schema="dev", identifier=name, type=kind)


class Catalog:
    """An adapter whose relations are names; it renames unless it is told not to."""

    def __init__(self, *names: str, renames: bool = True) -> None:
        self.there = dict.fromkeys(names, "old")
        self.cached = set(names)
        self.renames = renames

    def pre_model_hook(self, config: Any) -> None: ...

    def post_model_hook(self, config: Any, context: Any) -> None: ...

    def get_relation(self, database: Any, schema: str, name: str) -> Any:
        return relation(name) if name in self.cached else None

    def list_relations_without_caching(self, schema: Any) -> list[Any]:
        return [relation(name) for name in self.there]

    def cache_dropped(self, one: Any) -> None:
        self.cached.discard(one.identifier)

    def cache_added(self, one: Any) -> None:
        self.cached.add(one.identifier)

    def drop_relation(self, one: Any) -> None:
        self.there.pop(one.identifier, None)
        self.cache_dropped(one)

    def execute_macro(self, macro: str, kwargs: Any) -> None:
        assert macro == "rename_relation"
        if not self.renames:
            raise DbtDatabaseError("no names are changed here")
        new = kwargs["to_relation"].identifier
        assert new not in self.there
        self.there[new] = self.there.pop(kwargs["from_relation"].identifier)


class Adapter(AsideDoors, Catalog):
    pass


def run(adapter: Adapter, dropped: Any, written: bool, fails: bool) -> None:
    """A node of dbt's: it drops, it writes, it may fail before or after that."""
    with log_contextvars(node_info=OWN):
        adapter.pre_model_hook({})
        try:
            adapter.drop_relation(dropped)
            assert dropped.identifier not in adapter.there
            if written:
                adapter.there[dropped.identifier] = "new"
            if fails:
                raise LookupError("stop")
        finally:
            adapter.post_model_hook({}, None)


def test_a_failed_query_leaves_what_stood_there() -> None:
    adapter = Adapter("t", "other")
    with pytest.raises(LookupError, match="stop"):
        run(adapter, relation("t"), written=False, fails=True)
    assert adapter.there == {"t": "old", "other": "old"}
    assert adapter.cached == {"t", "other"}


def test_what_was_written_stays() -> None:
    adapter = Adapter("t", "other")
    run(adapter, relation("t"), written=True, fails=False)
    assert adapter.there == {"t": "new", "other": "old"}
    with pytest.raises(LookupError, match="stop"):  # in a post-hook
        run(adapter, relation("t"), written=True, fails=True)
    assert adapter.there == {"t": "new", "other": "old"}


def test_what_a_killed_run_left_makes_way() -> None:
    adapter = Adapter("t", "t__dbt_backup")
    with pytest.raises(LookupError, match="stop"):
        run(adapter, relation("t"), written=False, fails=True)
    assert adapter.there == {"t": "old"}


def test_another_relation_and_another_time_are_dropped_at_once() -> None:
    adapter = Adapter("t", "other")
    with pytest.raises(LookupError, match="stop"):
        run(adapter, relation("other"), written=False, fails=True)
    adapter.drop_relation(relation("t"))
    assert adapter.there == {}


def test_a_catalog_that_renames_nothing_drops() -> None:
    adapter = Adapter("t", renames=False)
    run(adapter, relation("t"), written=True, fails=False)
    assert adapter.there == {"t": "new"}
