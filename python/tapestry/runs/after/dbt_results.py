"""Keeps dbt's last result of each node, which dbt itself forgets with the next command.

``dbt test`` after a run that failed leaves a ``run_results.json`` with tests alone. So the next
command keeps the results in that file before dbt writes it anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tapestry.whole_file import write_whole

RESULTS, KEPT = "run_results.json", "tapestry_results.json"
LOOKED = ("compile", "generate", "show")
"""Commands of dbt that write run_results.json and run nothing."""
LONGEST = 2_000
"""Characters of a message that are kept."""


def keep_results(target: Path) -> None:
    """Keep the results of dbt's last command, each until the node has a newer one.

    Only a report depends on them: a failure to write them is ignored.
    """
    last = read_json(target / RESULTS)
    told = last.get("metadata") or {}
    if not told.get("generated_at") or (last.get("args") or {}).get("which") in LOOKED:
        return
    kept = kept_results(target)
    for result in last.get("results") or ():
        response = result.get("adapter_response") or {}
        kept[str(result.get("unique_id"))] = {
            "status": result.get("status"),
            "message": str(result.get("message") or "")[:LONGEST],
            "adapter_response": {"code": response.get("code")},
            "at": told["generated_at"],
            "invocation_id": told.get("invocation_id"),
        }
    with suppress(OSError):
        write_whole(target / KEPT, json.dumps({"results": kept}).encode())


def kept_results(target: Path) -> dict[str, dict[str, Any]]:
    """Return the kept results by the node's unique id."""
    results = read_json(target / KEPT).get("results")
    if not isinstance(results, Mapping):
        return {}
    return {str(name): dict(one) for name, one in results.items() if isinstance(one, Mapping)}


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a file; one that is missing or half written counts as empty."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
