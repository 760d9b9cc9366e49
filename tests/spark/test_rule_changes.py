"""How the changes of a table are told: pairs by row id, tables written anew, changes that are gone,
and rules that are changed."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tests.spark.rule_world import FEED, Rules

from tapestry.errors import CannotPair, ChangesGone, QueryChanged, SourceRewritten

PAIRS = (
    "select old.id as a, new.id as b, old.v as c, new.v as d from old, new"
    " where old.execute_order = new.execute_order"
)
TRACKED = "tblproperties ('delta.enableChangeDataFeed' = true, 'delta.enableRowTracking' = true)"


@pytest.fixture
def world(session: Any, schema: str) -> Rules:
    return Rules(session, schema)


def test_pairing_key_change(world: Rules) -> None:
    """Rows without a key are paired by the ids that Delta keeps: duplicates, and all values new."""
    world.do(
        f"create table {{s}}.t (id int, v int) using delta {TRACKED}",
        "insert into {s}.t values (1, 10), (2, 20), (3, 30), (3, 30), (4, 40)",
    )
    rule = world.rule("r", PAIRS, "t", when="updated")
    world.now(rule)
    world.do(
        "update {s}.t set v = v + 1 where id = 1",
        "update {s}.t set id = id + 1 where id < 3",
        "update {s}.t set id = id + 10, v = v + 100 where id = 3",
        "delete from {s}.t where id = 4",
        "merge into {s}.t as t using (select 2 as id, 11 as v union all select 9, 9) as x"
        " on t.id = x.id when matched then update set * when not matched then insert *",
    )
    world.now(rule)
    found = world.rows("select a, b, c, d, _commit_version from {s}.r order by 5, 1, 3")
    assert [row[:4] for row in found] == [
        (1, 1, 10, 11), (1, 2, 11, 11), (2, 3, 20, 20), (3, 13, 20, 120), (3, 13, 30, 130),
        (3, 13, 30, 130),
    ]  # fmt: skip
    world.do("create table {s}.u (id int, v int) using delta " + FEED)
    bare = world.rule("q", PAIRS, "u", when="updated")
    world.now(bare)
    world.do("insert into {s}.u values (1, 1), (2, 2)", "update {s}.u set v = v + 1")
    with pytest.raises(CannotPair) as told:
        world.now(bare)
    assert "enableRowTracking" in told.value.hint


def test_a_table_written_anew(world: Rules, caplog: pytest.LogCaptureFixture) -> None:
    made = (
        f"create or replace table {{s}}.t using delta {FEED}"
        " as select * from values {rows} as x(id, v)"
    )
    world.do(made.replace("{rows}", "(1, 10), (2, 20)"))
    rule = world.rule("r", PAIRS, "t", when="updated v", key="id")
    fail = world.rule("f", PAIRS, "t", when="updated v", key="id", on_overwrite="fail")
    few = world.rule("d", PAIRS, "t", when="updated v", key="id", changes="diff", diff_commits=1)
    for one in (rule, fail, few):
        world.now(one)
    world.do(
        "update {s}.t set v = 11 where id = 1",
        made.replace("{rows}", "(1, 12), (2, 20), (3, 30)"),
        "update {s}.t set v = 31 where id = 3",
    )
    world.now(rule)
    expected = [(1, 1, 10, 11), (1, 1, 11, 12), (3, 3, 30, 31)]
    assert world.rows("select a, b, c, d from {s}.r order by _firing") == expected
    with pytest.raises(SourceRewritten, match=r"has written .* anew"):
        world.now(fail)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            world.now(few)
    assert "2 commits are left" in caplog.text
    assert world.rows("select a, b, c, d from {s}.d order by _firing") == expected


@pytest.mark.parametrize("how", [TRACKED, FEED], ids=["ids", "key"])
def test_two_rows_that_exchange_their_keys(world: Rules, how: str) -> None:
    """Ids of rows tell it; by the key alone it is two updates, as documented."""
    world.do(
        f"create table {{s}}.t (id int, v int) using delta {how}",
        "insert into {s}.t values (1, 10), (2, 20), (3, 30)",
    )
    rule = world.rule("r", PAIRS, "t", when=["updated"], key="id", diff_commits=2)
    world.now(rule)
    world.do(
        "update {s}.t set id = 3 - id where id < 3",
        "update {s}.t set v = 11 where v = 10",
        "update {s}.t set v = v + 1",
        "merge into {s}.t as t using (select 1 as id, 3 as new union all select 3, 1) as d"
        " on t.id = d.id when matched then update set id = d.new",
    )
    for _ in range(2 if how == TRACKED else 1):
        world.now(rule)
    found = world.rows("select a, b, c, d from {s}.r order by _firing, a")
    plain = [(2, 2, 10, 11), (1, 1, 20, 21), (2, 2, 11, 12), (3, 3, 30, 31)]
    if how == TRACKED:
        assert found == [(1, 2, 10, 10), (2, 1, 20, 20), *plain, (1, 3, 21, 21), (3, 1, 31, 31)]
    else:
        assert found == [(1, 1, 10, 20), (2, 2, 20, 10), *plain, (1, 1, 21, 31), (3, 3, 31, 21)]


def test_changes_that_are_gone(world: Rules, caplog: pytest.LogCaptureFixture) -> None:
    world.do(f"create table {{s}}.t (id int, v int) using delta {FEED}")
    sql = "select id from inserted"
    rule = world.rule("r", sql, "t", when="inserted", on_changes_gone="skip")
    world.now(rule)
    off = "alter table {s}.t set tblproperties ('delta.enableChangeDataFeed' = false)"
    world.do(off, "insert into {s}.t values (1, 1)", off.replace("false", "true"))
    with pytest.raises(ChangesGone):
        world.now(world.rule("r", sql, "t", when="inserted"))
    with caplog.at_level(logging.WARNING):
        world.now(rule)
    assert "leaves out what 3 versions of" in caplog.text
    world.do("insert into {s}.t values (2, 2)")
    world.now(rule)
    assert world.rows("select id from {s}.r") == [(2,)]
    world.do("drop table {s}.t", f"create table {{s}}.t (id int, v int) using delta {FEED}")
    with pytest.raises(ChangesGone, match="another table"):  # its versions begin anew
        world.now(rule)


def test_a_changed_rule_that_goes_on(world: Rules) -> None:
    world.do(f"create table {{s}}.t (id int, v int) using delta {FEED}")
    how = {"when": "inserted", "on_query_change": "continue"}
    world.now(world.rule("r", "select id from inserted", "t", **how))
    world.do("insert into {s}.t values (1, 1)")
    changed = world.rule("r", "select v + 100 as id from inserted", "t", **how)
    world.now(changed)
    world.do("insert into {s}.t values (2, 2)")
    world.now(changed)
    assert world.rows("select id from {s}.r order by id") == [(101,), (102,)]
    with pytest.raises(QueryChanged, match="other tables or columns"):
        world.now(world.rule("r", "select id, v from inserted", "t", **how))
    with pytest.raises(QueryChanged, match="another rule"):
        world.now(world.rule("r", "select id from inserted", "t", when="inserted"))


def test_a_star_over_a_table_that_has_got_a_column(world: Rules) -> None:
    """The text is the same and binds another column: nothing is lost where the rule goes on."""
    world.do(f"create table {{s}}.t (id int) using delta {FEED}")
    rule = world.rule("r", "select * from inserted", "t", when="inserted")
    world.now(rule)
    world.do(
        "insert into {s}.t values (1)",
        "alter table {s}.t add column (note string)",
        "insert into {s}.t values (2, 'n')",
    )
    with pytest.raises(QueryChanged, match="begin: 1: it goes on from there"):
        world.now(rule)
    anew = world.rule("r", "select * from inserted", "t", when="inserted", begin="1")
    world.now(anew, full_refresh=True)
    assert world.rows("select id, note from {s}.r order by id") == [(1, None), (2, "n")]
