"""Cases with a name: what a firing is, and what it binds (rules, section 2)."""

from __future__ import annotations

from tests.rules.case import COLUMNS, A, Act, B, C, Case, Do, Look, seen
from tests.rules.definitions import Action, Rule, Table, deleted, inserted, updated

OLD_NEW = (
    "select new.id, old.v as a, new.v as b from old, new"
    " where old.execute_order = new.execute_order"
)
EACH = (Action("act"),)
SWAP = (
    "merge into {s}.t as t using (select * from values (1, 'd'), (1, 'i') as x(id, op)) as x"
    " on t.id = x.id and x.op = 'd' when matched then delete"
    " when not matched then insert (id, k, v, s) values (1, 1, 10, 'a')"
)
WITHOUT_MATCH = (
    "merge into {s}.t as t using (select 99 as id) as x on t.id = x.id"
    " when matched then update set v = 0"
)


def once(
    name: str, rule: Rule, *done: Do, expected: tuple[object, ...], gap: str = "", **more: object
) -> Case:
    """One look and one act after some commits."""
    steps = (*done, Look(90), Act(90))
    return Case(name, (rule,), EACH, steps, (expected,), gap=gap, **more)  # type: ignore[arg-type]


def do(at: int, sql: str, *changes: tuple[object, ...]) -> Do:
    """A statement over t."""
    return Do(at, sql, tuple(one for part in changes for one in part))  # type: ignore[misc]


FIRINGS = (
    once(
        "updated-other-column",
        Rule("r", "select id from new", ("updated v",)),
        do(10, "update {s}.t set s = 'x' where id = 3", updated((C, (3, 2, None, "x")))),
        do(
            20,
            "update {s}.t set v = if(id = 1, 11, v), s = if(id = 2, 'y', s) where id < 3",
            updated((A, (1, 1, 11, "a")), (B, (2, 1, 20, "y"))),
        ),
        expected=(seen(matches=[(1,), (2,)]),),
    ),
    once(
        "insert-and-delete-no-net",
        Rule("r", "select id, s from inserted", ("inserted",),
             {"gone": "select id, s from deleted"}, evaluate=("gone",)),
        do(10, SWAP, deleted(A), inserted(A)),
        expected=(seen(matches=[(1, "a")], gone=[(1, "a")]),),
    ),
    once(
        "update-same-value",
        Rule("r", OLD_NEW, ("updated",)),
        do(10, "update {s}.t set v = v", updated((A, A), (B, B), (C, C))),
        do(
            20,
            "merge into {s}.t as t using (select 1 as id, 1 as k, 10 as v, 'a' as s union all"
            " select 2, 1, 21, 'b') as x on t.id = x.id when matched then update set *",
            updated((A, A), (B, (2, 1, 21, "b"))),
        ),
        expected=(seen(matches=[(1, 10, 10), (2, 20, 21)]),),
    ),
    once(
        "null-to-value",
        Rule("r", OLD_NEW, ("updated v",)),
        do(10, "update {s}.t set v = null where id = 3", updated((C, C))),
        do(20, "update {s}.t set v = 5 where id = 3", updated((C, (3, 2, 5, "c")))),
        do(30, "update {s}.t set v = null where id = 1", updated((A, (1, 1, None, "a")))),
        expected=(seen(matches=[(3, None, 5)]), seen(matches=[(1, 10, None)])),
    ),
    once(
        "global-aggregate-always-true",
        Rule("r", "select count(*) as n, sum(v) as z from deleted", ("inserted",)),
        do(10, "insert into {s}.t values (4, 1, 1, 'd')", inserted((4, 1, 1, "d"))),
        expected=(seen(matches=[(0, None)]),),
    ),
    once(
        "fires-with-empty-bound",
        Rule("r", "select id from inserted", ("deleted",), {"none": "select id from new"},
             conditions=(), evaluate=("none", "matches")),
        do(10, "delete from {s}.t where id = 1", deleted(A)),
        expected=(seen(matches=[], none=[]),),
    ),
    once(
        "action-without-change",
        Rule("r", "select 1 as one", ("inserted", "deleted", "updated"), conditions=(),
             evaluate=("matches",)),
        do(10, WITHOUT_MATCH),
        do(20, "delete from {s}.t where id = 99"),
        do(30, "optimize {s}.t"),
        do(40, "delete from {s}.t where id = 1", deleted(A)),
        do(50, "update {s}.t set v = 1 where id = 99"),
        expected=(seen(matches=[(1,)]),),
    ),
    once(
        "two-conditions",
        Rule("r", "select id, v from inserted", ("inserted", "deleted"),
             {"big": "select id from inserted where v > 5",
              "gone": "select id from deleted"},
             conditions=("big", "matches"), evaluate=("gone",)),
        do(10, "insert into {s}.t values (4, 1, 1, 'd')", inserted((4, 1, 1, "d"))),
        do(20, "insert into {s}.t values (5, 1, 6, 'e'), (6, 1, 1, 'f')",
           inserted((5, 1, 6, "e"), (6, 1, 1, "f"))),
        do(30, "delete from {s}.t where id = 1", deleted(A)),
        expected=(seen(matches=[(5, 6), (6, 1)], big=[(5,)], gone=[]),),
    ),
    once(
        "key-change-of-one-row",
        Rule("r", "select old.id as a, new.id as b from old join new using (execute_order)",
             ("updated id",)),
        do(10, "update {s}.t set id = 9 where id = 1", updated((A, (9, 1, 10, "a")))),
        expected=(seen(matches=[(1, 9)]),),
    ),
    once(
        "columns-of-the-commit",
        Rule("r", "select id, commit_version, execute_order from deleted", ("deleted",)),
        do(10, "insert into {s}.t values (4, 1, 1, 'd')", inserted((4, 1, 1, "d"))),
        do(20, "delete from {s}.t where id = 4", deleted((4, 1, 1, "d"))),
        expected=(seen(matches=[(4, 2, 1)]),),
    ),
    once(
        "reads-own-table-after",
        Rule("r", "select id, (select count(*) from {s}.t) as n from inserted", ("inserted",)),
        do(10, "insert into {s}.t values (4, 1, 1, 'd')", inserted((4, 1, 1, "d"))),
        do(20, "insert into {s}.t values (5, 1, 1, 'e')", inserted((5, 1, 1, "e"))),
        expected=(seen(matches=[(4, 4)]), seen(matches=[(5, 5)])),
    ),
)  # fmt: skip
JOINED = "select id, w from inserted join {s}.o as o on inserted.k = o.k"
OTHER = Table({"k": "int", "w": "int"}, ((1, 100), (2, 200)))
BESIDE = {"t": Table(COLUMNS, (A, B, C)), "o": OTHER}
OTHERS = tuple(
    Case(
        name,
        (Rule("r", JOINED, ("inserted",)),),
        EACH,
        (
            do(10, "insert into {s}.t values (4, 1, 1, 'd')", inserted((4, 1, 1, "d"))),
            Do(at, "insert into {s}.o values (1, 101)", inserted((1, 101)), "o"),
            do(30, "insert into {s}.t values (5, 1, 1, 'e')", inserted((5, 1, 1, "e"))),
            Look(90),
            Act(90),
        ),
        ((seen(matches=first), seen(matches=[(5, 100), (5, 101)])),),
        BESIDE,
    )
    for name, at, first in (
        ("other-table-as-of-commit", 20, [(4, 100)]),
        ("other-table-tie", 30, [(4, 100)]),
    )
)
