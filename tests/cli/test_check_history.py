"""`tapestry doctor`: how long the sources of maintained models can be read as they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from tests.cli.answers import Answers, manifest

from tapestry.cli.check_history import LOG, check_history
from tapestry.cli.check_sources import check_sources
from tapestry.cli.models import Manifest
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.too_old import DEFAULT, GUARD, RETENTION, retention

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)


def _found(quiet: int, every: str | None, kept: str | None, guard: str = "true") -> list[Any]:
    properties = {} if kept is None else {RETENTION: kept}
    changed = NOW - timedelta(days=quiet)
    table = DeltaSource("db.orders", (), "id", "", properties, changed=changed)
    readers = {"revenue": {"config": {"materialized": "maintained", "every": every}}}
    session = Answers({f"SET {GUARD}": [(GUARD, guard)]})
    return list(check_history(session, table, readers, NOW, {}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("quiet", "every", "kept", "guard", "told", "days"),
    [
        (1, None, None, "true", "", 0),
        (1, "1 day", None, "true", "", 0),
        (9, None, "interval 30 days", "true", "", 0),
        (9, None, None, "false", "", 0),
        (9, None, None, "true", "at its next change revenue will compute the whole answer", 30),
        (1, "2 weeks", None, "true", "revenue runs every 14 days", 30),
        (1, "60 days", "interval 30 days", "false", "revenue runs every 60 days", 120),
        (9, None, "interval 1 week", "<undefined>", "can be read for 7 days", 30),
    ],
)
def test_a_source_whose_old_versions_go_too_early(
    quiet: int, every: str | None, kept: str | None, guard: str, told: str, days: int
) -> None:
    found = _found(quiet, every, kept, guard)
    assert len(found) == bool(told)
    for one in found:
        assert one.status == "note"
        assert told in one.told
        assert "[HISTORY_GONE]" in one.told
        assert f"'{RETENTION}' = 'interval {days} days'" in one.fix


@pytest.mark.parametrize(
    ("every", "usual", "log", "told"),
    [
        (None, 10, None, "revenue runs every 10 days"),
        ("1 day", 10, None, "revenue runs every 10 days"),
        ("10 days", 1, None, ""),
        (None, 4, "interval 3 days", "can be read for 3 days, and revenue runs every 4 days"),
    ],
)
def test_how_often_a_model_has_run_counts_before_what_it_says(
    every: str | None, usual: int, log: str | None, told: str
) -> None:
    properties = {} if log is None else {LOG: log}
    table = DeltaSource("db.orders", (), "id", "", properties, changed=NOW)
    node = {"config": {"every": every}, "relation_name": "`db`.`Revenue`"}
    past = {"db.revenue": timedelta(days=usual)}
    session: Any = Answers({})
    found = list(check_history(session, table, {"revenue": node}, NOW, past))
    assert [told in one.told for one in found] == [True] * bool(told)


def test_a_retention_that_nobody_can_read_counts_as_the_default() -> None:
    table = DeltaSource("db.orders", (), "id", "", {RETENTION: "for ever"})
    assert retention(table) == DEFAULT
    assert retention(replace(table, properties={RETENTION: "interval 168 hours"})) == DEFAULT


def _with(made: Manifest, kinds: Mapping[str, str]) -> Manifest:
    for name, kind in kinds.items():
        made.graph["nodes"][f"model.p.{name}"]["config"]["materialized"] = kind
    return made


@pytest.mark.parametrize("kind", ["maintained", "materialized_view"])
def test_a_source_need_not_say_when_its_rows_arrive(kind: str) -> None:
    columns = [("id", "int", None), ("", "", None), ("# Detailed Table Information", "", None),
               ("Provider", "delta", None)]  # fmt: skip
    detail = ("delta", "id", "n", None, "file:/x", None, NOW, [], [], 1, 10, {}, 1, 2)
    answers = Answers({
        "DESCRIBE TABLE EXTENDED `db`.`messages`": columns,
        "DESCRIBE DETAIL": [detail],
        f"SET {GUARD}": [(GUARD, "false")],
    })  # fmt: skip
    both = _with(manifest(None), {"first": kind})
    first, *_ = check_sources(answers, both, "db")  # type: ignore[arg-type]
    assert (first.status, "read as it is" in first.told) == ("ok", True)
    dated, *_ = check_sources(answers, manifest(None), "db")  # type: ignore[arg-type]
    assert (dated.status, "says nothing of when" in dated.told) == ("wrong", True)
