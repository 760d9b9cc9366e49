"""Writes the incremental model that is equal to a run beside dbt's compiled SQL, for people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.tapestry.guarded_model import (
    HOW_TAU,
    Guarded,
    dbt_names,
    guarded_model,
    scans_for,
)
from tapestry.names import COMMITTED_AT
from tapestry.runs.kinds.continuous.query import Query

logger = AdapterLogger("Tapestry")
SUFFIX = ".incremental.sql"
_written: dict[Path, str] = {}
"""Path -> the query that this process has written: a warm process renders a query once."""


def write_beside_compiled(
    config: Any, node: Mapping[str, Any], graph: Mapping[str, Any], query: Query
) -> Path | None:
    """Write ``target/compiled/<project>/models/<model>.incremental.sql``; None where it fails.

    The file is for people: the run itself takes tau from `tapestry_state`, knows late rows, and
    does not read it.
    """
    file = Path(node["original_file_path"]).with_suffix(SUFFIX)
    path = Path(config.project_root, config.target_path, "compiled", node["package_name"], file)
    try:
        if _written.get(path) != query.canonical or not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_guarded_text(node, graph, query))
            _written[path] = query.canonical
    except OSError as error:
        logger.debug(f"{path} was not written: {error}")
        return None
    return path


def _guarded_text(node: Mapping[str, Any], graph: Mapping[str, Any], query: Query) -> str:
    """Return the guarded model: Q_M(t) for a first run, Q^I over (tau, t] for every later one."""
    names = dbt_names(graph)
    said = {name: names.get(name, name) for name in query.rewriting.sources}
    scans = scans_for(query.rewriting, query.relations, "spark")
    head = (
        f"What a run of {node['name']} stands for, as the incremental model that one would have to",
        "write without the adapter. It is for reading; the run takes tau, the end of the last run,",
        "from tapestry_state, and knows which rows came late. `tapestry eject` writes this model",
        "with the macros it needs. In it:",
        *HOW_TAU,
        *_of_commits(query),
    )
    config = ("materialized='incremental'", "incremental_strategy='append'")
    return guarded_model(Guarded(query.rewriting, said, scans, "spark", config, head))


def _of_commits(query: Query) -> tuple[str, ...]:
    """Return lines about the column of commit times, which no table has; none if it is unused."""
    if all(pinned.table.commits is None for pinned in query.relations.tables.values()):
        return ()
    return (
        f"{COMMITTED_AT} stands for the time of the commit that added a row (arrival: commit): no",
        "column has it, so that this text cannot be run.",
    )
