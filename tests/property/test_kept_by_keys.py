"""What is kept by keys against full recomputation: two versions of all tables, and two instants.

Of each random query and change: the rows of the keys that can differ are taken from the old answer
and those of the new version added; the bag must be the new answer (maintained, sections 1 to 3).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import pytest
from tests.marks import more
from tests.property.test_lifted_arms import CATALOG, LAST, TEMPLATES, at, random_case
from tests.seeds import seeds

from tapestry.errors import Refusal
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.look.static_answer import static_answer
from tapestry.sql.operators.block import NotComparedError
from tapestry.sql.operators.compare_versions import (
    KeptQuery,
    Texts,
    compare,
    keep_by_keys,
)
from tapestry.sql.operators.texts import Between, SourceVersions
from tapestry.sql.read.read_query import read
from tapestry.sql.scan import Scan

CASES = 150
Rows = Mapping[str, list[tuple[Any, ...]]]
KINDS = {"int": "INTEGER", "timestamp": "TIMESTAMPTZ"}
MORE = (
    "SELECT m.id, m.v FROM m WHERE {m}",
    "SELECT m.id, r.v FROM m JOIN r ON r.k = m.k AND {r} WHERE {m}",
    "SELECT m.v, r.v AS w FROM m, r WHERE r.k = m.k AND {r} AND {m}",
    "SELECT m.id, r.id AS r, l.v FROM m LEFT JOIN r ON r.k = m.k AND {r} LEFT JOIN l ON l.k = r.v",
    "SELECT m.id FROM m LEFT JOIN r ON r.k = m.k AND {r} WHERE r.id IS NULL",
    "SELECT r.id FROM m RIGHT JOIN r ON r.k = m.k AND {r} AND {m} WHERE m.id IS NULL",
    "SELECT m.k FROM m LEFT SEMI JOIN r ON r.k = m.k AND {r} WHERE {m}",
    "SELECT m.k, m.v FROM m LEFT ANTI JOIN r ON r.k = m.k AND {r} WHERE {m}",
    "SELECT m.k, count(*) AS c FROM m LEFT ANTI JOIN r ON r.k = m.k AND {r} GROUP BY m.k",
    "SELECT m.id FROM m WHERE {m} AND m.k IN (SELECT r.k FROM r WHERE {r})",
    "SELECT m.id FROM m WHERE {m} AND m.k NOT IN (SELECT r.k FROM r WHERE {r} AND r.k IS NOT NULL)",
    "SELECT m.id FROM m WHERE m.k NOT IN (SELECT r.k FROM r WHERE {r})",
    "SELECT m.id FROM m WHERE m.v = 1 OR m.k IN (SELECT r.k FROM r WHERE {r})",
    "SELECT m.id, m.k NOT IN (SELECT r.k FROM r WHERE {r}) AS x FROM m",
    "SELECT m.id FROM m WHERE m.v > (SELECT avg(r.v) FROM r WHERE {r})",
    "SELECT m.id FROM m WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = m.k AND {r} AND NOT EXISTS"
    " (SELECT 1 FROM l WHERE l.k = r.v))",
    "SELECT m.id FROM m WHERE EXISTS (SELECT 1 FROM r LEFT JOIN l ON l.k = r.v WHERE r.k = m.k"
    " AND l.v IS NULL AND {r})",
    "SELECT DISTINCT m.k, r.v FROM m JOIN r ON r.k = m.k WHERE {m} AND {r}",
    "SELECT l.v, count(*) AS c FROM m LEFT JOIN l ON m.k = l.k WHERE {m} GROUP BY l.v",
    "WITH a AS (SELECT * FROM m), b AS (SELECT k AS c, v AS w, ts FROM a WHERE {b}),"
    " c AS (SELECT b.c, sum(b.w) AS s FROM b GROUP BY b.c) SELECT c.c, c.s, l.v FROM c"
    " LEFT JOIN l ON l.k = c.c",
    "WITH c AS (SELECT m.k, count(*) AS n FROM m WHERE {m} GROUP BY m.k), f AS (SELECT r.id, r.k,"
    " c.n, coalesce(c.n, 0) + r.v AS z FROM r LEFT JOIN c ON c.k = r.k WHERE {r})"
    " SELECT * FROM f",
    "SELECT a.id FROM (SELECT m.id, m.k, m.ts FROM m WHERE {m}) AS a, (SELECT r.k FROM r"
    " WHERE {r} GROUP BY r.k) AS b WHERE a.k = b.k",
    "SELECT m.k, CASE WHEN m.ts + {i} < now() THEN 'overdue' ELSE 'open' END AS s FROM m",
    "SELECT m.k, CASE WHEN max(m.ts) + {i} < now() THEN 1 ELSE 0 END AS s FROM m GROUP BY m.k",
    "SELECT m.id, max(m.ts) OVER (PARTITION BY m.k) + {i} < now() AS s FROM m WHERE {m}",
    "SELECT m.k, count(*) AS c FROM m GROUP BY m.k HAVING count(*) > (SELECT count(*) FROM r"
    " WHERE r.k = m.k AND {r})",
    "SELECT x.s, count(*) AS c FROM (SELECT m.k, sum(m.v) AS s FROM m WHERE {m} GROUP BY m.k) AS x"
    " GROUP BY x.s",
    "SELECT m.k, m.v FROM m WHERE {m} UNION ALL SELECT r.k, r.v FROM r WHERE {r} UNION ALL"
    " SELECT m.k, m.v FROM m",
    "SELECT m.k FROM m WHERE {m} UNION (SELECT r.k FROM r WHERE {r} INTERSECT SELECT l.k FROM l)",
    "SELECT m.id, r.id AS r FROM m JOIN r ON m.ts < r.ts AND r.ts < m.ts + {i} WHERE {m}",
    "SELECT m.id, n.id AS n FROM m JOIN m AS n ON n.k = m.k AND n.id <> m.id AND {m}",
    "SELECT m.k, m.v, count(*) AS c FROM m WHERE {m} GROUP BY m.k, ROLLUP (m.v)",
    "SELECT m.id, r.id AS r, m.v FROM m FULL JOIN r ON r.k = m.k AND {r}",
    "SELECT m.id, r.v FROM m FULL JOIN r ON r.k = m.k AND r.v = m.v WHERE m.id IS NULL OR {m}",
    "SELECT coalesce(m.k, r.k) AS k, count(*) AS c FROM m FULL JOIN r ON m.k = r.k AND {r}"
    " GROUP BY coalesce(m.k, r.k)",
    "SELECT coalesce(r.k, m.k) AS k, m.v, count(*) AS c FROM m FULL JOIN r ON m.k = r.k AND {m}"
    " GROUP BY coalesce(r.k, m.k), m.v",
    "SELECT m.id, r.id AS r, l.v FROM m JOIN l ON l.k = m.v FULL JOIN r ON r.k = m.k AND {r}",
    "SELECT x.k, x.c, r.id FROM (SELECT m.k, count(*) AS c FROM m WHERE {m} GROUP BY m.k) AS x"
    " FULL JOIN r ON r.k = x.k AND {r}",
    "SELECT DISTINCT coalesce(m.k, r.k) AS k FROM m FULL JOIN r ON m.k = r.k WHERE {m} OR {r}",
)  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A query, the rows of all tables in two versions, and the two instants."""

    sql: str
    old: Rows
    new: Rows
    instants: tuple[int, int]


