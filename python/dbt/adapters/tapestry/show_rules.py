"""`dbt show` of a rule: the rows of its newest firing. An action is refused: it would act."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.tapestry.invocations import current_invocation
from dbt.adapters.tapestry.nodes import model_of
from dbt.adapters.tapestry.session import DbtSession
from tapestry.errors import ConfigurationError
from tapestry.runs.kinds.registry import kind_named
from tapestry.runs.kinds.rule.ask import rows_of_newest


def show_rule(
    config: Any,
    session: DbtSession,
    node: Mapping[str, Any],
    graph: Mapping[str, Any],
    sql: str,
    as_of: Any,
) -> str | None:
    """Return the query that shows a rule's rows; None: the node is no rule.

    Raises ConfigurationError for an action, whose text would write.
    """
    kind = kind_named(node.get("config", {}).get("materialized"))
    if kind == "action":
        raise ConfigurationError(
            f"{node['name']} is an action: its statements write, and are never only shown",
            where=node.get("original_file_path") or "",
            hint=f"tapestry explain {node['name']} shows them with the rows of the next batch",
        )
    if kind != "rule":
        return None
    invocation = current_invocation(config, session, as_of)
    model = model_of(node, graph, sql, "", invocation.time_zone)
    return rows_of_newest(session, model, invocation)
