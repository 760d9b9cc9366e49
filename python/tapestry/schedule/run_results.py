"""Merges dbt's run_results.json of several runs, for `dbt retry` and the report."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tapestry.whole_file import write_whole

FILE = "run_results.json"


class RunResults:
    """The results that each run of dbt leaves in the target folder.

    A file that is missing or half written counts as one without results.
    """

    def __init__(self, target: Path) -> None:
        self._path = target / FILE
        self._last: dict[str, Any] = {}
        self._results: list[Any] = []
        self._seconds = 0.0
        self._seen: set[str] = set()

    def add(self) -> None:
        """Add the results of a finished run; if it wrote none, an earlier run's file is there."""
        try:
            found = json.loads(self._path.read_text("utf-8"))
            invocation = str(found["metadata"]["invocation_id"])
            results, seconds = list(found["results"]), float(found["elapsed_time"])
        except (OSError, ValueError, KeyError, TypeError):
            return
        if invocation in self._seen:
            return
        self._seen.add(invocation)
        self._last = found
        self._results += results
        self._seconds += seconds

    @property
    def unique_ids(self) -> set[str]:
        """The unique ids that have a result."""
        return {str(one.get("unique_id")) for one in self._results if isinstance(one, dict)}

    def write(self, skipped: Iterable[tuple[str, str]] = ()) -> None:
        """Put all results into the file; ``skipped`` are models (dbt's id, message) beside them."""
        if not self._last:
            return
        left_out = [_skipped(unique_id, message) for unique_id, message in skipped]
        whole = {
            **self._last,
            "results": [*self._results, *left_out],
            "elapsed_time": self._seconds,
        }
        write_whole(self._path, json.dumps(whole).encode("utf-8"))


def _skipped(unique_id: str, message: str) -> dict[str, Any]:
    return {
        "status": "skipped",
        "timing": [],
        "thread_id": "",
        "execution_time": 0.0,
        "adapter_response": {},
        "message": message,
        "failures": None,
        "unique_id": unique_id,
        "compiled": False,
        "compiled_code": None,
        "relation_name": None,
        "batch_results": None,
    }