def random_change(number: int, template: str = "") -> Change:
    """The change of this number: always the same."""
    rng = random.Random(number)
    template = template or rng.choice((*TEMPLATES, *MORE))
    one = random_case(number, template.replace("{b}", "TRUE"))
    new = {}
    for name, rows in one.rows.items():
        other = random_case(number + 1_000_000 + len(name), template.replace("{b}", "TRUE"))
        new[name] = _changed(rng, rows, other.rows[name], rng.choice((0, 0.2, 0.6)))
    first = rng.randint(0, LAST)
    return Change(one.sql, one.rows, new, (first, rng.choice((first, rng.randint(first, LAST)))))


def _changed(
    rng: random.Random, rows: list[tuple[Any, ...]], others: list[tuple[Any, ...]], share: float
) -> list[tuple[Any, ...]]:
    """Rows deleted, updated in a column, doubled; some of another random table added."""
    found: list[tuple[Any, ...]] = []
    for row in rows:
        roll = rng.random() / share if share else 9
        if roll < 0.35:
            continue
        if roll < 0.7 and others:
            place, other = rng.randrange(len(row)), rng.choice(others)
            row = (*row[:place], other[place], *row[place + 1 :])
        found += [row, row] if 0.7 <= roll < 0.8 else [row]
    return found + [row for row in others if share and rng.random() < share / 3]


def loaded(connection: duckdb.DuckDBPyConnection, change: Change) -> dict[str, SourceVersions]:
    """Both versions in the database, and what each table's differ by."""
    found = {}
    for name, source in CATALOG.relations.items():
        assert isinstance(source, Source)
        shape = ", ".join(f"{c.name} {KINDS[c.type]}" for c in source.columns)
        for version, rows in (("old", change.old[name]), ("new", change.new[name])):
            connection.execute(f"CREATE OR REPLACE TABLE {version}_{name} ({shape})")
            for row in rows:
                marks = ", ".join("?" for _ in row)
                connection.execute(f"INSERT INTO {version}_{name} VALUES ({marks})", row)
        texts = [
            f"SELECT * FROM {version}_{name}"
            + (f" WHERE ts <= TIMESTAMPTZ '{at(moment)}'" if source.arrival else "")
            for version, moment in zip(("old", "new"), change.instants, strict=True)
        ]
        found[name] = SourceVersions(
            *texts, f"{texts[0]} EXCEPT ALL {texts[1]}", f"{texts[1]} EXCEPT ALL {texts[0]}"
        )
    return found


