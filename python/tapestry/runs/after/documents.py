"""Writes our results as validation results of Great Expectations, for its Data Docs.

The results are plain JSON files in the place and form in which a file context of Great Expectations
keeps them: writing them does not load it. It renders its Data Docs from them.
"""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from tapestry.runs.checks.checks import CheckResult
from tapestry.runs.expectations import great
from tapestry.runs.protocol.log import Entry

FOLDER = "great_expectations"
"""Under the project's target folder; the root of a file context."""
KEPT = 30
"""So many invocations of a model are kept; the tables keep all."""
SITE = Path("gx/uncommitted/data_docs/local_site")
_RESULTS = Path("gx/uncommitted/validations")
_TIME = "%Y%m%dT%H%M%S.%fZ"
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


def write_results(target: Path, invocation_id: str, entries: Sequence[Entry]) -> list[Path]:
    """Write a file for each run that checked something; return the files."""
    written = []
    for entry in entries:
        run = entry.identity
        if not entry.found.results:
            continue
        model = target / FOLDER / _RESULTS / Path(*map(_safe, run.model.split(".")))
        folder = model / _safe(invocation_id) / entry.ended_at.strftime(_TIME)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{_safe(run.model)}-{run.n}.json"
        result = validation_result(run.model, invocation_id, entry.ended_at, entry.found.results)
        path.write_text(json.dumps(result, indent=1, default=str), "utf-8")
        written.append(path)
        _forget(target, model)
    return written


def validation_result(
    model: str, invocation_id: str, ended_at: datetime, results: Sequence[CheckResult]
) -> dict[str, Any]:
    """Return one run's checks as an ExpectationSuiteValidationResult."""
    good = sum(result.status == "pass" for result in results)
    return {
        "success": good == len(results),
        "suite_name": model,
        "suite_parameters": {},
        "results": [_harmless(_one(result)) for result in results],
        "statistics": {
            "evaluated_expectations": len(results),
            "successful_expectations": good,
            "unsuccessful_expectations": len(results) - good,
            "success_percent": 100.0 * good / len(results) if results else None,
        },
        "meta": {
            "great_expectations_version": "1.24.1",
            "run_id": {"run_name": invocation_id, "run_time": ended_at.isoformat()},
            "active_batch_definition": {
                "datasource_name": "tapestry",
                "data_connector_name": "fluent",
                "data_asset_name": model,
                "batch_identifiers": {},
            },
            "batch_spec": {},
            "batch_markers": {},
            "validation_time": ended_at.isoformat(),
        },
        "id": None,
    }


def build_data_docs(target: Path) -> Path | None:
    """Render new results; return the site's first page, None where there is none.

    Loads Great Expectations. Raises ConfigurationError where it is not installed.
    """
    root = target / FOLDER
    fresh = [p for p in sorted((root / _RESULTS).rglob("*.json")) if not _page(root, p).exists()]
    if not fresh:
        index = root / SITE / "index.html"
        return index if index.exists() else None
    gx = great.library()
    from great_expectations.core.run_identifier import RunIdentifier
    from great_expectations.data_context.types import resource_identifiers as keys

    context = gx.get_context(mode="file", project_root_dir=str(root))
    identifiers = []
    for path in fresh:
        batch, (time, run) = path.stem, (path.parents[0].name, path.parents[1].name)
        suite = ".".join(path.parents[1].parent.relative_to(root / _RESULTS).parts)
        when = datetime.strptime(f"{time}+0000", f"{_TIME}%z")
        identifiers.append(
            keys.ValidationResultIdentifier(
                keys.ExpectationSuiteIdentifier(suite), RunIdentifier(run, when), batch
            )
        )
    context.build_data_docs(resource_identifiers=identifiers)
    return root / SITE / "index.html"


def _page(root: Path, result: Path) -> Path:
    inside = result.relative_to(root / _RESULTS).with_suffix(".html")
    return root / SITE / "validations" / inside


def _one(result: CheckResult) -> dict[str, Any]:
    checked, broken = result.checked_rows, result.violations
    percent = 100.0 * broken / checked if checked else 0.0
    found: dict[str, Any] = {
        "element_count": broken if checked is None else checked,
        "unexpected_count": broken,
        "unexpected_percent": percent,
        "unexpected_percent_total": percent,
        "partial_unexpected_list": [],
        "observed_value": f"{broken} of {checked} rows" if checked is not None else str(broken),
        "details": dict(result.details),
    }
    theirs = result.details.get("result")
    if isinstance(theirs, Mapping):
        found = dict(theirs)
    failed = result.status == "error"
    return {
        "success": result.status == "pass",
        "expectation_config": _configuration(result),
        "result": {} if failed else found,
        "meta": {},
        "exception_info": {
            "raised_exception": failed,
            "exception_message": result.details.get("message") if failed else None,
            "exception_traceback": "" if failed else None,
        },
    }


def _harmless(value: Any) -> Any:
    """Return a value with every text escaped as HTML: Data Docs insert texts as they are."""
    if isinstance(value, str):
        return html.escape(value, quote=False)
    if isinstance(value, Mapping):
        return {_harmless(key): _harmless(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_harmless(inner) for inner in value]
    return value


def _configuration(result: CheckResult) -> dict[str, Any]:
    wanted = result.expectation
    described = {
        "meta": {"name": result.name, "kind": result.kind, "on_violation": result.on_violation},
        "severity": "warning" if result.on_violation == "warn" else "critical",
        "id": None,
    }
    if wanted is not None and wanted.kind:
        return {"type": wanted.kind, "kwargs": wanted.keywords, **described}
    condition = wanted.condition if wanted is not None else result.name
    level = f", {result.level}" if result.level else ""
    return {
        "type": "unexpected_rows_expectation",
        # sql: only shown, to people
        "kwargs": {"unexpected_rows_query": f"SELECT * FROM {{batch}} WHERE NOT ({condition})"},
        "description": f"{result.name}: {condition} ({result.on_violation}{level})"
        if wanted is not None
        else f"{result.kind}{level}: {result.name}",
        **described,
    }


def _forget(target: Path, model: Path) -> None:
    """Remove the oldest invocations of a model, with their pages."""
    kept = [path for path in model.iterdir() if path.is_dir()]
    kept.sort(key=lambda path: max((p.name for p in path.iterdir()), default=""))
    for old in kept[:-KEPT]:
        page = target / FOLDER / SITE / "validations" / old.relative_to(target / FOLDER / _RESULTS)
        shutil.rmtree(old, ignore_errors=True)
        shutil.rmtree(page, ignore_errors=True)


def _safe(name: str) -> str:
    """Return a text as a part of a path; dots stay only inside."""
    return _UNSAFE.sub("_", name).strip(".") or "_"
