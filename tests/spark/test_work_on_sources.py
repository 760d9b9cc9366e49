"""Maintained models over sources on which somebody works, in every way that Delta knows."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.seeds import seeds
from tests.spark.any_tables import AnyTables

from tapestry.runs.kinds.maintained import source_versions

pytestmark = pytest.mark.more

VACUUM = (
    "alter table {t} set tblproperties ('delta.deletedFileRetentionDuration' = '0 seconds')",
    "vacuum {t}",
)
MERGE = (
    "merge into {t} t using (select 1 as id union all select 50) s on t.id = s.id"
    " when matched then update set amount = 70"
    " when not matched then insert (id, cust, amount) values (s.id, 3, 8)"
    " when not matched by source and t.id = 2 then delete"
)
WORK = {
    "insert": ("insert into {t} values (7, 1, 5)",),
    "update": ("update {t} set amount = amount + 1 where cust = 1",),
    "update of nothing": ("update {t} set amount = 0 where id = 99",),
    "update to the same": ("update {t} set amount = amount",),
    "delete": ("delete from {t} where cust = 1",),
    "delete of all": ("delete from {t}",),
    "truncate": ("truncate table {t}",),
    "there and away": ("insert into {t} values (8, 1, 5)", "delete from {t} where id = 8"),
    "merge": (MERGE,),
    "overwrite": ("insert overwrite {t} select id + 1, cust, amount from {t}",),
    "overwrite by the same": ("insert overwrite {t} select * from {t}",),
    "replace where": ("insert into {t} replace where cust = 1 values (1, 1, 77), (9, 1, 9)",),
    "replace": ("create or replace table {t} using delta as select 1 id, 2 cust, 3 amount",),
    "restore": ("delete from {t} where id < 3", "restore table {t} to version as of {now}"),
    "drop and create": (
        "drop table {t}", "create table {t} using delta as select 4 id, 2 cust, 3 amount",
    ),
    "optimize": ("insert into {t} values (7, 2, 5)", "optimize {t} zorder by (id)"),
    "vacuum": ("update {t} set amount = 9 where id = 2", "optimize {t}", *VACUUM),
    "vacuum of the feed": (
        "alter table {t} set tblproperties ('delta.enableChangeDataFeed' = true)",
        "update {t} set amount = 9 where id = 2", *VACUUM,
    ),
    "feed on": (
        "alter table {t} set tblproperties ('delta.enableChangeDataFeed' = true)",
        "update {t} set amount = 9 where id = 2",
    ),
    "feed on and off": (
        "alter table {t} set tblproperties ('delta.enableChangeDataFeed' = true)",
        "update {t} set amount = 9 where id = 2",
        "alter table {t} set tblproperties ('delta.enableChangeDataFeed' = false)",
        "update {t} set cust = 2 where id = 3",
    ),
    "deletion vectors": (
        "alter table {t} set tblproperties ('delta.enableDeletionVectors' = true)",
        "delete from {t} where id = 2", "reorg table {t} apply (purge)",
    ),
    "row tracking": (
        "alter table {t} set tblproperties ('delta.enableRowTracking' = true)",
        "update {t} set amount = 9 where id = 2",
    ),
    "clustering": ("alter table {t} cluster by (cust)", "optimize {t}"),
    "new column": (
        "alter table {t} add column note string", "insert into {t} values (7, 1, 5, 'x')",
    ),
    "column away": (
        "alter table {t} set tblproperties ('delta.columnMapping.mode' = 'name')",
        "alter table {t} add column note string", "alter table {t} drop column note",
        "update {t} set amount = 9 where id = 2",
    ),
    "column renamed and back": (
        "alter table {t} set tblproperties ('delta.columnMapping.mode' = 'name')",
        "alter table {t} rename column amount to sum", "update {t} set sum = 9 where id = 2",
        "alter table {t} rename column sum to amount",
    ),
    "wider type": (
        "alter table {t} set tblproperties ('delta.enableTypeWidening' = true)",
        "alter table {t} alter column amount type bigint",
        "insert into {t} values (7, 1, 5000000000)",
    ),
    "constraint and comment": (
        "alter table {t} add constraint positive check (amount > 0)",
        "comment on table {t} is 'orders'", "insert into {t} values (7, 1, 5)",
        "alter table {t} drop constraint positive",  # a column with one cannot be renamed
    ),
    "many commits": tuple(f"insert into {{t}} values ({n}, 1, {n})" for n in range(10, 23)),
    "log cut short": (
        "alter table {t} set tblproperties ('delta.logRetentionDuration' = 'interval 0 seconds',"
        " 'delta.deletedFileRetentionDuration' = 'interval 0 seconds',"
        " 'delta.checkpointInterval' = '2')",
        *(f"insert into {{t}} values ({n}, 1, {n})" for n in range(10, 16)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("feed", [False, True], ids=["plain", "feed"])
@pytest.mark.parametrize("number", seeds(1))
def test_work_on_a_source(
    session: Any, schema: str, monkeypatch: pytest.MonkeyPatch, number: int, feed: bool
) -> None:
    """One work after the other, in any order: after each, every table is the answer."""
    monkeypatch.setattr(source_versions, "HELD", 0)  # the log is read, as of a large table
    odd = AnyTables(session, schema)
    more = f"tblproperties ('delta.enableChangeDataFeed' = {str(feed).lower()})"
    rows = "(1, 1, 10), (2, 1, 20), (2, 1, 20), (3, 2, 30), (4, null, 1)"
    odd.do(
        f"create table {{s}}.odd (id int, cust int, amount int) using delta {more}",
        f"insert into {{s}}.odd values {rows}",
        "create table {s}.names using delta as select 1 as cust, 'a' as name union select 2, 'b'",
    )
    models = odd.kept(
        "select cust, sum(amount) as s, count(*) as n from {s}.odd group by cust",
        "select cust, max(amount) as m from {s}.odd group by cust",
        "select o.id, o.amount, n.name from {s}.odd o left join {s}.names n on n.cust = o.cust",
        "select name from {s}.names n where not exists (select 1 from {s}.odd where cust = n.cust)",
    )
    odd.agree(models, 10)
    works = list(WORK)
    random.Random(number).shuffle(works)
    works.sort(key=lambda work: work == "new column")  # the others name no more columns than these
    for place, work in enumerate(works):
        odd.do(f"insert into {{s}}.odd (id, cust, amount) values {rows}")
        ((now, *_),) = odd.session.rows(f"describe history {odd.schema}.odd limit 1")
        named = (one.replace("{t}", "{s}.odd").replace("{now}", str(now)) for one in WORK[work])
        odd.do(*named)
        try:
            odd.agree(models, 20 + place)
        except Exception as error:
            raise AssertionError(f"after {works[: place + 1][-3:]}") from error
