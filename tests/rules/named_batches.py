"""Cases with a name: which firings go into a batch, and when it is released (rules, section 2)."""

from __future__ import annotations

from datetime import timedelta

from tests.rules.case import COLUMNS, ROWS, A, Act, B, C, Case, Do, Look, seen
from tests.rules.definitions import Action, Row, Rule, Table, deleted, inserted

INSERTED = "select id, k from inserted"
R = Rule("r", INSERTED, ("inserted",))


def wait(seconds: int) -> timedelta:
    """So many seconds."""
    return timedelta(seconds=seconds)


def put(at: int, *rows: Row) -> Do:
    """An insert into t."""
    return Do(at, "", inserted(*rows))


D, E, F, G = (4, 1, 1, "d"), (5, None, 1, "e"), (6, None, 1, "f"), (7, 2, 1, "g")
UNIQUE = (Action("act", unique=True),)
ON_K = (Action("act", unique_on=("k",)),)
GONE = {"gone": "select id as old_id from deleted"}
MERGED = (
    "merge into {s}.t as t using (select * from values (1, 0), (4, 1), (7, 2) as x(id, k)) as x"
    " on t.id = x.id when matched then delete"
    " when not matched then insert (id, k, v, s) values (x.id, x.k, 1, if(x.id = 4, 'd', 'g'))"
)
REMOVE_1, REMOVE_2, REMOVE_3 = (
    "delete from {s}.t where id = 1",
    "delete from {s}.t where id = 2",
    "delete from {s}.t where id = 3",
)

BATCHES = (
    Case(
        "no-unique", (R,), (Action("act"),),
        (put(1, D, G), put(2, E), Look(9), Act(9), Act(9)),
        ((seen(matches=[(4, 1), (7, 2)]), seen(matches=[(5, None)])), ()),
    ),
    Case(
        "unique-null-key", (R,), ON_K,
        (put(1, E), put(2, F, D), Look(9), Act(9)),
        ((seen((None,), 2, matches=[(5, None), (6, None)]), seen((1,), matches=[(4, 1)])),),
    ),
    Case(
        "unique-on-no-rows",
        (Rule("r", INSERTED, ("inserted", "deleted"), conditions=(), evaluate=("matches",)),),
        ON_K,
        (Do(1, REMOVE_1, deleted(A)), Look(3), Act(3), put(4, D), Look(9), Act(9)),
        ((), (seen((1,), matches=[(4, 1)]),)),
    ),
    Case(
        "unique-on-second-table-whole",
        (Rule("r", INSERTED, ("inserted",), GONE, evaluate=("gone",)),), ON_K,
        (Do(1, MERGED, (*deleted(A), *inserted(D, G))), Look(9), Act(9)),
        ((
            seen((1,), matches=[(4, 1)], gone=[(1,)]),
            seen((2,), matches=[(7, 2)], gone=[(1,)]),
        ),),
    ),
    Case(
        "unique-on-second-table-of-its-firings",
        (Rule("r", INSERTED, ("inserted",), {"more": "select v from inserted"},
              evaluate=("more",)),), ON_K,
        (put(1, (4, 1, 10, "")), put(2, (5, 2, 20, "")), put(3, (6, 1, 30, "")), Look(9), Act(9)),
        ((
            seen((1,), 2, matches=[(4, 1), (6, 1)], more=[(10,), (30,)]),
            seen((2,), matches=[(5, 2)], more=[(20,)]),
        ),),
    ),
    Case(
        "unique-on-two-split-tables",
        (Rule("r", INSERTED, ("inserted", "deleted"), {"gone": "select k, v from deleted"},
              conditions=(), evaluate=("matches", "gone")),), ON_K,
        (put(1, D), Do(2, REMOVE_2, deleted(B)), Do(3, REMOVE_3, deleted(C)), Look(9), Act(9)),
        ((
            seen((1,), 2, matches=[(4, 1)], gone=[(1, 20)]),
            seen((2,), matches=[], gone=[(2, None)]),
        ),),
    ),
    Case(
        "unique-on-zero",
        (Rule("r", "select id, d from inserted", ("inserted",)),),
        (Action("act", unique_on=("d",)),),
        (Do(1, "", inserted((1, 0.0), (2, 1.5))), Do(2, "", inserted((3, -0.0))), Look(9), Act(9)),
        ((
            seen((0.0,), 2, matches=[(1, 0.0), (3, 0.0)]),
            seen((1.5,), matches=[(2, 1.5)]),
        ),),
        {"t": Table({"id": "int", "d": "double"})},
    ),
    Case(
        "order-of-keys", (R,), (Action("act", unique_on=("k",), max_batches=1),),
        (put(1, (4, 10, 1, ""), (5, 9, 1, ""), (6, None, 1, "")), Look(9), *[Act(9)] * 4),
        (
            (seen((None,), matches=[(6, None)]),),
            (seen((9,), matches=[(5, 9)]),),
            (seen((10,), matches=[(4, 10)]),),
            (),
        ),
    ),
)  # fmt: skip

