"""The lifted queries of rules against each query evaluated commit by commit, literally."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import duckdb
import pytest
import sqlglot
from tests.seeds import seeds

from tapestry.sql.catalog import Catalog, Column, Source
from tapestry.sql.commits.lift_commits import COMMITS, SINCE, UNTIL, lift_over_commits
from tapestry.sql.commits.transitions import TRANSACTION, TRANSITIONS, transition_sources
from tapestry.sql.read.read_query import read

CASES = 120
COLUMNS = tuple(Column(name, "int") for name in ("id", "k", "v"))
CATALOG = Catalog({
    **transition_sources("t", COLUMNS),
    "s": Source("s", COLUMNS, None),
    "h": Source("h", COLUMNS, None),
})  # fmt: skip
SHAPE = "id INTEGER, k INTEGER, v INTEGER"
ADDED = "execute_order BIGINT, commit_time TIMESTAMP, commit_version BIGINT"
TEMPLATES = (
    "select s.k, s.v as w, old.v as a, new.v as b from s, new, old"
    " where s.k = new.k and new.execute_order = old.execute_order",
    "select * from inserted",
    "select k, count(*) as n, sum(v) as z from {t} group by k",
    "select count(*) as n, sum(v) as z from {t}",
    "select count(*) as n from {t} having count(*) > 1",
    "select distinct k from {t}",
    "select k from {t} union select k from {o}",
    "select k, v from {t} union all select k, v from {t2}",
    "select k from {t} except select k from {o}",
    "select k from {t} intersect select k from {t2}",
    "select {t}.id, {o}.v from {t} left join {o} on {t}.k = {o}.k",
    "select {o}.id, {t}.v from {o} left join {t} on {t}.k = {o}.k",
    "select {t}.id, {o}.v from {t} right join {o} on {t}.k = {o}.k",
    "select {t}.id, {o}.id as i from {t} full join {o} on {t}.k = {o}.k",
    "select s.id, h.v from s left join h on s.k = h.k",
    "select s.id, h.v from s full join h on s.k = h.k and h.v in (select v from {t})",
    "select s.id from s join h on s.k = h.k where s.v > (select count(*) from {t})",
    "select id from {o} where exists (select 1 from {t} where {t}.k = {o}.k)",
    "select id from {t} where not exists (select 1 from {o} where {o}.k = {t}.k)",
    "select id from {t} where k in (select k from {o})",
    "select id from {t} where k not in (select k from {o})",
    "select id from s where k in (select k from h) and v not in (select v from {t} where v > 0)",
    "select id from {t} where v > (select avg(v) from {o})",
    "select id from {t} where v >= (select max(v) from {o} where {o}.k = {t}.k)",
    "select id, (select count(*) from {o} where {o}.k = {t}.k) as n from {t}",
    "select id, v, row_number() over (partition by k order by v nulls first, id nulls first,"
    " execute_order) as r from {t}",
    "select id, sum(v) over (partition by k) as z, count(*) over () as n from {t}",
    "select id, v from {t} order by v nulls first, id nulls first, k nulls first limit 2",
    "select id, v from {o} order by v nulls first, id nulls first, k nulls first limit 2",
    "select k, max(v) as m from {t} group by k order by m desc nulls last, k nulls first limit 1",
    "select x.k, x.n, {o}.v from (select k, count(*) as n from {t} group by k) x"
    " join {o} on {o}.k = x.k",
    "select x.k, x.n, {t}.v from (select k, count(*) as n from s group by k) x"
    " left join {t} on {t}.k = x.k",
    "with a as (select k, sum(v) as z from {t} group by k), b as (select k from {o})"
    " select a.k, a.z from a left join b on a.k = b.k where b.k is null",
    "select a.id, b.id as i from {t} a join {t} b on a.k = b.k and a.id < b.id",
    "select k, execute_order, commit_version from {t} where v > 2 or k is null",
    "select {t}.id from {t} cross join (select count(*) as n from {o}) x where x.n > {t}.v",
    "select 1 as one from {t} where v is null",
    "select k, count(distinct v) as d from {t} group by k having count(*) > 1",
    "select s.id from s left semi join {t} on s.k = {t}.k",
    "select s.id from s left anti join {t} on s.k = {t}.k",
    "select {t}.id from {t} left anti join s on s.k = {t}.k",
    "select s.id from s left anti join h on s.k = h.k",
    "select a.k from (select k from s union select k from {t}) a",
    "select 1 as one",
    "select k, v, count(*) as n from {t} group by grouping sets ((k), (k, v))",
    "select case when exists (select 1 from {t} where v > 3) then id end as i from s",
)


@dataclass(frozen=True)
class Case:
    """A query and a history: rows of each transition table by commit, others as they stand."""

    sql: str
    commits: tuple[int, ...]
    transitions: dict[str, list[tuple[Any, ...]]]
    steady: list[tuple[Any, ...]]
    moving: list[tuple[Any, ...]]


def random_case(number: int) -> Case:
    rng = random.Random(number)

    def row() -> tuple[Any, ...]:
        return tuple(rng.choice((None, 1, 2, 3, 4)) for _ in COLUMNS)

    tables = list(TRANSITIONS)
    first, second = rng.choice(tables), rng.choice(tables)
    other = rng.choice([*tables, "s", "h"])
    while other == first:
        other = rng.choice([*tables, "s", "h"])
    sql = rng.choice(TEMPLATES).format(t=first, t2=second, o=other)
    versions = tuple(sorted(rng.sample(range(5, 30), rng.randint(0, 6))))
    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in tables}
    for version in versions:
        at = f"2026-01-01 00:00:{version:02d}"
        for order in range(1, 1 + rng.choice((0, 1, 1, 2, 4))):
            kind = rng.choice(("inserted", "deleted", "updated"))
            for name in ("old", "new") if kind == "updated" else (kind,):
                found[name].append((*row(), order, at, version))
    moving = []
    for _ in range(rng.randint(0, 6)):
        since, until = sorted(rng.sample(range(0, 40), 2))
        moving.append((*row(), since, until))
    return Case(sql, versions, found, [row() for _ in range(rng.randint(0, 5))], moving)


def loaded(case: Case) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    shapes = dict.fromkeys(TRANSITIONS, f"{SHAPE}, {ADDED}")
    shapes |= {"s": SHAPE, "h": f"{SHAPE}, {SINCE} BIGINT, {UNTIL} BIGINT"}
    rows = {**case.transitions, "s": case.steady, "h": case.moving}
    for name, shape in shapes.items():
        connection.execute(f"CREATE TABLE all_{name} ({shape})")
        for one in rows[name]:
            connection.execute(f"INSERT INTO all_{name} VALUES ({', '.join('?' * len(one))})", one)
    connection.execute("CREATE TABLE commits (v BIGINT)")
    for version in case.commits:
        connection.execute("INSERT INTO commits VALUES (?)", [version])
    return connection


def literally(connection: duckdb.DuckDBPyConnection, case: Case) -> Counter[Any]:
    """One commit after the other."""
    text = sqlglot.transpile(case.sql, read="spark", write="duckdb")[0]
    found: Counter[Any] = Counter()
    for version in case.commits:
        for name in TRANSITIONS:
            connection.execute(
                f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM all_{name}"
                f" WHERE commit_version = {version}"
            )
        connection.execute("CREATE OR REPLACE VIEW s AS SELECT * FROM all_s")
        connection.execute(
            f"CREATE OR REPLACE VIEW h AS SELECT id, k, v FROM all_h"
            f" WHERE {SINCE} <= {version} AND {version} < {UNTIL}"
        )
        found.update((*row, version) for row in connection.execute(text).fetchall())
    return found


def at_once(connection: duckdb.DuckDBPyConnection, case: Case) -> Counter[Any]:
    """All of them in one statement."""
    lifted = lift_over_commits(read(case.sql, CATALOG), ["h"])
    relations = {name: f"SELECT * FROM all_{name}" for name in ("s", "h")}
    for name in TRANSITIONS:
        relations[name] = f"SELECT *, commit_version AS {TRANSACTION} FROM all_{name}"
    relations[COMMITS] = "SELECT v AS _instant FROM commits"
    return Counter(connection.execute(lifted.text(relations, "duckdb")).fetchall())


@pytest.mark.parametrize("number", seeds(CASES))
def test_lifted_queries_are_those_of_each_commit(number: int) -> None:
    case = random_case(number)
    with loaded(case) as connection:
        assert at_once(connection, case) == literally(connection, case), case


@pytest.mark.parametrize("place", range(len(TEMPLATES)))
def test_every_template(place: int) -> None:
    """Each form by itself, over a history of many commits."""
    for number in range(6):
        case = random_case(7_000 + number)
        names = ("new", "inserted", ("s", "h", "deleted")[number % 3])
        sql = TEMPLATES[place].format(t=names[0], t2=names[1], o=names[2])
        case = Case(sql, case.commits, case.transitions, case.steady, case.moving)
        with loaded(case) as connection:
            assert at_once(connection, case) == literally(connection, case), case
