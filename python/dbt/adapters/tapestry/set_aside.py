"""Drops a relation that a node replaces only once something stands in its place.

dbt's materializations drop what cannot be replaced in place (a view where a table is to stand, a
table of another format) before they write: a query that fails then would leave nothing. So the
relation of the node that is being run gets another name instead, and at the node's end it is
dropped, or gets its name back where nothing was written. A process that is killed between leaves
it under the other name, and so does a catalog that refuses the name: a warning tells where it is.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from dbt.adapters.base.meta import AdapterMeta
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.events.types import AdapterEventWarning
from dbt_common.events.contextvars import get_node_info
from dbt_common.events.functions import fire_event
from dbt_common.exceptions import DbtBaseException

SUFFIX = "__dbt_backup"
_thread = threading.local()


class AsideDoors(metaclass=AdapterMeta):
    """A mixin of the adapter: drops relations, or sets them aside until the node's end."""

    def pre_model_hook(self, config: Any) -> Any:
        """Note that this thread runs one node from now until `post_model_hook`."""
        _thread.aside = {}
        return super().pre_model_hook(config)  # type: ignore[misc]

    def post_model_hook(self, config: Any, context: Any) -> None:
        """Drop the relation set aside; where the node failed and left nothing, rename it back."""
        aside, _thread.aside = getattr(_thread, "aside", None) or {}, None
        failed = sys.exc_info()[0] is not None
        for relation, other in aside.items():
            try:
                if failed and not self._stands(relation):
                    self._rename(other, relation)
                    self.cache_added(relation)  # type: ignore[attr-defined]
                else:
                    super().drop_relation(other)  # type: ignore[misc]
            except DbtBaseException as error:
                told = f"what stood at {relation} is now {other}: {error}"
                fire_event(AdapterEventWarning(name="tapestry", base_msg=told, args=[]))
        super().post_model_hook(config, context)  # type: ignore[misc]

    def drop_relation(self, relation: BaseRelation) -> None:
        """Drop a relation; set aside the one that the node is to replace until the node's end."""
        if not self._set_aside(relation):
            super().drop_relation(relation)  # type: ignore[misc]

    def _set_aside(self, relation: Any) -> bool:
        aside = getattr(_thread, "aside", None)
        if aside is None or not _is_of_node(relation) or self._known(relation) is None:
            return False
        other = relation.incorporate(path={"identifier": f"{relation.identifier}{SUFFIX}"})
        try:
            if (left := self._known(other)) is not None:
                super().drop_relation(left)  # type: ignore[misc]
            self._rename(relation, other)
        except DbtBaseException:  # a catalog that renames nothing
            return False
        self.cache_dropped(relation)  # type: ignore[attr-defined]
        aside[relation] = other
        return True

    def _known(self, relation: BaseRelation) -> BaseRelation | None:
        return self.get_relation(  # type: ignore[attr-defined,no-any-return]
            relation.database, relation.schema, relation.identifier
        )

    def _stands(self, relation: BaseRelation) -> bool:
        """Return whether the catalog has the relation, whatever dbt's cache says."""
        found = self.list_relations_without_caching(  # type: ignore[attr-defined]
            relation.without_identifier()
        )
        return str(relation.identifier).lower() in {str(one.identifier).lower() for one in found}

    def _rename(self, relation: BaseRelation, other: BaseRelation) -> None:
        names = {"from_relation": relation, "to_relation": other}
        self.execute_macro("rename_relation", kwargs=names)  # type: ignore[attr-defined]


def _is_of_node(relation: BaseRelation) -> bool:
    node = get_node_info().get("node_relation") or {}
    own = (str(node.get("schema")).lower(), str(node.get("alias")).lower())
    return own == (str(relation.schema).lower(), str(relation.identifier).lower())
