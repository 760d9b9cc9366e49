"""Cases whose rules look at a log of changes: some with a name, and random ones."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from tests.rules.case import COLUMNS, Act, Case, Do, Look, seen
from tests.rules.definitions import Action, At, LogOf, Row, Rule, Table, inserted, updated
from tests.rules.random_cases import MATCHES, SMALL

LOGGED = {**COLUMNS, "tx": "int", "done": "timestamp", "seq": "int", "op": "string"}
MADE = At(-1000)
FIRST: tuple[Row, ...] = (
    (1, 1, 10, "a", 0, MADE, 1, "insert"),
    (2, 1, 20, "b", 0, MADE, 2, "insert"),
    (3, 2, None, "c", 0, MADE, 3, "insert"),
)
PAIRS = (
    "select new.id, old.v as a, new.v as b, new.tx from old, new"
    " where old.execute_order = new.execute_order"
)


def load(at: int, *rows: tuple[Any, ...]) -> Do:
    """A commit of the log: changes as (id, v, tx, seconds, seq, op)."""
    return Do(at, "", inserted(*(
        (id_, 1, v, "z", tx, At(seconds), seq, op) for id_, v, tx, seconds, seq, op in rows
    )))  # fmt: skip


def log_case(name: str, rule: Rule, *steps: Do | Look | Act, expected: Any, **more: Any) -> Case:
    """A case over the log t."""
    return Case(
        name, (rule,), (Action("act"),), steps, expected,
        tables={"t": Table(LOGGED, FIRST), **more},
    )  # fmt: skip


RULE = Rule("r", PAIRS, ("updated v",), log=LogOf())
COUNTED = "select tx, v, (select count(*) from {s}.t) as n from new"
LOGS = (
    log_case(
        "log-two-updates-one-transaction",
        replace(RULE, body=PAIRS.replace("new.tx", "new.execute_order as e")),
        load(10, (1, 12, 1, 5, 2, "update"), (1, 11, 1, 5, 1, "update")),
        Look(90), Act(90),
        expected=((seen(matches=[(1, 10, 11, 1), (1, 11, 12, 2)]),),),
    ),
    log_case(
        "log-many-transactions-in-one-load",
        RULE,
        load(10, (1, 11, 1, 5, 1, "update"), (2, 21, 2, 6, 1, "update"),
             (1, 12, 3, 6, 1, "update")),
        Look(90), Act(90),
        expected=((seen(matches=[(1, 10, 11, 1)]), seen(matches=[(2, 20, 21, 2)]),
                   seen(matches=[(1, 11, 12, 3)])),),
    ),
    log_case(
        "log-late-row-is-a-transaction",
        RULE,
        load(10, (1, 11, 1, 5, 1, "update"), (1, 13, 3, 8, 1, "update")),
        Look(20), Act(20),
        load(30, (2, 21, 1, 5, 2, "update"), (1, 12, 2, 7, 1, "update")),
        Look(90), Act(90),
        expected=(
            (seen(matches=[(1, 10, 11, 1)]), seen(matches=[(1, 11, 13, 3)])),
            (seen(matches=[(2, 20, 21, 1)]), seen(matches=[(1, 11, 12, 2)])),
        ),
    ),
    log_case(
        "log-row-of-the-future",
        RULE,
        load(10, (1, 11, 1, 50, 1, "update"), (2, 21, 2, 5, 1, "update")),
        Look(20), Act(20),
        load(30, (1, 12, 3, 25, 1, "update")),
        Look(40), Act(40), Look(60), Act(60),
        expected=(
            (seen(matches=[(2, 20, 21, 2)]),),
            (seen(matches=[(1, 10, 12, 3)]),),
            (seen(matches=[(1, 12, 11, 1)]),),
        ),
    ),
    log_case(
        "log-deleted-row-is-the-one-before",
        Rule("r", "select id, v from deleted", ("deleted",), log=LogOf()),
        load(10, (1, None, 1, 5, 1, "delete"), (4, 1, 1, 5, 2, "delete")),
        Look(90), Act(90),
        expected=((seen(matches=[(1, 10), (4, 1)]),),),
    ),
    log_case(
        "log-itself-up-to-the-transaction",
        replace(RULE, body=COUNTED),
        load(10, (1, 11, 1, 5, 1, "update"), (2, 21, 2, 6, 1, "update")),
        load(20, (1, 12, 3, 4, 1, "update"), (2, 22, 4, 95, 1, "update")),
        Look(90), Act(90),
        expected=((seen(matches=[(3, 12, 4)]), seen(matches=[(1, 11, 5)]),
                   seen(matches=[(2, 21, 6)])),),
    ),
    log_case(
        "log-other-table-at-the-transaction",
        replace(RULE, body="select id, w from new join {s}.o as o on o.k = new.k"),
        load(10, (1, 11, 1, 15, 1, "update"), (1, 12, 2, 25, 1, "update")),
        Do(20, "update {s}.o set w = 7 where k = 1", updated(((1, 100), (1, 7))), "o"),
        load(30, (1, 13, 3, 18, 1, "update"), (1, 14, 4, 20, 1, "update")),
        Look(90), Act(90),
        expected=((seen(matches=[(1, 100)]), seen(matches=[(1, 100)]), seen(matches=[(1, 7)]),
                   seen(matches=[(1, 7)])),),
        o=Table({"k": "int", "w": "int"}, ((1, 100),)),
    ),
)  # fmt: skip


def random_log_case(number: int) -> Case:
    """The case of a seed: loads of changes, some late and some of the future."""
    rng = random.Random(number)
    rules = tuple(_rule(rng, name) for name in ("r", "r2"))
    actions = tuple(_action(rng, f"act{place}", rules) for place in (1, 2))
    author = LogAuthor(rng)
    now, steps = 0, []
    for turn in range(3):
        for _ in range(rng.choice((0, 1, 2)) if turn == 0 else rng.choice((1, 2, 3))):
            now += rng.choice((1, 5, 20))
            steps.append(author.load(now))
            if rng.random() < 0.3:
                k, w = rng.choice((1, 2, 3)), rng.randint(10, 90)
                steps.append(Do(now + 1, f"insert into {{s}}.o values ({k}, {w})",
                                inserted((k, w)), "o"))  # fmt: skip
                now += 1
        if turn == 0 or rng.random() < 0.8:
            steps += [Look(now, one.name) for one in rules]
            steps += [Act(now + rng.choice((-5, 0, 40)), one.name) for one in actions]
    steps += [Look(now + 100, one.name) for one in rules]
    steps += [Act(now + 1000, one.name) for one in actions]
    tables = {
        "t": Table(LOGGED, FIRST),
        "o": Table({"k": "int", "w": "int"}, ((1, 10), (2, 11), (None, 12))),
    }
    return Case(f"random-log-{number}", rules, actions, tuple(steps), tables=tables)


def _rule(rng: random.Random, name: str) -> Rule:
    when = tuple(rng.sample(("inserted", "deleted", "updated", "updated v", "updated k"), 2))
    return Rule(name, rng.choice(MATCHES), when, begin=rng.choice(("1", "1", "0", "earliest")),
                log=LogOf())  # fmt: skip


def _action(rng: random.Random, name: str, rules: tuple[Rule, ...]) -> Action:
    chosen = tuple(one.name for one in rules) if rng.random() < 0.5 else (rng.choice(rules).name,)
    how = rng.choice(("each", "unique", "on", "on"))
    return Action(name, chosen, how == "unique", ("k",) if how == "on" else ())


class LogAuthor:
    """Writes changes such that no one of them is an update of nothing."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: dict[int, list[tuple[tuple[int, int, int], str]]] = {
            row[0]: [((-1000, 0, row[6]), "insert")] for row in FIRST
        }
        self.transaction = 0
        self.past: list[tuple[int, int, int]] = []

    def load(self, now: int) -> Do:
        """A load with some transactions."""
        rows: list[Row] = []
        for _ in range(self.rng.choice((1, 1, 2, 4))):
            self.transaction += 1
            seconds = now + self.rng.choice((-40, -15, -2, -1, -1, 0, 0, 15))
            tx = self.rng.choice((self.transaction, self.transaction, 500 - self.transaction))
            first = 1
            if self.past and self.rng.random() < 0.15:  # more of a transaction that was loaded
                seconds, tx, first = self.past.pop()
            last = first + self.rng.choice((1, 1, 2, 3))
            rows += [self.change(seconds, tx, seq) for seq in range(first, last)]
            self.past.append((seconds, tx, last))
        if self.rng.random() < 0.5 and rows:
            self.rng.shuffle(rows)
        return Do(now, "", inserted(*rows))

    def change(self, seconds: int, tx: int, seq: int) -> Row:
        """One change: its op fits what was before it and what comes after it."""
        id_ = self.rng.choice((1, 1, 2, 3, 4, 5))
        line, place = self.lines.setdefault(id_, []), (seconds, tx, seq)
        before = [op for at, op in sorted(line) if at < place]
        after = [op for at, op in sorted(line) if at > place]
        ops = ["insert"]
        if before and before[-1] != "delete":
            ops += ["update", "update", "update"]
        if not after or after[0] != "update":
            ops.append("delete")
        op = self.rng.choice(ops)
        line.append((place, op))
        k, v = self.rng.choice(SMALL), self.rng.choice(SMALL)
        return (id_, k, v, self.rng.choice(("a", "b", None)), tx, At(seconds), seq, op)
