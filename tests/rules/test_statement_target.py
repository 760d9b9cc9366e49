"""The table that a statement of an action writes; statements that are refused."""

from __future__ import annotations

import pytest

from tapestry.errors import ConfigurationError
from tapestry.runs.kinds.action.statement import written_tables
from tapestry.runs.kinds.action.statement_target import refuse_other_statements, target_of


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("insert into db.t select 1", "db.t"),
        ("INSERT Db.T (a, b) select 1", "db.t"),
        ("insert into table t by name select 1 as a", "t"),
        ("insert overwrite table db.t partition (p = 1) select 1", "db.t"),
        ("insert into db.t replace where p = 1 select 1", "db.t"),
        ("insert into `x y`.`sel``ect` values (1)", "x y.sel`ect"),
        ("insert into `into` select 1", "into"),
        ("with q as (delete), update as (select 1) insert into db.t select 1", "db.t"),
        ("merge with schema evolution into db.t as x using m on true", "db.t"),
        ("merge into db.t using m on true when matched then update set *", "db.t"),
        ("insert into db.t select k::int, v:a.b from matches |> where k > 1", "db.t"),
        ("update db.t set a = 1", "db.t"),
        ("delete from db.t as x where true", "db.t"),
    ],
)
def test_the_target_is_told(text: str, target: str) -> None:
    assert target_of(text) == target
    assert written_tables(f"insert into a select ';'; {text};") == ("a", target)
    refuse_other_statements([text], told=False)


@pytest.mark.parametrize(
    "text", ["insert into identifier('db.t') select 1", "insert overwrite directory '/x' select 1"]
)
def test_where_it_is_not_told_the_author_says_it(text: str) -> None:
    assert target_of(text) is None
    with pytest.raises(ConfigurationError, match="not clear which table"):
        refuse_other_statements([text], told=False)
    refuse_other_statements([text], told=True)


@pytest.mark.parametrize(
    "text",
    [
        "select 1 from matches", "with q as (select 1) select 1", "create table t (a int)",
        "from matches insert into t select a", "set a = 1", "drop table t", "truncate table t",
        "optimize t", "begin insert into t select 1; end", "execute immediate 'insert'",
    ],
)  # fmt: skip
@pytest.mark.parametrize("told", [True, False])
def test_other_statements_are_refused(text: str, told: bool) -> None:
    with pytest.raises(ConfigurationError, match="an action writes rows"):
        refuse_other_statements([text], told)
