"""Is everything well? What is not, since when, and why: on rows made for each case."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.report.made_up import NOW, Row, checks, company, fail, runs, well

from tapestry.report.artifacts import Artifacts, Node, NodeResult
from tapestry.report.judge import judge
from tapestry.report.record import Record
from tapestry.report.standing import GONE, LOOK, NEVER, NOT_WELL, WELL, Verdict

HOUR = timedelta(hours=1)


def _judge(rows: list[Row], checked: list[Row] = [], **more: Any) -> Verdict:  # noqa: B006
    now = more.pop("now", NOW)
    stale_after = more.pop("stale_after", None)
    return judge(Record.from_rows(rows, checked), Artifacts(**more), now, stale_after)


def _node(name: str = "m", materialized: str = "continuous") -> Node:
    return Node(id=f"model.p.{name}", relation=f"s.{name}", kind="model", materialized=materialized)


def _dbt(result: NodeResult, **more: Any) -> dict[str, Any]:
    node = _node()
    return {"nodes": {node.id: node}, "results": (result,), "finished_at": NOW, **more}


def test_all_is_well() -> None:
    verdict = _judge(*well(8, 20))
    assert verdict.sentence == "All 8 models are well."
    assert (verdict.state, verdict.well, verdict.all_troubles) == (WELL, True, ())


def test_nothing_on_record_is_not_well() -> None:
    verdict = _judge([])
    assert verdict.sentence == "No run is on record yet."
    assert not verdict.well


def test_failed_since_the_first_failure_without_a_break() -> None:
    rows = runs("s.m", 10)
    rows[3].update(action="failed", message="long ago")
    fail(rows, 3, "it broke\n  in: models/m.sql\n  do: mend it")
    verdict = _judge(rows)
    (trouble,) = verdict.all_troubles
    assert trouble.serious
    assert trouble.since == rows[7]["ended_at"]
    assert trouble.title == "its last 3 runs failed"
    assert "it broke" in trouble.why
    assert trouble.do == "mend it"
    assert verdict.sentence == "1 of 1 model is not well."
    (model,) = verdict.models
    assert model.complete_until == rows[6]["t"]
    assert model.behind(NOW) == NOW - rows[6]["t"]


def test_failed_once_and_mended() -> None:
    rows = runs("s.m", 10)
    rows[8].update(action="failed", message="passing")
    assert _judge(rows).state == WELL


def test_which_check_stopped_a_run() -> None:
    rows = fail(runs("s.m", 5), 2, "")
    checked = checks(rows, "expectation", "has_author")
    for check in checked[-2:]:
        check.update(status="fail", violations=3, details=json.dumps({"message": "NULL thrice"}))
    (trouble,) = _judge(rows, checked).all_troubles
    assert "has_author did not hold" in trouble.title
    assert "NULL thrice" in trouble.why
    assert "dbt run --select m" in trouble.do


@pytest.mark.parametrize(("status", "state"), [("warn", LOOK), ("fail", NOT_WELL), ("pass", WELL)])
def test_an_expectation_that_did_not_stop_the_run(status: str, state: str) -> None:
    rows = runs("s.m", 6)
    checked = checks(rows, "expectation", "has_author", on_violation="drop")
    for check in checked[-3:]:
        check.update(status=status, violations=2)
    verdict = _judge(rows, checked)
    assert verdict.models[0].state == state
    if status != "pass":
        assert verdict.all_troubles[0].since == rows[3]["ended_at"]
        assert "s.m__rejected" in verdict.all_troubles[0].do


@pytest.mark.parametrize(
    ("more", "title", "serious", "where"),
    [
        (
            {"status": "error", "on_violation": "warn"},
            "could not be computed",
            False,
            "in s.m: they",
        ),
        ({"status": "error", "on_violation": "drop"}, "could not be computed", True, "s.m__staged"),
        ({"status": "fail", "violations": 3}, "is broken by 3 rows", True, "nothing was published"),
        ({"status": "warn", "violations": 0, "on_violation": "warn"}, "does not hold", False, ""),
        (
            {"status": "warn", "violations": 1, "on_violation": "drop"},
            "is broken by 1 row",
            False,
            "s.m__rejected",
        ),
    ],
)
def test_how_a_check_ended(more: Row, title: str, serious: bool, where: str) -> None:
    rows = runs("s.m", 2)
    checked = checks(rows, "expectation", "has_author")
    checked[-1].update(details='{"row": {"a": 1}, "why": "so"}', **more)
    (trouble,) = _judge(rows, checked).all_troubles
    assert trouble.title == f"has_author {title}"
    assert trouble.serious == serious
    assert trouble.why == 'row: {"a": 1}\nwhy: so'
    assert where in trouble.do


def test_a_broken_expectation_of_an_older_run_is_past() -> None:
    rows = runs("s.m", 6)
    checked = checks(rows, "expectation", "has_author")
    checked[-2].update(status="warn", violations=2)
    assert _judge(rows, checked).state == WELL


def test_wrong_rows_stay_until_the_table_is_built_again() -> None:
    rows = runs("s.m", 6)
    checked = checks(rows, "enough", "enough")
    checked[2].update(status="warn", violations=4)
    rows[2].update(verification="warned")
    verdict = _judge(rows, checked)
    (trouble,) = verdict.all_troubles
    assert verdict.state == NOT_WELL
    assert trouble.since == rows[2]["ended_at"]
    assert "4 rows in 1 run" in trouble.why
    rows[5].update(generation="built again")
    checked[5].update(generation="built again")
    assert _judge(rows, checked).state == WELL


def test_a_warned_verification_without_its_checks_is_told_all_the_same() -> None:
    rows = runs("s.m", 6)
    rows[4].update(verification="warned")
    assert _judge(rows).state == NOT_WELL


def test_a_verification_that_stopped_its_run_left_no_wrong_rows() -> None:
    rows = runs("s.m", 6)
    rows[3].update(action="failed", verification="failed")
    checked = checks(rows, "not_too_much", "not_too_much")
    checked[3].update(status="fail", violations=1)
    assert _judge(rows, checked).state == WELL


@pytest.mark.parametrize(
    ("status", "state"),
    [("error", NOT_WELL), ("skipped", LOOK), ("success", WELL), ("fail", NOT_WELL)],
)
def test_what_dbt_says_after_the_last_recorded_run(status: str, state: str) -> None:
    result = NodeResult("model.p.m", status, "Database Error\n  do: look")
    verdict = _judge(runs("s.m", 3), **_dbt(result))
    assert verdict.models[0].state == state
    older = _dbt(result, finished_at=NOW - 5 * HOUR)
    assert _judge(runs("s.m", 3), **older).models[0].state == WELL


def test_one_failure_is_told_once() -> None:
    rows = fail(runs("s.m", 3), 1, "it broke")
    dbt = _dbt(NodeResult("model.p.m", "error", "it broke"), invocation_id="i2")
    assert len(_judge(rows, **dbt).all_troubles) == 1
    dbt["invocation_id"] = "later"
    assert len(_judge(rows, **dbt).all_troubles) == 2


def test_a_failed_dbt_test_belongs_to_its_model() -> None:
    result = NodeResult("test.p.not_null_m_id.abc", "fail", "Got 3 results", tests="model.p.m")
    (trouble,) = _judge(runs("s.m", 3), **_dbt(result)).all_troubles
    assert (trouble.model, trouble.serious) == ("s.m", True)
    assert "not_null_m_id" in trouble.title


def test_a_quiet_run_counts_although_it_writes_no_row() -> None:
    rows = runs("s.m", 3, every=HOUR)[:-1]
    quiet = _dbt(NodeResult("model.p.m", "success", "nothing new", "nothing"))
    (model,) = _judge(rows, **quiet).models
    assert model.quiet_at == NOW
    assert model.behind(NOW) == timedelta(0)
    (model,) = _judge(rows).models
    assert model.behind(NOW) >= HOUR


def test_never_run_and_gone_models_are_no_trouble() -> None:
    node = _node("new")
    verdict = _judge(fail(runs("s.old", 3), 1, "broke"), nodes={node.id: node})
    assert {model.name: model.state for model in verdict.models} == {"s.new": NEVER, "s.old": GONE}
    assert verdict.all_troubles == ()
    assert not verdict.well


def test_overdue_by_its_own_rhythm() -> None:
    rows = runs("s.m", 30, every=HOUR)
    assert _judge(rows, now=NOW + 2 * HOUR).state == WELL
    verdict = _judge(rows, now=NOW + 12 * HOUR)
    assert (verdict.state, verdict.well) == (LOOK, True)
    assert "no run for 12 hours" in verdict.sentence


def test_overdue_by_what_the_caller_allows() -> None:
    rows = runs("s.m", 2)
    assert _judge(rows, now=NOW + 2 * HOUR, stale_after=3 * HOUR).well
    verdict = _judge(rows, now=NOW + 4 * HOUR, stale_after=3 * HOUR)
    assert not verdict.well
    assert verdict.sentence.startswith("The project is not well: no run for 4 hours")


def test_the_worst_come_first() -> None:
    verdict = _judge(*company())
    assert [model.state for model in verdict.models][:3] == [NOT_WELL, LOOK, WELL]
    assert verdict.models[0].name == "shop.unanswered"
    assert [trouble.serious for trouble in verdict.all_troubles] == [True, False]


def test_a_table_that_dbt_builds_whole_has_checks_only() -> None:
    checked = checks(runs("s.whole", 3), "expectation", "has_author")
    for check in checked:
        check.update(run_id=check["invocation_id"], n=None, generation=None)
    node = _node("whole", "table")
    verdict = _judge([], checked, nodes={node.id: node})
    assert verdict.sentence == "The one model is well."
    checked[-1].update(status="warn", violations=4)
    (trouble,) = _judge([], checked, nodes={node.id: node}).all_troubles
    assert trouble.title == "has_author is broken by 4 rows"


def test_an_older_table_lacks_columns() -> None:
    known = ("invocation_id", "model", "action", "t", "new_rows", "seconds", "ended_at")
    rows = [{name: row[name] for name in known} for row in runs("s.m", 5)]
    verdict = _judge(rows)
    assert verdict.state == WELL
    assert verdict.models[0].last is not None
    assert verdict.models[0].last.bytes_read is None


def test_past_time_replayed_is_not_late() -> None:
    rows = runs("s.m", 5)
    for row in rows:
        row["t"] -= timedelta(days=9000)
    (model,) = _judge(rows).models
    assert model.replayed
    assert model.state == WELL


def test_a_sink_that_does_not_take_what_is_new() -> None:
    def judged(minutes: float, **more: Any) -> Verdict:
        waiting = [{"model": "s.m", "sink": "ops", "since": NOW - timedelta(minutes=minutes)}]
        return judge(Record.from_rows(runs("s.m", 3), waiting=waiting), Artifacts(**more), NOW)

    (trouble,) = judged(90).all_troubles
    assert trouble.title == "the sink ops has not taken what is new"
    assert trouble.since == NOW - timedelta(minutes=90)
    assert trouble.do == "tapestry deliver m --sink ops says why"
    assert judged(90).state == LOOK
    assert judged(0.5).state == WELL, "it is being sent just now"
    node = _node()
    assert judged(90, nodes={node.id: replace(node, sinks=("ops",))}).state == LOOK
    assert judged(90, nodes={node.id: node}).state == WELL, "the model has no such sink any more"
    assert judged(90, nodes={"other": _node("other")}).models[-1].troubles == ()
