"""Cases with a name: tables that are written anew, and versions that are compared."""

from __future__ import annotations

from dataclasses import replace

from tests.rules.case import A, Act, B, C, Case, Do, Look, seen
from tests.rules.definitions import Action, Change, Rule, deleted, inserted
from tests.rules.named_cases import OLD_NEW, once

SEED = (
    "(select 1 as id, 1 as k, 11 as v, 'a' as s union all select 3, 2, null, 'c'"
    " union all select 4, 1, 1, 'd')"
)
NEW_ROWS = ((1, 1, 11, "a"), C, (4, 1, 1, "d"))
ALL: tuple[Change, ...] = (*deleted(A, B, C), *inserted(*NEW_ROWS))
OVERWRITE = Do(10, f"insert overwrite {{s}}.t select * from {SEED}", ALL, overwrites=True)
REPLACE = Do(
    10,
    "create or replace table {s}.t using delta tblproperties ('delta.enableChangeDataFeed' = true)"
    f" as select cast(id as int) as id, cast(k as int) as k, cast(v as int) as v, s from {SEED}",
    ALL,
    overwrites=True,
)
RULE = Rule(
    "r", OLD_NEW, ("updated", "inserted"), {"come": "select id from inserted",
    "gone": "select id from deleted"}, conditions=(), evaluate=("come", "gone"), bind_as="matches",
)  # fmt: skip
DIFFER = seen(matches=[(1, 10, 11)], come=[(4,)], gone=[(2,)])
EACH_ROW = seen(matches=[], come=[(1,), (3,), (4,)], gone=[(1,), (2,), (3,)])
OVERWRITES = (
    once("overwrite-is-a-difference", RULE, OVERWRITE, expected=(DIFFER,)),
    once("replace-is-a-difference", RULE, REPLACE, expected=(DIFFER,)),
    once(
        "overwrite-fires-each-row", replace(RULE, on_overwrite="fire"), OVERWRITE,
        expected=(EACH_ROW,),
    ),
    once(
        "overwrite-with-the-same-rows",
        replace(RULE, when=("inserted", "deleted", "updated")),
        Do(10, "insert overwrite {s}.t select * from {s}.t", (*deleted(A, B, C),
           *inserted(A, B, C)), overwrites=True),
        Do(20, "delete from {s}.t where id = 1", deleted(A)),
        expected=(seen(matches=[], come=[], gone=[(1,)]),),
    ),
    Case(
        "restore-is-a-difference",
        (replace(RULE, when=("inserted", "updated", "deleted")),),
        (Action("act", unique=True),),
        (
            Do(10, "update {s}.t set v = 5 where id = 2", (Change(B, (2, 1, 5, "b")),)),
            Do(20, "delete from {s}.t where id = 1", deleted(A)),
            Look(30), Act(30),
            Do(40, "restore table {s}.t to version as of 0",
               (*deleted((2, 1, 5, "b"), C), *inserted(A, B, C)), overwrites=True),
            Look(90), Act(90),
        ),
        (
            (seen((), 2, matches=[(2, 20, 5)], come=[], gone=[(1,)]),),
            (seen((), 1, matches=[(2, 5, 20)], come=[(1,)], gone=[]),),
        ),
    ),
    once(
        "diff-of-versions", replace(RULE, changes="diff"), OVERWRITE,
        Do(20, "optimize {s}.t"),
        Do(30, "update {s}.t set v = v where id = 1", (Change((1, 1, 11, "a"), (1, 1, 11, "a")),)),
        expected=(DIFFER,),
    ),
)  # fmt: skip
