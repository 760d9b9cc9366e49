"""Texts that may stand for much: accepted ones changed at random, and pieces inside of pieces.

Each number is one text, always the same. ``python -m tests.property.mutate FIRST COUNT`` tells
which take more than two seconds of processor time, or end otherwise than they should.
"""

from __future__ import annotations

import random
import sys
import time

from tests.sql.test_pairs import CATALOG, PAIRS, SCANS, START

from tapestry.errors import Refusal
from tapestry.sql import Window, rewrite, static_answer

SECONDS = 2
CONDITIONS = (
    *("now() > due", "now() < ts + interval 1 day", "id = 1", "author is null", "parent in (1, 2)"),
    *("now() between ts and due", "now() in (ts, due)", "date(now()) >= date(due)"),
    *(
        "exists (select 1 from messages r where r.parent = id)",
        "id in (select parent from messages)",
    ),
    *("not exists (select 1 from messages r where r.id = parent and now() < r.due)", "null"),
)
AROUND = (
    *("({0} and {1})", "({0} or {1})", "(not {0})", "(({0}) = ({1}))", "(({0}) <=> ({1}))"),
    *("(({0}) <> ({1}))", "({0}) is null", "({0}) is not true", "coalesce({0}, {1})"),
    *("(case when {0} then {1} else {2} end)", "if({0}, {1}, {2})", "(({0}) in (({1}), ({2})))"),
)
QUERIES = (
    *("select a.id, a.parent, a.author, a.due, a.ts from ({0}) a join ({1}) b on a.id = b.id",),
    *("{0} union all {1}", "{0} union {1}", "({0}) intersect ({1})", "({0}) except ({1})"),
    *(
        "select a.* from ({0}) a left join ({1}) b on a.id = b.parent",
        "select distinct * from ({0}) a",
    ),
    *("select * from ({0}) a where id not in (select id from ({1}) b)", "select * from ({0}) a"),
    *("with c as ({0}) select x.* from c x join c y on x.id = y.id",),
    *("with c as ({0}), d as (select * from c union all select * from c) select * from d",),
)
_WORDS = (
    "(",
    ")",
    ",",
    "and",
    "or",
    "not",
    "=",
    "<=>",
    "<",
    ">",
    "case",
    "end",
    "join",
    "on",
    "from",
)


def condition(rng: random.Random, depth: int) -> str:
    """A condition of at most so many levels."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(CONDITIONS)
    return rng.choice(AROUND).format(*(condition(rng, depth - 1) for _ in range(3)))


def query(rng: random.Random, depth: int) -> str:
    """A query of the columns of ``messages``, of at most so many levels."""
    if depth == 0 or rng.random() < 0.1:
        return f"select * from messages where {condition(rng, rng.randrange(4))}"
    return rng.choice(QUERIES).format(query(rng, depth - 1), query(rng, depth - 1))


def changed(rng: random.Random, sql: str) -> str:
    """A text with some of its words repeated, left out, exchanged, or put in from elsewhere."""
    words = sql.split(" ")
    for _ in range(rng.randrange(1, 4)):
        here, there = sorted(rng.randrange(len(words)) for _ in range(2))
        kind = rng.randrange(4)
        if kind == 0:
            words[here:there] = words[here:there] * rng.choice((0, 2, 3, 20))
        elif kind == 1:
            words.insert(here, " ".join([rng.choice(_WORDS)] * rng.choice((1, 2, 30))))
        elif kind == 2:
            words[here], words[there] = words[there], words[here]
        else:
            words.insert(here, condition(rng, 2))
    return " ".join(words)


def text(number: int) -> str:
    """The text of this number."""
    rng = random.Random(number)
    kind = number % 3
    if kind == 0:
        return changed(rng, rng.choice(PAIRS)[2])
    if kind == 1:
        return f"select id from messages where {condition(rng, rng.randrange(2, 8))}"
    return query(rng, rng.randrange(1, 8))


def end(sql: str) -> str:
    """How a text ends: '' with SQL, else the refusal's reason; anything else is raised."""
    try:
        static_answer(sql, CATALOG, START, SCANS)
        rewriting = rewrite(sql, CATALOG)
        for tau in (None, START):
            rewriting.incremental(Window(tau, START), SCANS, keyed=True)
    except Refusal as refusal:
        return refusal.reason
    return ""


def main(first: int, count: int) -> int:
    """Try many, tell the bad ones, return how many there are."""
    bad = 0
    for number in range(first, first + count):
        begun, what = time.process_time(), ""
        try:
            what = end(text(number))
        except Exception as error:
            what = f"!!! {type(error).__name__}: {error}"
        took = time.process_time() - begun
        if took > SECONDS or what.startswith("!!!"):
            bad += 1
            print(f"{number}: {took:.1f} s {what[:200]}", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]), int(sys.argv[2]))))