A10, B60 = (
    Rule("r", INSERTED, ("inserted",), after=wait(10)),
    Rule("r2", INSERTED, ("inserted",), after=wait(60)),
)
BOTH = (Action("act", ("r", "r2"), unique=True),)
GONE_0 = Rule("r2", "select id, k from deleted", ("deleted",))
GONE_2 = Rule("r2", "select id, k from deleted", ("deleted",), after=wait(1))
RELEASES = (
    Case(
        "release-not-moved", (B60,), (Action("act", ("r2",), unique=True),),
        (
            put(1, D), Look(2, "r2"), Act(2), put(50, E), Look(59, "r2"), Act(60), Act(61), Act(200)
        ),
        ((), (), (seen((), 2, matches=[(4, 1), (5, None)]),), ()),
    ),
    Case(
        "release-not-moved-by-a-shorter-wait",
        (Rule("r", INSERTED, ("inserted",), after=wait(60)), GONE_2), BOTH,
        (
            put(10, D), Look(11), Look(11, "r2"), Act(11), Do(20, REMOVE_1, deleted(A)),
            Look(22), Look(22, "r2"), Act(22), Act(69), Act(70),
        ),
        ((), (), (), (seen((), 2, matches=[(4, 1), (1, 1)]),)),
    ),
    Case(
        "shared-function-same-commit", (A10, B60), BOTH,
        (put(1, D), Look(2), Look(2, "r2"), Act(10), Act(11)),
        ((), (seen((), 2, matches=[(4, 1), (4, 1)]),)),
    ),
    Case(
        "appended-after-release-before-start", (A10,), UNIQUE,
        (put(1, D), Look(2), Act(2), put(20, E), Look(29), Act(30)),
        ((), (seen((), 2, matches=[(4, 1), (5, None)]),)),
    ),
    Case(
        "second-commit-after-start", (A10,), UNIQUE,
        (put(1, D), Look(11), Act(11), put(12, E), Look(13), Act(13), Act(21), Act(22)),
        ((seen((), matches=[(4, 1)]),), (), (), (seen((), matches=[(5, None)]),)),
    ),
    Case(
        "commit-before-start-looked-at-after", (A10,), UNIQUE,
        (put(1, D), Look(2), put(3, E), Act(11), Look(12), Act(12), Act(13)),
        ((seen((), matches=[(4, 1)]),), (), (seen((), matches=[(5, None)]),)),
    ),
    Case(
        "shared-function",
        (R, Rule("r2", "select id, k from deleted", ("deleted",))), BOTH,
        (
            put(1, D), Do(2, REMOVE_1, deleted(A)),
            Do(3, MERGED.replace("(1, 0), (4, 1)", "(2, 0)"), (*deleted(B), *inserted(G))),
            Look(9), Look(9, "r2"), Act(9),
        ),
        ((seen((), 4, matches=[(4, 1), (1, 1), (7, 2), (2, 1)]),),),
    ),
    Case(
        "commit-after-t", (R,), UNIQUE,
        (put(1, D), put(8, E), Look(4), Act(4), Look(9), Act(9)),
        ((seen((), matches=[(4, 1)]),), (seen((), matches=[(5, None)]),)),
    ),
    Case(
        "earlier-t", (R,), UNIQUE,
        (put(1, D), Look(9), Act(9), put(3, E), Look(5), Act(5)),
        ((seen((), matches=[(4, 1)]),), (seen((), matches=[(5, None)]),)),
    ),
    Case(
        "first-run-before-a-commit", (R,), UNIQUE,
        (put(5, D), Look(3), Act(3), Look(9), Act(9)),
        ((), (seen((), matches=[(4, 1)]),)),
    ),
    Case(
        "begin-at-a-later-version",
        (Rule("r", INSERTED, ("inserted",), begin="3"),), UNIQUE,
        (put(1, D), Look(2), Act(2), put(3, E), put(4, F), Look(5), Act(5)),
        ((), (seen((), matches=[(6, None)]),)),
    ),
    Case(
        "begin-now",
        (Rule("r", INSERTED, ("inserted",), begin="now"),), UNIQUE,
        (put(1, D), Look(2), Act(2), put(3, E), Look(4), Act(4)),
        ((), (seen((), matches=[(5, None)]),)),
    ),
    Case(
        "begin-earliest",
        (Rule("r", INSERTED, ("inserted",), begin="earliest"),), UNIQUE,
        (put(1, D), Look(2), Act(2)),
        ((seen((), 2, matches=[(1, 1), (2, 1), (3, 2), (4, 1)]),),),
    ),
)  # fmt: skip

