"""`tapestry doctor`: what lets a run of a maintained model read little."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.cli.answers import Answers

from tapestry.cli.check_kept import FEED, check_feed, check_target, large_models
from tapestry.cli.check_sources import past_intervals
from tapestry.runs.query.holding import SMALL
from tapestry.runs.sources.describe import DeltaSource

READERS: dict[str, Any] = {"revenue": {"relation_name": "db.revenue", "config": {}}}
LARGE = frozenset({"revenue", "others"})


@pytest.mark.parametrize(
    ("size", "large", "feed", "noted"),
    [
        (SMALL + 1, LARGE, None, True),
        (SMALL + 1, LARGE, "false", True),
        (SMALL + 1, LARGE, "true", False),
        (SMALL, LARGE, None, False),
        (SMALL + 1, frozenset({"others"}), None, False),
    ],
)
def test_a_large_source_without_a_change_feed_under_a_large_model(
    size: int, large: frozenset[str], feed: str | None, noted: bool
) -> None:
    properties = {} if feed is None else {FEED: feed}
    table = DeltaSource("db.orders", (), "id", "", properties, size=size)
    found = list(check_feed(table, READERS, large))
    assert len(found) == noted
    for one in found:
        assert "runs of revenue compare" in one.told
        assert f"set tblproperties ('{FEED}' = 'true')" in one.fix


def _detail(files: int, clustered: list[str]) -> Any:
    detail = ("delta", "id", "n", None, "file:/x", None, None, [], clustered, files, 10, {}, 1, 2)
    return Answers({"DESCRIBE DETAIL": [detail]})


@pytest.mark.parametrize(
    ("files", "clustered", "config", "fix"),
    [
        (31, [], {}, None),
        (32, ["id"], {}, None),
        (32, [], {}, "tapestry explain revenue"),
        (32, [], {"unique_key": "id"}, "cluster by (`id`); optimize"),
        (32, [], {"unique_key": ["a", "b"]}, "cluster by (`a`, `b`); optimize"),
    ],
)
def test_a_table_of_many_files_lies_by_its_key(
    files: int, clustered: list[str], config: dict[str, Any], fix: str | None
) -> None:
    node = {"relation_name": "db.revenue", "config": config}
    found = list(check_target(_detail(files, clustered), "revenue", node))
    assert [fix is not None and fix in one.fix for one in found] == [True] * (fix is not None)


def test_a_model_that_has_not_run_is_not_large() -> None:
    session: Any = Answers({})
    assert large_models(session, READERS) == frozenset()


def test_how_often_models_run_is_not_known_without_a_log() -> None:
    session: Any = Answers({})
    assert past_intervals(session, "db") == {}
    session = Answers({"SELECT model, percentile": [("db.revenue", 60.0)]})
    assert past_intervals(session, "db") == {"db.revenue": timedelta(minutes=1)}
    # A statement that Spark refuses would look like a log that is not there.
    assert "> now() - INTERVAL 90 DAYS)" in session.asked[0]
