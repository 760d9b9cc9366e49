"""Rows that arrive with the commits that added them (``arrival: commit``)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.killed import killed_at
from tests.spark.commit_world import Twins

from tapestry.cli.explanation import explain_model
from tapestry.errors import Refusal, SourceRewritten, StateMissing, StateUnreadable
from tapestry.names import COMMITTED_AT
from tapestry.runs.context.recall import Recall

ALL = "select m.id, m.parent from {m} m"
UNANSWERED = f"{ALL} where not exists (select 1 from {{m}} r where r.parent = m.id)"
SECOND = timedelta(seconds=1)


@pytest.fixture
def twins(session: Any, schema: str) -> Twins:
    return Twins(session, schema).create()


def test_a_row_arrives_with_its_commit(twins: Twins) -> None:
    twins.add([(1, None), (2, 1)])
    twins.add([(3, None), (3, None)])
    twins.sql("optimize {s}.messages")
    last = twins.add([(4, 2)])
    twins.run_both(UNANSWERED, last + 60 * SECOND, verify="off")
    assert twins.forget_log(before=5) == 3
    # Committed after the run before had looked, at an instant that it ended after:
    twins.add([(6, 3), (4, 2)])
    twins.run_both(UNANSWERED, last + 90 * SECOND, verify="off")


@pytest.mark.more
def test_a_run_that_is_killed_goes_on_and_a_refresh_gives_the_same(twins: Twins) -> None:
    twins.run_both(UNANSWERED, twins.add([(1, None), (2, 1)]))
    middle = twins.add([(3, None), (3, None)])
    twins.sql("optimize {s}.messages")
    last = twins.add([(4, 2)])
    with killed_at("before_written"):
        twins.run(twins.model(UNANSWERED), middle)  # what is committed after t waits
    twins.recall = Recall()
    twins.run(twins.model(UNANSWERED, "stamped", verify="off"), middle)
    twins.run_both(UNANSWERED, last)
    assert twins.forget_log(before=5) == 3
    twins.recall = Recall()
    twins.add([(6, 3)])
    twins.run_both(UNANSWERED, last + 60 * SECOND)
    twins.run_both(UNANSWERED, last + 60 * SECOND, full_refresh=True)


@pytest.mark.more
def test_begin_leaves_out_what_was_over_before_it(twins: Twins) -> None:
    begin = twins.add([(1, None), (2, 1)]) + SECOND
    said = f"{begin:%Y-%m-%d %H:%M:%S.%f}"
    twins.run_both(UNANSWERED, begin - SECOND / 2, begin=said)
    end = twins.add([(3, 2)])
    twins.run_both(UNANSWERED, max(begin, end), begin=said)
    twins.run_both(UNANSWERED, begin + 60 * SECOND, begin=said)
    assert {row[-1] for row in twins.answers()} >= {int(begin.timestamp() * 1_000_000)}


@pytest.mark.more
def test_a_table_without_the_properties_is_refused_and_nothing_is_written(twins: Twins) -> None:
    t = twins.add([(1, None)])
    twins.sql("create table {s}.plain (id int, parent int) using delta")
    model = twins.model(ALL, "plain")
    with pytest.raises(Refusal, match=r"ALTER TABLE .*enableRowTracking.*InCommitTimestamps"):
        twins.run(model, t)
    assert {row[1] for row in twins.sql("show tables in {s}")} == {"messages", "stamped", "plain"}


@pytest.mark.more
def test_rows_that_were_there_before_arrive_when_the_table_began_to_track(twins: Twins) -> None:
    twins.sql("create table {s}.messages_2 (id int, parent int) using delta")
    twins.sql("insert into {s}.messages_2 values (1, null)")
    twins.sql("alter table {s}.messages_2 set tblproperties ('delta.enableRowTracking' = 'true')")
    twins.sql("insert into {s}.messages_2 values (2, null)")
    twins.sql(
        "alter table {s}.messages_2 set tblproperties ('delta.enableInCommitTimestamps' = 'true')"
    )
    enabled = twins.newest_commit("messages_2")
    twins.sql("insert into {s}.messages_2 values (3, null)")
    newest = twins.newest_commit("messages_2")
    model = twins.model(ALL, "messages_2")
    twins.run(model, newest)
    at = [int(i.timestamp() * 1000) * 1000 for i in (enabled, enabled, newest)]
    assert sorted(twins.answers("of_messages_2")) == [
        (1, None, at[0]),
        (2, None, at[1]),
        (3, None, at[2]),
    ]


@pytest.mark.more
@pytest.mark.parametrize(
    "rewrite",
    [
        "update {s}.messages set parent = 9 where id = 1",
        "delete from {s}.messages where id = 1",
        "insert overwrite {s}.messages select * from {s}.messages",
        "merge into {s}.messages m using (select 1 as id) u on u.id = m.id"
        " when matched then update set parent = 9",
    ],
)
def test_a_rewritten_row_stops_the_next_run(twins: Twins, rewrite: str) -> None:
    t = twins.add([(1, None), (2, None)])
    twins.run(twins.model(ALL), t)
    before = twins.answers()
    twins.sql(rewrite)
    with pytest.raises(SourceRewritten):
        twins.run(twins.model(ALL), t + 60 * SECOND)
    assert twins.answers() == before


@pytest.mark.more
def test_what_was_deleted_and_restored_is_late(twins: Twins) -> None:
    t = twins.add([(1, None)])
    twins.add([(2, None)])
    config = {"on_source_rewrite": "deletes_ok"}
    twins.run_both(UNANSWERED, t + 5 * SECOND, **config)
    for table in ("messages", "stamped"):
        twins.sql(f"delete from {{s}}.{table} where id = 1")
    twins.run_both(UNANSWERED, t + 60 * SECOND, **config)
    for table, version in (("messages", 2), ("stamped", 2)):
        twins.sql(f"restore table {{s}}.{table} to version as of {version}")
    twins.run_both(UNANSWERED, t + 90 * SECOND, **config)


@pytest.mark.more
def test_times_that_nothing_tells_any_more(twins: Twins) -> None:
    for n in range(4):
        t = twins.add([(n, None)])
    assert twins.forget_log(before=9) == 3  # before any run
    twins.run(twins.model(ALL), t)
    first = min(row[-1] for row in twins.answers())
    assert len([row for row in twins.answers() if row[-1] == first]) == 3
    before = twins.answers()
    twins.run(twins.model(ALL), t, full_refresh=True)
    assert twins.answers() == before
    twins.recall = Recall()
    twins.sql("update {s}.tapestry_commits set committed_at = null where version = 3")
    with pytest.raises(StateUnreadable, match="version 3"):
        twins.run(twins.model(ALL), t + SECOND)
    twins.sql("drop table {s}.tapestry_commits")
    twins.add([(9, None)])
    with pytest.raises(StateMissing, match="tapestry_commits"):
        twins.run(twins.model(ALL), t + 60 * SECOND)
    twins.run(twins.model(ALL), t + 60 * SECOND, full_refresh=True)


@pytest.mark.more
def test_row_tracking_that_was_off_meanwhile_counts_as_rewritten(twins: Twins) -> None:
    t = twins.add([(1, None)])
    twins.run(twins.model(ALL), t)
    for on in ("false", "true"):
        twins.sql(
            f"alter table {{s}}.messages set tblproperties ('delta.enableRowTracking' = '{on}')"
        )
        if on == "false":
            twins.add([(2, None)])
            twins.sql("optimize {s}.messages")
    with pytest.raises(SourceRewritten):
        twins.run(twins.model(ALL), t + 60 * SECOND)


@pytest.mark.more
def test_explain_says_what_a_run_reads_of_it(twins: Twins) -> None:
    t = twins.add([(1, None)])
    model = twins.model(UNANSWERED)
    twins.run(model, t)
    twins.add([(2, 1)])
    explained = explain_model(twins.session, model, twins.invocation(t + 60 * SECOND), stored=True)
    assert explained.refusal is None
    assert explained.looked_at is not None
    narrowed = [one for one in explained.looked_at.readings if one.narrowed]
    assert COMMITTED_AT in " ".join(str(one.predicate) for one in narrowed)
    assert not [text for text in explained.advice if "cluster" in text]
