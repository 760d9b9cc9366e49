"""Random queries with aggregates, windows, LIMIT, scalar subqueries, and random data for them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import duckdb

from tapestry.names import ENDED
from tapestry.sql import Catalog, Column, Scan, Source, static_answer
from tapestry.sql.facts import keys
from tapestry.verification.definition import Definition
from tapestry.verification.events import event_instants

BASE = datetime(2026, 1, 5, tzinfo=timezone.utc)
SECOND = timedelta(seconds=1)
TYPES = {"id": "int", "k": "int", "v": "int", "due": "timestamp", "ts": "timestamp"}
COLUMNS = tuple(Column(name, kind) for name, kind in TYPES.items())
CATALOG = Catalog({name: Source(name, COLUMNS, "ts", ends=True) for name in ("m", "r")})
SCANS = {
    name: Scan(name, "_arr", keys.stamped("_rid", "epoch_us(ts)"), late=True)
    for name in CATALOG.relations
}
END = BASE + 40 * SECOND


def connect() -> duckdb.DuckDBPyConnection:
    """A database in UTC."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def load(connection: duckdb.DuckDBPyConnection, rng: random.Random, most: int = 7) -> None:
    """Both tables with up to so many rows: NULLs, ties, twins, late rows, rows that end."""
    for name in CATALOG.relations:
        connection.execute(
            f"CREATE OR REPLACE TABLE {name} (id INT, k INT, v INT, due TIMESTAMPTZ,"
            f" ts TIMESTAMPTZ, _arr TIMESTAMPTZ, {ENDED} TIMESTAMPTZ, _rid INT)"
        )
        row: tuple[Any, ...] = ()
        for number in range(rng.randint(0, most)):
            ts = BASE + rng.randint(0, 12) * SECOND
            if not row or rng.random() > 0.2:
                due = None if rng.random() < 0.15 else ts + rng.randint(-3, 9) * SECOND
                row = (number, rng.choice((1, 1, 2, None)), rng.choice((1, 2, 2, 3, None)), due)
            late = ts + rng.randint(1, 5) * SECOND if rng.random() < 0.2 else ts
            end = late + rng.randint(1, 9) * SECOND if rng.random() < 0.25 else END + 9 * SECOND
            connection.execute(
                f"INSERT INTO {name} VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [*row, ts, late, end, number],
            )


# -- queries ----------------------------------------------------------------------------------
def query(rng: random.Random, depth: int = 2) -> str:
    """One query; its columns are a, b, c."""
    kind = rng.choice(("grouped", "total", "window", "limit", "scalar", "sets", "derived", "set"))
    if kind == "set" and depth:
        both = f"{_side(rng, depth)} {rng.choice(SETS)} {_side(rng, depth)}"
        if rng.random() < 0.3:
            both += f" ORDER BY {rng.choice('abc')} LIMIT {rng.randint(1, 3)}"
        return f"SELECT q.a, q.b, q.c FROM ({both}) AS q" if rng.random() < 0.5 else both
    if kind == "derived" and depth:
        inner = query(rng, depth - 1)
        if rng.random() < 0.3:
            return f"WITH w AS ({inner}) SELECT w.a, n.b, w.c FROM w JOIN w AS n ON n.a = w.a"
        side = rng.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        return (
            f"SELECT m.id AS a, q.b, q.c FROM m {side} ({inner}) AS q ON"
            " CAST(q.a AS STRING) = CAST(m.k AS STRING)"
            f" WHERE {rng.choice(('m.v > 1', 'q.b IS NOT NULL', 'now() < m.due', 'true'))}"
        )
    return BLOCKS.get(kind, _grouped)(rng, depth)


def _side(rng: random.Random, depth: int) -> str:
    texts = ", ".join(f"CAST(q.{name} AS STRING) AS {name}" for name in "abc")
    return f"SELECT {texts} FROM ({query(rng, depth - 1)}) AS q"


SETS = ("UNION ALL", "UNION", "INTERSECT", "EXCEPT")


