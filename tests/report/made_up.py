"""Made-up records of every kind: healthy, failing, late, with gaps, with names nobody expects."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
HOSTILE = "<script>alert('gotcha')</script>"
NAMES = (
    "unanswered",
    "conversations_of_more_than_three_messages",
    HOSTILE,
    '"><img src=x onerror=alert(1)>',
    "größe_über_alles_数据_🙂",
    "a b'c´d\"e&f",
    "{{ 7 * 7 }}{% raw %}",
    "]]><!--</style></title>${7*7}",
    "x" * 120,
    "javascript:alert(1)",
)
Row = dict[str, Any]


def runs(
    model: str, count: int, *, seed: int = 0, every: timedelta = timedelta(hours=1), **more: Any
) -> list[Row]:
    """Runs of one model up to now, the first builds the table; ``more`` overrides columns."""
    rng = random.Random(f"{seed}{model!a}")
    scale = rng.choice([3, 40, 700])
    found = []
    for number in range(count):
        ended = NOW - every * (count - 1 - number) - timedelta(seconds=rng.randint(0, 50))
        create = number == 0
        rows = 90_000 if create else int(rng.expovariate(1 / scale))
        found.append(
            {
                "invocation_id": f"i{number}",
                "model": model,
                "generation": f"g-{model}",
                "n": number + 1,
                "run_id": f"{model}-{number}",
                "action": "create" if create else "append",
                "tau": None if create else ended - every,
                "t": ended - timedelta(seconds=20),
                "pins": "{}",
                "strategy": rng.choice(["bounds", "anti_join", "candidates"]),
                "new_rows": rows,
                "late_rows": rng.choice([0, 0, 0, 1, 7]),
                "null_rows": 0,
                "rejected_rows": rng.choice([0, 0, 0, 0, 2]),
                "verification": "passed",
                "seconds": rng.uniform(1, 6),
                "files_read": rng.randint(2, 40),
                "bytes_read": rng.randint(10_000, 9_000_000),
                "files_written": 1,
                "bytes_written": rng.randint(500, 90_000),
                "horizon": None,
                "message": None,
                "ended_at": ended,
                "sql": f"INSERT INTO {model} SELECT 1 -- {HOSTILE}",
                **more,
            }
        )
    return found


def kept(model: str, count: int, **more: Any) -> list[Row]:
    """Runs of a table of which rows go out, too: every fourth by the whole answer, for a reason."""
    found = runs(model, count, **more)
    for number, row in enumerate(found):
        whole = number % 4 == 0
        row.update(
            action=row["action"] if number == 0 else "replace",
            refresh="full" if whole else "incremental",
            reason=("FIRST_RUN" if number == 0 else "HISTORY_GONE") if whole else None,
            reason_about="shop.orders" if whole and number else None,
            strategy="full: FIRST_RUN" if number == 0 else "incremental",
            inserted_rows=None if number == 0 else number,
            updated_rows=None if number == 0 else 2 * number,
            deleted_rows=None if number == 0 else 1,
            bytes_full=12_000_000 + 1000 * number,
        )
    return found


def fail(rows: list[Row], last: int, message: str) -> list[Row]:
    """Let the newest runs have failed."""
    for row in rows[len(rows) - last :]:
        row.update(action="failed", message=message, new_rows=None, verification="failed")
    return rows


def checks(rows: Iterable[Row], kind: str, name: str, **more: Any) -> list[Row]:
    """A check of each run, which held unless said."""
    return [
        {
            **{key: row[key] for key in ("invocation_id", "model", "generation", "n", "run_id")},
            "kind": kind,
            "name": name,
            "on_violation": "fail",
            "level": "sample" if kind in ("enough", "not_too_much") else None,
            "status": "pass",
            "checked_rows": 500,
            "violations": 0,
            "details": None,
            "seconds": 0.3,
            "ended_at": row["ended_at"],
            **more,
        }
        for row in rows
    ]


def company() -> tuple[list[Row], list[Row]]:
    """Ten models with something of everything, three weeks of hourly runs of some of them."""
    made, checked = [], []
    for number, name in enumerate(NAMES):
        model = f"shop.{name}"
        rows = runs(model, 120 + 30 * number % 200, every=timedelta(hours=3))
        if number == 0:
            message = "an expectation was broken by 3 rows: has_author\n  in: models/unanswered.sql"
            fail(rows, 4, f"{message}\n  do: correct the rows or the expectation")
        if number == 4:
            rows = rows[:40] + rows[70:]  # a gap: the machine was down
        made += rows
        checked += checks(rows, "enough", "enough") + checks(rows, "not_too_much", "not_too_much")
        has_author = checks(rows, "expectation", "has_author")
        if number == 0:
            for check in has_author[-4:]:
                details = {"message": f"author is NULL in 3 rows {HOSTILE}", "sample": [[1], [2]]}
                check.update(status="fail", violations=3, details=json.dumps(details))
        if number == 1:
            for check in has_author[-2:]:
                check.update(status="warn", on_violation="drop", violations=2)
        checked += has_author
    return made, checked


def well(count: int = 8, invocations: int = 200) -> tuple[list[Row], list[Row]]:
    """A project in which all is as it should be."""
    made = [row for number in range(count) for row in runs(f"bboard.model_{number}", invocations)]
    checked = checks(made, "enough", "enough") + checks(made, "not_too_much", "not_too_much")
    return made, checked


def bulletin_board() -> tuple[list[Row], list[Row]]:
    """A project as people have them, for the picture in the documentation."""
    made: list[Row] = []
    checked: list[Row] = []
    models = {
        "unanswered": "anti_join",
        "conversations": "bounds",
        "replied_in_list": "bounds",
        "quiet_for_two_weeks": "gaps",
        "liked": "candidates",
        "reminders_due": "bounds",
    }
    for name, strategy in models.items():
        rows = runs(f"bboard.{name}", 8 * 21, every=timedelta(hours=3), strategy=strategy)
        rows = rows[:70] + rows[84:]  # nobody ran anything for two days
        authors = checks(rows, "expectation", "has_author", on_violation="drop")
        if name == "unanswered":
            message = "the expectation subject_is_short is broken by 3 of 41 rows"
            fail(rows, 4, f"{message}\n  in: models/unanswered.sql\n  do: look at the rows in"
                 " bboard.unanswered__staged; correct them, or the expectation")  # fmt: skip
        if name == "conversations":
            authors[-1].update(status="warn", violations=2)
        made += rows
        checked += authors + checks(rows, "enough", "enough")
        checked += checks(rows, "not_too_much", "not_too_much")
    return made, checked


def write_target(
    folder: Path, models: Iterable[str], *, chain: bool = True, project: str = "shop"
) -> Path:
    """The manifest and run_results of some models ("schema.name"), each reading one before it."""
    models = list(models)
    source = "source.shop.raw.messages"
    nodes: dict[str, Any] = {}
    for number, model in enumerate(models):
        schema, _, name = model.partition(".")
        parent = f"model.shop.m{(number - 1) // 2}" if chain and number else source
        nodes[f"model.shop.m{number}"] = {
            "resource_type": "model",
            "schema": schema,
            "alias": name,
            "name": name,
            "original_file_path": f"models/m{number}.sql",
            "config": {"materialized": "continuous"},
            "depends_on": {"nodes": [parent, source] if number % 3 == 2 else [parent]},
            "raw_code": f"select * from {{{{ ref('x') }}}} -- {HOSTILE}",
            "description": f"Model number {number} {HOSTILE}" if number % 2 else "",
        }
    manifest = {
        "metadata": {"project_name": project, "invocation_id": "last"},
        "nodes": nodes,
        "sources": {
            source: {
                "resource_type": "source",
                "schema": "raw",
                "identifier": "messages",
                "name": "messages",
            }
        },
    }
    results = [
        {"unique_id": name, "status": "success", "message": "ok", "adapter_response": {}}
        for name in nodes
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    finished = {"generated_at": NOW.isoformat(), "invocation_id": "last"}
    (folder / "run_results.json").write_text(json.dumps({"metadata": finished, "results": results}))
    return folder