FAILING = {
    "unique_on": ("k",), "attempts": 2, "backoff": timedelta(0),
}  # fmt: skip
FAILS = frozenset({(1,)})
D2, D3 = (8, 1, 1, ""), (9, 1, 1, "")
FAILURES = (
    Case(
        "failed-frozen", (R,), (Action("act", **FAILING),),  # type: ignore[arg-type]
        (
            put(1, D, G), Look(2), Act(2, failing=FAILS), put(3, D2), Look(4), Act(4), Act(5),
        ),
        (
            (seen((2,), matches=[(7, 2)]),),
            (seen((1,), matches=[(4, 1)]),),
            (seen((1,), matches=[(8, 1)]),),
        ),
    ),
    *(
        Case(
            f"dead-{on_dead}",
            (R,),
            (Action("act", on_dead=on_dead, **FAILING),),  # type: ignore[arg-type]
            (
                put(1, D), Look(2), Act(2, failing=FAILS), Act(3, failing=FAILS),
                put(4, D2, G), Look(5), Act(5), put(6, D3), Look(7), Act(7),
            ),
            ((), (), *after),
        )
        for on_dead, after in (
            ("continue", (
                (seen((1,), matches=[(8, 1)]), seen((2,), matches=[(7, 2)])),
                (seen((1,), matches=[(9, 1)]),),
            )),
            ("block", ((seen((2,), matches=[(7, 2)]),), ())),
        )
    ),
    Case(
        "retry-on-t", (R,), (Action("act", unique=True, attempts=2, backoff=wait(600)),),
        (put(1, D), Look(2), Act(2, failing=frozenset({()})), Act(601), Act(602)),
        ((), (), (seen((), matches=[(4, 1)]),)),
    ),
)  # fmt: skip


def clock(**config: object) -> tuple[Action, ...]:
    """An action with batches that close by the clock."""
    return (Action("act", batching="by_clock", **config),)  # type: ignore[arg-type]