def kept(sql: str, catalog: Catalog = CATALOG, wanted: Sequence[int] = ()) -> KeptQuery:
    return keep_by_keys(read(sql, catalog), wanted)


def answer(connection: duckdb.DuckDBPyConnection, change: Change, version: int) -> Counter[Any]:
    """Q over a version at its instant, by the definition."""
    word = ("old", "new")[version]
    scans = {
        name: Scan(f"{word}_{name}", None if name == "l" else "ts", "rowid")
        for name in CATALOG.relations
    }
    text = static_answer(change.sql, CATALOG, at(change.instants[version]), scans, "duckdb")
    return Counter(connection.execute(text).fetchall())


def check(
    connection: duckdb.DuckDBPyConnection, change: Change, wanted: Sequence[int] = ()
) -> tuple[str, int, int]:
    """What became of it: kept or why not; how many arms have a key, of how many."""
    differences = loaded(connection, change)
    before, after = answer(connection, change, 0), answer(connection, change, 1)
    try:
        query = kept(change.sql, wanted=wanted)
        instants = (at(change.instants[0]), at(change.instants[1]))
        sources = {name: without_empty(connection, one) for name, one in differences.items()}
        between = Between(instants, sources)
        texts = [compare(query, arm, between, dialect="duckdb") for arm in query.arms]
    except Refusal as refusal:
        return f"full: {refusal.code}", 0, 0
    except NotComparedError as error:
        return f"full: {error}", 0, 0
    width = len(query.columns)
    for text in texts:
        old, new = rows_of(connection, text, width)
        missing = old - before
        assert not missing, f"{change}\nold rows that are not in the answer: {missing}\n{text.old}"
        before = before - old + new
    assert before == after, f"{change}\nis {before}\nnot {after}\n{texts[0].keys}\n{texts[0].new}"
    return "kept", sum(arm.key is not None for arm in query.arms), len(query.arms)


def without_empty(connection: duckdb.DuckDBPyConnection, one: SourceVersions) -> SourceVersions:
    """The same, a side without rows left out."""
    sides = [text if connection.execute(text).fetchall() else "" for text in (one.minus, one.plus)]
    return SourceVersions(one.old, one.new, *sides)


def rows_of(
    connection: duckdb.DuckDBPyConnection, text: Texts, width: int
) -> tuple[Counter[Any], Counter[Any]]:
    """The old and the new rows of an arm's keys."""
    found = []
    for sql in (text.old, text.new):
        rows = connection.execute(sql).fetchall()
        found.append(Counter(row[:width] for row in rows))
    return found[0], found[1]


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("SELECT m.id FROM m JOIN (r JOIN l ON l.k = r.v) ON r.k = m.k", "a join in parentheses"),
        (
            "SELECT m.id FROM m JOIN r ON r.k = m.k AND EXISTS (SELECT 1 FROM l WHERE l.k = m.v)",
            "a subquery in ON",
        ),
        (
            "SELECT x.k, count(*) AS n FROM (SELECT m.k, count(*) AS c FROM m LEFT JOIN r ON r.k ="
            " m.k AND EXISTS (SELECT 1 FROM l WHERE l.k = m.v) GROUP BY m.k) AS x GROUP BY x.k",
            "a subquery in ON",
        ),
    ],
)
def test_what_is_not_compared_says_so(sql: str, what: str) -> None:
    with pytest.raises(NotComparedError, match=what):
        kept(sql)


NULL_SIDES = (
    "SELECT m.id FROM m WHERE EXISTS (SELECT 1 FROM r LEFT JOIN l ON l.k = r.v WHERE r.k = m.k"
    " AND l.v IS NULL)",
    "SELECT m.id FROM m WHERE NOT EXISTS (SELECT 1 FROM r LEFT JOIN l ON l.k = r.v"
    " WHERE r.k = m.k AND coalesce(l.v, 5) > 4)",
    "SELECT m.id FROM m WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = m.k AND NOT EXISTS"
    " (SELECT 1 FROM r AS s LEFT JOIN l ON l.k = s.v WHERE s.k = r.k AND l.v IS NULL))",
    "SELECT m.id FROM m WHERE m.k IN (SELECT r.k FROM r LEFT JOIN l ON l.k = r.v"
    " WHERE l.v IS NULL AND r.k = m.k)",
    "SELECT m.id, (SELECT count(*) FROM r LEFT JOIN l ON l.k = r.v WHERE r.k = m.k"
    " AND l.v IS NULL) AS n FROM m",
    "SELECT m.k, count(*) AS n FROM m GROUP BY m.k HAVING count(*) <= (SELECT count(*) FROM r"
    " LEFT JOIN l ON l.k = r.v WHERE r.k = m.k AND l.v IS NULL)",
    "SELECT m.id FROM m WHERE EXISTS (SELECT 1 FROM l RIGHT JOIN r ON l.k = r.v WHERE r.k = m.k"
    " AND l.v IS NULL)",
    "SELECT m.id, l.v FROM m LEFT JOIN l ON l.k = m.k WHERE l.v IS NULL AND EXISTS"
    " (SELECT 1 FROM r WHERE r.k = m.k)",
)


