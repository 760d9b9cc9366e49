"""Titled pairs: a query and the incremental query that it becomes, each pair also executed.

``pairs/*.sql`` holds, for each title, the query and the SQL expected over the window
(2026-01-02, 2026-01-04].  Both are run in DuckDB over the same small tables: the incremental one in
three windows and in one, the query itself at every instant, by the definition.

A line ``-- …`` stands for WITH queries, or branches of the last SELECT, that say nothing of what
the title names.  A WITH query of each kind is shown by some pair.

After a wanted change of the rendering: TAPESTRY_WRITE_PAIRS=1 pytest tests/sql/test_pairs.py, and
read the difference.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path

import duckdb
import pytest
from tests.sql.database import in_utc

from tapestry.sql import Catalog, Column, Scan, Source, Window, rewrite, static_answer

FOLDER = Path(__file__).parent / "pairs"
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
END = START + timedelta(days=6)
WINDOW = Window(START + timedelta(days=1), START + timedelta(days=3))
COLUMNS = (
    Column("id", "int"),
    Column("parent", "int"),
    Column("author", "string"),
    Column("due", "timestamp"),
    Column("ts", "timestamp"),
)
CATALOG = Catalog(
    {
        "messages": Source("messages", COLUMNS, "ts"),
        "authors": Source("authors", (Column("author", "string"), Column("level", "int")), None),
    }
)
SCANS = {
    "messages": Scan("db.messages", "ts", "rowid"),
    "authors": Scan("db.authors", None, "rowid"),
}


LEFT_OUT = "-- …"
BETWEEN = "\nUNION ALL\n"
"""Between the branches of the last SELECT."""


def _read() -> list[tuple[Path, str, str, str]]:
    pairs = []
    for path in sorted(FOLDER.glob("*.sql")):
        for block in re.split(r"^-- title: ", path.read_text(), flags=re.MULTILINE)[1:]:
            title, rest = block.split("\n", 1)
            query, _, expected = rest.partition("-- becomes\n")
            pairs.append((path, title.strip(), query.strip(), expected.strip()))
    return pairs


PAIRS = _read()


def _pieces(sql: str) -> tuple[list[tuple[str, str]], list[str]]:
    """The WITH queries of a text by name, and the branches of its last SELECT."""
    queries = list(re.finditer(r"(?ms)^(?:WITH )?(\w+) AS \(\n.*?^\),?\n", sql))
    rest = sql[queries[-1].end() :] if queries else sql
    return [(query[1], query[0]) for query in queries], rest.split(BETWEEN)


def _shown(rendered: str, expected: str) -> str:
    """What a pair shows of a text: where it leaves something out, only what it has."""
    if LEFT_OUT not in expected:
        return rendered
    queries, branches = _pieces(rendered)
    named, ends = _pieces(expected)
    names = dict(named)
    first = ends.index(LEFT_OUT) if LEFT_OUT in ends else len(ends)
    last = len(branches) - (len(ends) - first - 1)
    shown = [text if name in names else f"{LEFT_OUT}\n" for name, text in queries]
    shown.append(
        BETWEEN.join(
            text if number < first or number >= last else LEFT_OUT
            for number, text in enumerate(branches)
        )
    )
    return re.sub(rf"({LEFT_OUT}\n(UNION ALL\n)?)+(?={LEFT_OUT})", "", "".join(shown))


def rewriting_of(query: str):  # type: ignore[no-untyped-def]
    assume = tuple(re.findall(r"^-- assume: (.*)$", query, flags=re.MULTILINE))
    return rewrite(query, CATALOG, assume=assume)


def test_what_a_pair_leaves_out_another_shows() -> None:
    shown, left_out = set(), set()
    for _, _, query, expected in PAIRS:
        rendered, expected_queries = (
            {re.sub(r"\d+", "", name) for name, _ in _pieces(text)[0]}
            for text in (rewriting_of(query).incremental(WINDOW, SCANS), expected)
        )
        shown |= expected_queries
        left_out |= rendered - expected_queries
    assert left_out
    assert left_out <= shown


def test_parentheses_around_the_first_join_say_nothing() -> None:
    join = "messages m left join messages r on r.parent = m.id"
    with_them, without = (
        rewriting_of(f"select m.id, r.id as reply from {tables}").incremental(WINDOW, SCANS)
        for tables in (f"({join})", join)
    )
    assert with_them == without


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    return filled()


def filled() -> duckdb.DuckDBPyConnection:
    """A database with the small tables."""
    connection = in_utc()
    connection.execute("CREATE SCHEMA db")
    connection.execute(
        "CREATE TABLE db.messages AS SELECT id, parent, author,"
        " CAST(due AS TIMESTAMPTZ) AS due, CAST(ts AS TIMESTAMPTZ) AS ts FROM (VALUES"
        " (1, NULL, 'ann', '2026-01-03 00:00:00', '2026-01-01 06:00:00'),"
        " (2, 1, 'bob', NULL, '2026-01-02 00:00:00'),"
        " (3, 1, 'ann', '2026-01-02 12:00:00', '2026-01-02 18:00:00'),"
        " (4, 2, NULL, '2026-01-05 00:00:00', '2026-01-03 00:00:00'),"
        " (5, 9, 'cid', '2026-01-03 06:00:00', '2026-01-03 06:00:00'),"
        " (6, 4, 'bob', '2026-01-04 00:00:00', NULL),"
        " (7, NULL, 'dan', '2026-01-01 00:00:00', '2026-01-04 00:00:00'),"
        " (8, 7, 'ann', '2026-01-05 00:00:00', '2026-01-04 12:00:00')"
        ") v(id, parent, author, due, ts)"
    )
    connection.execute(
        "CREATE TABLE db.authors AS SELECT * FROM"
        " (VALUES ('ann', 1), ('bob', 2), (NULL, 3)) v(author, level)"
    )
    return connection


@pytest.mark.parametrize("pair", PAIRS, ids=[title for _, title, _, _ in PAIRS])
def test_the_incremental_query_reads_so(pair: tuple[Path, str, str, str]) -> None:
    path, title, query, expected = pair
    rendered = rewriting_of(query).incremental(WINDOW, SCANS)
    if os.environ.get("TAPESTRY_WRITE_PAIRS"):
        _write(path, title, query, _shown(rendered, expected))
        return
    assert _shown(rendered, expected) == expected


@pytest.mark.parametrize("pair", PAIRS, ids=[title for _, title, _, _ in PAIRS])
def test_it_delivers_what_was_ever_an_answer(
    database: duckdb.DuckDBPyConnection, pair: tuple[Path, str, str, str]
) -> None:
    query = pair[2]
    rewriting = rewriting_of(query)
    first: dict[tuple[object, ...], datetime] = {}
    instants = [
        START + timedelta(hours=6 * n, microseconds=us) for n in range(-8, 40) for us in (-1, 0, 1)
    ]
    earliest = datetime(2026, 1, 1, 6, tzinfo=timezone.utc)  # time begins at the first arrival
    for instant in sorted(i for i in instants if earliest <= i <= END):
        text = static_answer(query, CATALOG, instant, SCANS, dialect="duckdb")
        for row in database.execute(text).fetchall():
            first.setdefault(row, instant)
    wanted = Counter((*row, at) for row, at in first.items())
    assert wanted, "a pair without any answer shows nothing"
    for ends in ([END], [START + timedelta(hours=9), START + timedelta(days=2), END]):
        got: Counter[tuple[object, ...]] = Counter()
        for tau, t in zip([None, *ends], ends, strict=False):
            text = rewriting.incremental(Window(tau, t), SCANS, dialect="duckdb")
            got.update(database.execute(text).fetchall())
        assert got == wanted


def _write(path: Path, title: str, query: str, rendered: str) -> None:
    text = path.read_text()
    pattern = rf"(-- title: {re.escape(title)}\n).*?(?=^-- title: |\Z)"
    block = f"-- title: {title}\n{query}\n-- becomes\n{rendered}\n\n"
    path.write_text(re.sub(pattern, lambda _: block, text, flags=re.DOTALL | re.MULTILINE))