def _from(rng: random.Random) -> str:
    side = rng.choice(("JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
    on = rng.choice(("m.k = r.k", "m.k = r.k AND r.due <= now()", "m.id = r.id"))
    return rng.choice(("m", "m", f"m {side} r ON {on}"))


def _where(rng: random.Random) -> str:
    return rng.choice(
        (
            "",
            "",
            " WHERE now() < m.due",
            " WHERE now() >= m.ts + INTERVAL 3 SECONDS",
            " WHERE m.v > (SELECT avg(u.v) FROM r AS u WHERE u.k = m.k)",
            " WHERE m.v >= (SELECT count(*) FROM r AS u WHERE u.due > now())",
            " WHERE m.k IN (SELECT u.k FROM r AS u GROUP BY u.k HAVING count(*) > 1)",
            " WHERE m.k NOT IN (SELECT max(u.k) FROM r AS u)",
            " WHERE EXISTS (SELECT u.k FROM r AS u WHERE u.k = m.k GROUP BY u.k"
            " HAVING max(u.v) > 1)",
            " WHERE NOT EXISTS (SELECT 1 FROM r AS u HAVING count(*) > 1)",
            " WHERE m.id IN (SELECT u.id FROM r AS u ORDER BY u.v DESC LIMIT 2)",
            " WHERE m.due = (SELECT u.due FROM r AS u ORDER BY u.due DESC, u.id LIMIT 1)",
            " WHERE EXISTS (SELECT 1 FROM r AS u LIMIT 1 OFFSET 1)",
        )
    )


AGGREGATES = (
    "count(*)",
    "count(1)",
    "count(m.v)",
    "sum(m.v)",
    "max(m.v)",
    "min(m.due)",
    "count(DISTINCT m.v)",
    "count(*) FILTER (WHERE m.due < now())",
    "sum(CASE WHEN now() < m.due THEN 1 ELSE 0 END)",
    "max(m.v) - min(m.v)",
    "coalesce(sum(m.v) FILTER (WHERE m.v > 1), 0)",
    "bool_or(m.due < now())",
    "max(struct(m.v, m.id)).id",
)


def _having(rng: random.Random) -> str:
    return rng.choice(
        (
            "",
            "",
            " HAVING count(*) > 1",
            " HAVING max(m.due) < now()",
            " HAVING max(m.ts) < now() - INTERVAL 5 SECONDS",
            " HAVING now() >= min(m.due) + INTERVAL 2 SECONDS AND count(*) > 0",
            " HAVING now() - max(m.ts) > INTERVAL 4 SECONDS",
            " HAVING count(m.v) >= (SELECT count(*) FROM r AS u)",
            " HAVING coalesce(max(m.due), max(m.ts)) < now()",
            " HAVING max(m.due) - (min(m.due) - min(m.ts)) < now()",
        )
    )


def _grouped(rng: random.Random, _: int) -> str:
    key = rng.choice(("m.k", "m.v", "m.k + 1", "date_trunc('second', m.due)"))
    shown = rng.choice((key, "1"))
    distinct = rng.choice(("", "", "DISTINCT "))
    one, two = rng.choice(AGGREGATES), rng.choice(AGGREGATES)
    if rng.random() < 0.2:
        two = f"rank() OVER (ORDER BY {rng.choice(AGGREGATES[:5])})"
    return (
        f"SELECT {distinct}{shown} AS a, {one} AS b, {two} AS c FROM {_from(rng)}{_where(rng)}"
        f" GROUP BY {key}{_having(rng)}"
    )


def _total(rng: random.Random, _: int) -> str:
    one, two, three = (rng.choice(AGGREGATES) for _ in range(3))
    if rng.random() < 0.2:
        three = "(SELECT max(u.v) FROM r AS u)"
    return (
        f"SELECT {one} AS a, {two} AS b, {three} AS c FROM {_from(rng)}{_where(rng)}{_having(rng)}"
    )


def _sets(rng: random.Random, _: int) -> str:
    sets = rng.choice(
        (
            "ROLLUP (m.k, m.v)",
            "CUBE (m.k, m.v)",
            "GROUPING SETS ((m.k), (m.k, m.v), ())",
            "GROUPING SETS ((m.k, m.v), (m.v))",
            "m.k, m.v WITH ROLLUP",
        )
    )
    last = rng.choice((*AGGREGATES[:6], "grouping(m.k)", "grouping_id(m.k, m.v)"))
    having = rng.choice(("", " HAVING count(*) > 1", " HAVING max(m.due) < now()"))
    return f"SELECT m.k AS a, m.v AS b, {last} AS c FROM m{_where(rng)} GROUP BY {sets}{having}"


def _window(rng: random.Random, _: int) -> str:
    by = rng.choice(("PARTITION BY m.k", "PARTITION BY m.k, m.v", ""))
    order = rng.choice(("m.v", "m.due DESC", "m.v DESC NULLS LAST, m.k", "m.ts"))
    function = rng.choice(
        (
            *("row_number()", "rank()", "dense_rank()", "ntile(2)", "lag(m.v)"),
            *("lead(m.id, 2, 0)", "count(*)", "sum(m.v)", "first_value(m.id)", "lag(m.due)"),
        )
    )
    frame = rng.choice(("", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"))
    if function.split("(")[0] not in ("count", "sum", "first_value"):
        frame = ""
    over = f"OVER ({by} ORDER BY {order}{frame})"
    tail = ""
    if not frame and rng.random() < 0.3:
        over, tail = "OVER w", f" WINDOW w AS ({by} ORDER BY {order})"
    third = rng.choice(("m.v", f"count(*) OVER ({by})"))
    text = f"SELECT m.id AS a, {function} {over} AS b, {third} AS c FROM {_from(rng)}"
    text += _where(rng) + tail
    if rng.random() < 0.3 and "lag(m.due)" not in function:
        return f"SELECT q.a, q.b, q.c FROM ({text}) AS q WHERE q.b <= 2"
    return text


def _limit(rng: random.Random, _: int) -> str:
    order = rng.choice(("m.v", "m.due DESC", "a, b DESC", "m.ts DESC NULLS FIRST, 2"))
    tail = rng.choice(("LIMIT 1", "LIMIT 2", "LIMIT 2 OFFSET 1", "OFFSET 1"))
    if rng.random() < 0.3:
        key = rng.choice(("m.k", "m.v"))
        order = rng.choice(("count(*) DESC", "b, a", "max(m.due)"))
        return (
            f"SELECT {key} AS a, {rng.choice(AGGREGATES)} AS b, 1 AS c FROM {_from(rng)}"
            f"{_where(rng)} GROUP BY {key}{_having(rng)} ORDER BY {order} {tail}"
        )
    if rng.random() < 0.2:
        return f"SELECT DISTINCT m.k AS a, m.v AS b, 0 AS c FROM m ORDER BY b, m.k {tail}"
    return (
        f"SELECT m.k AS a, m.v AS b, m.due AS c FROM {_from(rng)}{_where(rng)}"
        f" ORDER BY {order} {tail}"
    )


def _scalar(rng: random.Random, _: int) -> str:
    sub = rng.choice(
        (
            "SELECT max(u.v) FROM r AS u WHERE u.k = m.k",
            "SELECT count(*) FROM r AS u WHERE u.k = m.k AND u.due < now()",
            "SELECT count(*) FROM r AS u",
            "SELECT sum(u.v) FROM r AS u WHERE u.k = m.k GROUP BY u.k",
            "SELECT u.id FROM r AS u ORDER BY u.due, u.id LIMIT 1",
            "SELECT u.id FROM r AS u WHERE u.k = m.k ORDER BY u.v LIMIT 1",
            "SELECT max(q.n) FROM (SELECT u.k, count(*) AS n FROM r AS u GROUP BY u.k) AS q"
            " WHERE q.k = m.k",
        )
    )
    bound = "(SELECT max(u.ts) FROM r AS u WHERE u.k = m.k)"
    where = rng.choice(
        (
            _where(rng),
            f" WHERE now() - INTERVAL 2 SECONDS > {bound}",
            f" WHERE coalesce({bound}, m.due) < now()",
        )
    )
    return f"SELECT m.id AS a, m.k AS b, ({sub}) AS c FROM {_from(rng)}{where}"


BLOCKS = {
    "grouped": _grouped,
    "total": _total,
    "window": _window,
    "limit": _limit,
    "scalar": _scalar,
    "sets": _sets,
}


# -- the definition, by brute force -----------------------------------------------------------
def definition(sql: str) -> Definition:
    """It, over both tables."""
    return Definition.read(sql, CATALOG, SCANS, "duckdb")


def answers_at(
    connection: duckdb.DuckDBPyConnection, sql: str, s: datetime
) -> Counter[tuple[Any, ...]]:
    """The static answer, by itself."""
    text = static_answer(sql, CATALOG, s, SCANS, "duckdb")
    return Counter(normal(row) for row in connection.execute(text).fetchall())


def normal(row: Sequence[Any]) -> tuple[Any, ...]:
    """Numbers of one value are one number."""
    return tuple(float(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in row)


def threaded(
    connection: duckdb.DuckDBPyConnection, sql: str, moments: Sequence[datetime]
) -> dict[datetime, Counter[tuple[Any, ...]]]:
    """The answers at all of some instants, from one statement."""
    asked = definition(sql)
    ctes = [asked.instants(moments), ("answers", asked.answers())]
    rows = connection.execute(asked.statement(ctes, "SELECT * FROM answers")).fetchall()
    found: dict[datetime, Counter[tuple[Any, ...]]] = {s: Counter() for s in moments}
    for row in rows:
        found[row[-2].astimezone(timezone.utc)][normal(row[:-2])] += 1
    return found


def events(connection: duckdb.DuckDBPyConnection, sql: str) -> list[datetime]:
    """What the verification takes for the event instants."""
    text = event_instants(definition(sql), BASE - SECOND, END)
    return sorted(
        datetime.fromtimestamp(us // 10**6, timezone.utc) + timedelta(microseconds=us % 10**6)
        for (us,) in connection.execute(text).fetchall()
    )