@pytest.mark.parametrize("sql", [*NULL_SIDES[:3], *map(more, NULL_SIDES[3:])])
def test_a_row_of_nulls_may_fulfil_what_the_changed_row_does_not(
    sql: str, connection: duckdb.DuckDBPyConnection
) -> None:
    """Where an outer join has no row, also inside of subqueries: every row of it comes and goes."""
    when = at(1)
    still = {
        "m": [(0, 1, 3, when), (1, 2, 3, when)],
        "r": [(0, 1, 2, when), (1, 2, 1, when), (2, 2, 3, when)],
    }
    rows = [(2, 1), (2, None), (1, 7), (3, None)]
    for number in range(2 ** len(rows)):
        chosen = [row for place, row in enumerate(rows) if number >> place & 1]
        for row in chosen:
            fewer = [one for one in chosen if one != row]
            for old, new in ((chosen, fewer), (fewer, chosen)):
                one = Change(sql, {**still, "l": old}, {**still, "l": new}, (5, 5))
                assert check(connection, one)[0] == "kept"


@pytest.mark.parametrize("name", ["exists", "any_match", "forall"])
def test_a_function_over_an_array_is_no_subquery(name: str) -> None:
    sql = f"SELECT m.id, {name}(array(m.k, m.v), x -> x > 1) AS b FROM m"
    catalog = replace(CATALOG, deterministic_functions=frozenset({"any_match"}))
    (arm,) = kept(sql, catalog).arms
    assert arm.key is not None


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect(config={"threads": 1})
    found.execute("SET TimeZone = 'UTC'")
    return found


def test_what_is_kept_by_keys_is_the_answer(connection: duckdb.DuckDBPyConnection) -> None:
    outcomes: Counter[str] = Counter()
    keyed = arms = 0
    for number in seeds(CASES):
        outcome, one, of = check(connection, random_change(number))
        outcomes[outcome] += 1
        keyed, arms = keyed + one, arms + of
    print(outcomes, keyed, arms)
    assert outcomes["kept"] > CASES * 0.8
    assert keyed > arms * 0.6


def may_be_key(sql: str) -> list[int]:
    """The places of the columns that a query may be kept by."""
    found = []
    for place in range(len(read(sql, CATALOG).columns)):
        try:
            kept(sql, wanted=[place])
        except (Refusal, NotComparedError):
            continue
        found.append(place)
    return found


def test_what_is_kept_by_the_key_of_its_author_is_the_answer(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    """Any columns that are not refused as `unique_key`, whether they are unique or not."""
    keyed = 0
    cases = CASES // 3
    for number in seeds(cases):
        change = random_change(number)
        rng, places = random.Random(number), may_be_key(change.sql)
        if places:
            wanted = rng.sample(places, rng.randint(1, len(places)))
            outcome, one, of = check(connection, change, wanted)
            assert outcome != "kept" or one == of
            keyed += outcome == "kept"
    assert keyed > cases * 0.4


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT m.id + 1 AS c FROM m", r"is m.id \+ 1, not a column"),
        ("SELECT count(*) AS c FROM m", r"is COUNT\(\*\), not a column"),
        ("SELECT r.id AS c FROM m LEFT JOIN r ON r.k = m.k", "an outer join may fill with NULL"),
        ("SELECT m.id AS c FROM m FULL JOIN r ON r.k = m.k", "an outer join may fill with NULL"),
        ("SELECT m.id AS c FROM m ORDER BY m.v LIMIT 3", "which rows LIMIT takes"),
        (
            "SELECT m.id AS c, row_number() OVER (PARTITION BY m.k ORDER BY m.v) AS n FROM m",
            "not among the columns of every GROUP BY, PARTITION BY",
        ),
        ("SELECT m.k AS c FROM m UNION ALL SELECT 1 FROM r", "is 1, not a column"),
    ],
)
def test_a_column_that_is_no_key_says_why(sql: str, why: str) -> None:
    with pytest.raises(Refusal, match=f"unique_key: .* {why}") as refused:
        kept(sql, wanted=[0])
    assert refused.value.code == "unique-key"