FIRST, SECOND, THIRD = (4, 1, 1, ""), (5, 1, 1, ""), (6, 1, 1, "")
BURST = (put(1, FIRST), put(10, SECOND), put(11, THIRD), put(12, G))
BY_CLOCK = (
    *(
        Case(
            f"by-clock-{name}", (A10,), clock(unique=True), steps,
            tuple(
                tuple(seen((), len(rows), matches=rows) for rows in run) for run in executed
            ),
        )
        for name, steps, executed in (
            ("at-once", (*BURST, Look(30), Act(30)),
             ([[(4, 1), (5, 1)], [(6, 1), (7, 2)]],)),
            ("in-time", (BURST[0], Look(2), Act(2), BURST[1], Look(10), Act(10), BURST[2], Look(11),
                         Act(11), BURST[3], Look(20), Act(20), Look(21), Act(21)),
             ([], [], [[(4, 1), (5, 1)]], [], [[(6, 1), (7, 2)]])),
            ("looked-at-late", (BURST[0], Look(2), *BURST[1:], Act(30), Look(30), Act(30)),
             ([], [[(4, 1), (5, 1)], [(6, 1), (7, 2)]])),
            ("looked-at-in-part", (*BURST, Look(11), Act(30), Look(12), Act(30)),
             ([[(4, 1), (5, 1)]], [[(6, 1), (7, 2)]])),
        )
    ),
    Case(
        "by-clock-not-released", (A10,), clock(unique=True),
        (*BURST, Look(20), Act(20), Act(21)),
        ((seen((), 2, matches=[(4, 1), (5, 1)]),), (seen((), 2, matches=[(6, 1), (7, 2)]),)),
    ),
    Case(
        "by-clock-on-comp", (A10,), clock(unique_on=("k",)),
        (
            put(1, FIRST), put(5, G, E), put(11, SECOND), put(14, (8, 2, 1, "")),
            put(15, (9, 2, 1, ""), F), Look(40), Act(40),
        ),
        ((
            seen((1,), matches=[(4, 1)]),
            seen((None,), matches=[(5, None)]),
            seen((2,), 2, matches=[(7, 2), (8, 2)]),
            seen((1,), matches=[(5, 1)]),
            seen((None,), matches=[(6, None)]),
            seen((2,), matches=[(9, 2)]),
        ),),
    ),
    Case(
        "by-clock-most", (A10,), clock(unique_on=("k",), max_batches=2),
        (put(1, FIRST), put(2, G), put(11, SECOND), Look(40), Act(40), Act(40)),
        (
            (seen((1,), matches=[(4, 1)]), seen((2,), matches=[(7, 2)])),
            (seen((1,), matches=[(5, 1)]),),
        ),
    ),
    Case(
        "ts-ties", (R, GONE_0), clock(rules=("r", "r2"), unique=True),
        (put(3, FIRST), put(3, SECOND),
         Do(3, MERGED.replace("(1, 0), (4, 1)", "(1, 0)"), (*deleted(A), *inserted(G))),
         Look(9), Look(9, "r2"), Act(9)),
        ((
            seen((), matches=[(4, 1)]),
            seen((), matches=[(5, 1)]),
            seen((), 2, matches=[(7, 2), (1, 1)]),
        ),),
    ),
    Case(
        "ts-ties-of-two-tables", (R, Rule("r2", INSERTED, ("inserted",), after=wait(5), on="u")),
        clock(rules=("r", "r2"), unique=True),
        (
            put(3, FIRST), Do(3, "", inserted(SECOND), "u"), Do(4, "", inserted(THIRD), "u"),
            put(9, D2), Do(9, "", inserted(D3), "u"), Look(20), Look(20, "r2"), Act(20),
        ),
        ((
            seen((), matches=[(4, 1)]),
            seen((), 2, matches=[(5, 1), (6, 1)]),
            seen((), matches=[(8, 1)]),
            seen((), matches=[(9, 1)]),
        ),),
        {"t": Table(COLUMNS, ROWS), "u": Table(COLUMNS)},
    ),
    Case(
        "ts-ties-at-the-release", (A10,), clock(unique=True),
        (put(1, FIRST), put(1, SECOND), put(11, THIRD), put(11, G), Look(40), Act(40)),
        ((
            seen((), 2, matches=[(4, 1), (5, 1)]),
            seen((), 2, matches=[(6, 1), (7, 2)]),
        ),),
    ),
    Case(
        "by-clock-of-two-rules", (A10, GONE_2), clock(rules=("r", "r2"), unique=True),
        (
            put(1, FIRST), Do(4, REMOVE_1, deleted(A)), Do(11, REMOVE_2, deleted(B)),
            put(12, SECOND), put(13, THIRD), Look(40), Look(40, "r2"), Act(40),
        ),
        ((
            seen((), 2, matches=[(4, 1), (1, 1)]),
            seen((), matches=[(2, 1)]),
            seen((), 2, matches=[(5, 1), (6, 1)]),
        ),),
    ),
    *(
        Case(
            f"by-clock-{name}", (A10,),
            clock(unique_on=("k",), attempts=2, backoff=timedelta(0), on_dead=on_dead),
            (
                put(1, FIRST, G), put(11, SECOND), put(21, THIRD), Look(40),
                Act(40, failing=FAILS), put(50, D3), Look(61), *acts,
            ),
            ((seen((2,), matches=[(7, 2)]),), *after),
        )
        for name, on_dead, acts, after in (
            ("those-behind-wait-as-cut", "block", (Act(61), Act(62)), (
                (
                    seen((1,), matches=[(4, 1)]), seen((1,), matches=[(5, 1)]),
                    seen((1,), matches=[(6, 1)]),
                ),
                (seen((1,), matches=[(9, 1)]),),
            )),
            ("dead-blocks-those-behind", "block", (Act(61, failing=FAILS), Act(62)), ((), ())),
            ("dead-lets-those-behind-go", "continue",
             (Act(61, failing=FAILS), Act(62), Act(63)),
             (
                (), (seen((1,), matches=[(5, 1)]), seen((1,), matches=[(6, 1)])),
                (seen((1,), matches=[(9, 1)]),),
            )),
        )
    ),
    Case(
        "by-clock-each-firing", (A10,), clock(),
        (*BURST, Look(40), Act(40)),
        (tuple(seen(matches=[row]) for row in ((4, 1), (5, 1), (6, 1), (7, 2))),),
    ),
)  # fmt: skip
