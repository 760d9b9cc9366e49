"""Random cases: commits of one table by SQL, two rules, two actions, runs at random times.

What the product is known to do otherwise has cases with names, and is not drawn here.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.rules.case import COLUMNS, Act, Case, Do, Look
from tests.rules.definitions import Action, Change, Row, Rule, Table

MATCHES = (
    "select o.k, old.v as a, new.v as b from {s}.o as o, new, old"
    " where o.k = new.k and new.execute_order = old.execute_order",
    "select k, id as a, v as b from inserted",
    "select k, v as a, id as b from deleted where v is not null",
    "select distinct k, v as a, v as b from new",
    "select k, v as a, v as b from new union all select k, v, id from old",
    "select k, max(v) as a, min(v) as b from new group by k",
    "select d.k, d.v as a, i.v as b from deleted as d full join inserted as i on d.k = i.k",
    "select new.k, new.v as a, o.w as b from new left join {s}.o as o on o.k = new.k",
    "select k, id as a, v as b from inserted where k not in (select k from deleted)",
    "select k, id as a, v as b from inserted"
    " where exists (select 1 from {s}.o as o where o.k = inserted.k)",
    "select k, id as a, v as b from inserted union select k, id, v from deleted",
    "select 1 as k, max(v) as a, max(id) as b from inserted",
    "select k, id as a, cast(row_number() over (partition by k order by id) as int) as b"
    " from inserted",
    "select k, id as a, v as b from old where v >= (select avg(v) from new)",
    "select k, id as a, cast(commit_version as int) as b from new",
)
"""Queries of k, a and b, whole numbers."""
WHOLE = (
    "select id as was from deleted",
    "select id as was from old where v is null",
    "select o.w as was from {s}.o as o join deleted on o.k = deleted.k",
    "select cast(count(*) as int) as was from new",
)
SPLIT = (
    "select k, id as was from deleted",
    "select k, id as was from new where v > 1",
    "select k, v as was from inserted union all select k, v from deleted",
)
EVENTS = ("inserted", "deleted", "updated", "updated v", "updated k, s", "updated s")
SMALL = (None, 1, 2, 3)


def random_case(number: int) -> Case:
    """The case of a seed."""
    rng = random.Random(number)
    others: dict[str, tuple[str, ...]] = {}
    if rng.random() < 0.6:
        others["gone"] = rng.choice((WHOLE, SPLIT))
    after = timedelta(seconds=rng.choice((0, 0, 5, 30)))
    rules = tuple(
        replace(_rule(rng, name, others), after=after if both else _wait(rng))
        for both in (rng.random() < 0.5,)
        for name in ("r", "r2")
    )
    shared = ("r", "r2") if rules[0].after == rules[1].after else (rng.choice(("r", "r2")),)
    whole = others.get("gone") is WHOLE
    actions = tuple(_action(rng, f"act{place}", shared, whole) for place in (1, 2))
    rows = {one: (one, rng.choice(SMALL), rng.choice(SMALL), "a") for one in (1, 2, 3, 4)}
    beside = tuple((rng.choice(SMALL), place) for place in range(10, 10 + rng.randint(0, 4)))
    tables = {
        "t": Table(COLUMNS, tuple(rows.values())),
        "o": Table({"k": "int", "w": "int"}, beside or ((None, 10),)),
    }
    steps = tuple(_steps(rng, Author(rng, rows), [one.name for one in rules], actions))
    return Case(f"random-{number}", rules, actions, steps, tables=tables)


def _wait(rng: random.Random) -> timedelta:
    return timedelta(seconds=rng.choice((0, 5, 30)))


def _rule(rng: random.Random, name: str, others: dict[str, tuple[str, ...]]) -> Rule:
    """A rule that binds `matches` and these others, some as conditions."""
    ctes = {one: rng.choice(texts) for one, texts in others.items()}
    when = tuple(rng.sample(EVENTS, rng.choice((1, 2, 3))))
    begin = rng.choice(("1", "1", "now", "earliest", "0"))
    rule = Rule(name, rng.choice(MATCHES), when, ctes, begin=begin)
    conditions = tuple(one for one in ("matches", *ctes) if rng.random() < 0.5)
    if conditions == ("matches",) and rng.random() < 0.5:
        return replace(rule, evaluate=tuple(ctes))
    evaluate = tuple(one for one in ("matches", *ctes) if one not in conditions)
    bind_as = None
    if "matches" in evaluate and rng.random() < 0.5:
        evaluate = tuple(one for one in evaluate if one != "matches")
        bind_as = "matches"
    return replace(rule, conditions=conditions, evaluate=evaluate, bind_as=bind_as)


def _action(rng: random.Random, name: str, rules: tuple[str, ...], whole: bool) -> Action:
    """An action; where a bound table is not split there is no `unique_on`."""
    chosen = rules if rng.random() < 0.6 else (rng.choice(rules),)
    how = rng.choice(("each", "unique") if whole else ("each", "unique", "on", "on"))
    batching = rng.choice(("at_start", "by_clock"))
    if how == "unique":
        return Action(name, chosen, unique=True, batching=batching)
    if how == "on":
        return Action(name, chosen, unique_on=("k",), batching=batching)
    return Action(name, chosen, max_batches=rng.choice((200, 2)) if len(chosen) == 1 else 200)


def _steps(
    rng: random.Random, author: Author, rules: list[str], actions: tuple[Action, ...]
) -> list[Do | Look | Act]:
    """Commits, with runs in between; the actions are there as soon as the rules are."""
    steps: list[Do | Look | Act] = []
    now, looked = 0, dict.fromkeys(rules, 0)

    def look(name: str, early: int) -> None:
        looked[name] = max(looked[name], now - early)
        steps.append(Look(looked[name], name))

    for turn in range(3):
        for _ in range(rng.choice((0, 1, 1, 2)) if turn == 0 else rng.choice((2, 3, 4))):
            now += rng.choice((1, 2, 5, 20))
            steps.append(author.commit(now))
        for name in rules:
            if turn in (0, 2) or rng.random() < 0.7:
                look(name, 0 if turn == 0 else rng.choice((0, 0, 0, 3)))
        for one in actions:
            if turn in (0, 2) or rng.random() < 0.7:
                steps.append(Act(now + rng.choice((-5, 0, 0, 4, 30)), one.name))
    for name in rules:
        if looked[name] < now:
            look(name, 0)
    return [*steps, *(Act(now + 1000, one.name) for one in actions)]


class Author:
    """Writes statements over t, and knows what its rows are."""

    def __init__(self, rng: random.Random, rows: dict[int, Row]) -> None:
        self.rng = rng
        self.rows = dict(rows)
        self.last = max(rows)

    def commit(self, at: int) -> Do:
        """A statement with the rows that it changes."""
        ways: tuple[Callable[[], tuple[str, list[Change]]], ...] = (
            self.insert, self.insert, self.update, self.update, self.update,
            self.delete, self.merge, self.merge, self.swap, self.nothing,
        )  # fmt: skip
        sql, changes = self.rng.choice(ways)()
        for one in changes:
            if one.old is not None:
                del self.rows[one.old[0]]
        for one in changes:
            if one.new is not None:
                self.rows[one.new[0]] = one.new
        return Do(at, sql, tuple(changes))

    def new_row(self) -> Row:
        """A row with an id that was never there."""
        self.last += 1
        return (self.last, *self.some())

    def some(self) -> Row:
        """Values of the other columns."""
        return (*(self.rng.choice(SMALL) for _ in range(2)), self.rng.choice(("a", "b", None)))

    def insert(self) -> tuple[str, list[Change]]:
        """Some rows, in one commit."""
        return "", [Change(None, self.new_row()) for _ in range(self.rng.choice((1, 1, 2, 3)))]

    def chosen(self) -> tuple[str, list[Row]]:
        """A condition, and the rows for which it holds."""
        some = self.rng.sample(range(1, self.last + 1), min(2, self.last))
        listed = ", ".join(map(str, some))
        condition, holds = self.rng.choice((
            (f"id in ({listed})", lambda row: row[0] in some),
            (f"id = {some[0]}", lambda row: row[0] == some[0]),
            ("k = 1", lambda row: row[1] == 1),
            ("v is null", lambda row: row[2] is None),
            ("true", lambda row: True),
        ))  # fmt: skip
        return condition, [row for row in self.rows.values() if holds(row)]

    def update(self) -> tuple[str, list[Change]]:
        """Other values, or the same."""
        condition, rows = self.chosen()
        assigned, made = self.rng.choice((
            ("v = v + 1", lambda i, k, v, s: (i, k, None if v is None else v + 1, s)),
            ("v = v", lambda i, k, v, s: (i, k, v, s)),
            ("v = null", lambda i, k, v, s: (i, k, None, s)),
            ("v = 2", lambda i, k, v, s: (i, k, 2, s)),
            ("k = 3", lambda i, k, v, s: (i, 3, v, s)),
            ("s = 'x'", lambda i, k, v, s: (i, k, v, "x")),
            ("k = v, v = k", lambda i, k, v, s: (i, v, k, s)),
        ))  # fmt: skip
        changes = [Change(row, made(*row)) for row in rows]
        return f"update {{s}}.t set {assigned} where {condition}", changes

    def delete(self) -> tuple[str, list[Change]]:
        """Some rows go, or none."""
        condition, rows = self.chosen()
        return f"delete from {{s}}.t where {condition}", [Change(row, None) for row in rows]

    def merge(self) -> tuple[str, list[Change]]:
        """Rows come, change and go in one commit."""
        there = self.rng.sample(list(self.rows.values()), min(3, len(self.rows)))
        given: list[Row] = []
        changes: list[Change] = []
        for row in there:
            goes = self.rng.random() < 0.3
            other = row if self.rng.random() < 0.3 else (row[0], *self.some())
            other = (other[0], other[1], 0 if goes else other[2], other[3])
            given.append(other)
            changes.append(Change(row, None if other[2] == 0 else other))
        for _ in range(self.rng.choice((0, 1, 2)) if given else 1):
            given.append(self.new_row())
            changes.append(Change(None, given[-1]))
        source = " union all ".join(f"select {_cast(row)}" for row in given)
        return (
            f"merge into {{s}}.t as t using ({source}) as x on t.id = x.id"
            " when matched and x.v = 0 then delete when matched then update set *"
            " when not matched then insert *",
            changes,
        )

    def swap(self) -> tuple[str, list[Change]]:
        """A row is deleted, and the same row is inserted, in one commit."""
        if not self.rows:
            return self.nothing()
        row = self.rng.choice(list(self.rows.values()))
        return (
            f"merge into {{s}}.t as t using (select 'd' as op, {_cast(row)} union all"
            f" select 'i', {_cast(row)}) as x on t.id = x.id and x.op = 'd'"
            " when matched then delete"
            " when not matched then insert (id, k, v, s) values (x.id, x.k, x.v, x.s)",
            [Change(row, None), Change(None, row)],
        )

    def nothing(self) -> tuple[str, list[Change]]:
        """A statement after which all rows are as they were."""
        texts = (
            "optimize {s}.t",
            "delete from {s}.t where id < 0",
            "merge into {s}.t as t using (select -1 as id) as x on t.id = x.id"
            " when matched then update set v = 0",
            "alter table {s}.t set tblproperties ('some' = 'thing')",
        )
        return self.rng.choice(texts), []


def _cast(row: Row) -> str:
    """A row as a select list with the types of t."""
    return ", ".join(
        f"cast({_literal(value)} as {kind}) as {name}"
        for value, (name, kind) in zip(row, COLUMNS.items(), strict=True)
    )


def _literal(value: Any) -> str:
    if value is None:
        return "null"
    return f"'{value}'" if isinstance(value, str) else str(value)
