"""Queries that are too large, and those that can never have an answer."""

from __future__ import annotations

from tests.sql.advice.case import UNASKED, Case, Way, case


def _either(first: int, last: int) -> str:
    return " and ".join(
        f"((id = {n} and due > now()) or (id > {n} and due < now() - interval {n} hours))"
        for n in range(first, last)
    )


def _joins(count: int, table: str = "messages", kind: str = "left join") -> str:
    return " ".join(f"{kind} {table} o{n} on o{n}.id = m.parent + {n}" for n in range(count))


def _some(count: int) -> str:
    return " and ".join(
        f"(now() > m.due + interval {n} hours or exists (select 1 from messages r"
        f" where r.parent = m.id and r.ts > now() - interval {n} hours))"
        for n in range(count)
    )


TWICE = ", ".join(
    f"c{n} as (select a.id, b.parent from c{n - 1} a left join c{n - 1} b on a.id = b.parent)"
    for n in range(1, 6)
)
C0 = "with c0 as (select id, parent from messages)"
BOTH = " and ".join(
    f"(m.parent = {n} or now() > m.due + interval {n} hours or exists"
    f" (select 1 from old o where o.id = m.id + {n} and o.since + interval {n} days > now()))"
    for n in range(3)
)
STEPS = {
    "c0": "select id, parent from messages",
    **{
        f"c{n}": f"select a.id from c{n - 1} a where exists (select 1 from c{n - 1} b"
        " where b.id = a.id)"
        for n in range(1, 12)
    },
}
"""Each step reads the one before it twice: as views, they are 2,048 readings of the first."""
CHAIN = ", ".join(f"{name} as ({query})" for name, query in STEPS.items())

CASES: tuple[Case, ...] = (
    case(
        "too-many-alternatives",
        f"select id from messages where {_either(1, 21)}",
        f"select id from messages where {_either(1, 6)}",
        Way(
            f"select id from first_half where {_either(6, 10)}",
            models={"first_half": f"select id, due from messages where {_either(1, 5)}"},
        ),
        meant=UNASKED,
    ),
    case(
        "too-many-alternatives",
        f"select m.id from messages m {_joins(6, 'old')} where {BOTH}",
        f"select m.id from messages m where {BOTH}",
        meant=UNASKED,
    ),
    case(
        "too-long",
        f"select m.id from messages m {_joins(4, 'old')} where {BOTH}",
        f"select m.id from messages m where {BOTH}",
        meant=UNASKED,
    ),
    case(
        "too-long",
        f"select m.id from messages m {_joins(7)} where m.id in (select id from old)",
        Way(
            f"select m.id from old_ones m {_joins(7)}",
            models={
                "old_ones": "select m.id, m.parent from messages m"
                " where m.id in (select id from old)"
            },
        ),
        f"select m.id from messages m {_joins(7, kind='join')} where m.id in (select id from old)",
        meant=UNASKED,
    ),
    case(
        "too-long",
        f"select m.id from messages m where {_some(6)}",
        f"select m.id from messages m where {_some(3)}",
        meant=UNASKED,
    ),
    case(
        "too-many-joins",
        f"select m.id from messages m {_joins(9, kind='full join')}",
        Way(
            "select id from two",
            models={"two": f"select m.id, m.parent from messages m {_joins(2, kind='full join')}"},
        ),
        f"select m.id from messages m {_joins(9, kind='join')}",
        meant=UNASKED,
    ),
    case(
        "too-many-joins",
        f"select id from messages n where exists (select 1 from messages m {_joins(9, 'old')}"
        " where m.parent = n.id)",
        f"select id from messages n where exists (select 1 from messages m"
        f" {_joins(9, 'old', kind='join')} where m.parent = n.id)",
        meant=UNASKED,
    ),
    case(
        "too-many-joins",
        f"{C0}, {TWICE} select id from c5",
        Way(
            "select id from c1",
            models={
                "c1": "select a.id, b.parent from messages a left join messages b"
                " on a.id = b.parent"
            },
        ),
        meant=UNASKED,
    ),
    case(
        "no-answer",
        "select id from messages where false and now() > ts",
        "select id from messages where now() > ts",
        meant=UNASKED,
    ),
    case(
        "no-answer",
        "select id from messages m join (select distinct parent from messages where"
        " false) q on q.parent = m.id or true",
        "select id from messages",
        meant=UNASKED,
    ),
    case(
        "too-many-ctes",
        f"select id from messages m where exists (with {CHAIN} select 1 from c11)",
        Way("select id from messages m where exists (select 1 from c11)", models=STEPS),
        meant=UNASKED,
    ),
    case(
        "too-costly",
        Way("select id from c11", views=STEPS),
        Way("select id from c11", models=STEPS),
        meant=UNASKED,
    ),
)
