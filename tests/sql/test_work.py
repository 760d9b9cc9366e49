"""Short texts that stand for much: each ends soon, with SQL or with what grew."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import threading
from pathlib import Path
from time import thread_time

import pytest
from tests.marks import more
from tests.sql.test_pairs import CATALOG, START

from tapestry.errors import Refusal
from tapestry.sql import (
    Catalog,
    Column,
    Scan,
    Source,
    View,
    Window,
    relation_names,
    rewrite,
    static_answer,
    work,
)
from tapestry.sql.read.read_tokens import LEVELS

SECONDS = 8
"""Of processor time: two on an idle one, which takes longer for the same beside others."""
FROM = "select id from messages where "
SCANS = {
    "messages": Scan("db.messages", "arrived", "rowid", late=True),
    "authors": Scan("db.authors", None, "rowid"),
}
TOO_MUCH = "the query stands for too much"
DEEP_OR_MUCH = f"too deeply|{TOO_MUCH}"


def chained(body: str, count: int, first: str = "select id from messages") -> str:
    """A CTE after the other, each made from the one before it."""
    ctes = [f"c0 as ({first})"]
    ctes += [f"c{n} as ({body.format(p=f'c{n - 1}', n=n)})" for n in range(1, count + 1)]
    return f"with {', '.join(ctes)} select id from c{count}"


def nested(before: str, inside: str, after: str, count: int) -> str:
    """Some text inside of itself."""
    return before * count + inside + after * count


def compared(operator: str, count: int) -> str:
    """``((now() > due) = (now() > …)) = …``."""
    text = "(now() > due)"
    for n in range(1, count):
        text = f"({text} {operator} (now() > due + interval {n} hours))"
    return FROM + text


DOUBLES = {
    "joined": "select a.id from {p} a join {p} b on a.id = b.id",
    "united": "select id from {p} union all select id from {p}",
    "values": "select id from {p} union select id from {p}",
    "looked for": "select id from {p} where id in (select id from {p})",
    "missed": "select id from {p} c where not exists (select 1 from {p} d where d.id = c.id)",
    "stars": "select a.*, b.id as m{n} from {p} a join {p} b on a.id = b.id",
    "added": "select id + id as id from {p}",
}
BY_VALUE = {
    "DISTINCT": ") q",
    "UNION": " union select id from messages) q",
    "INTERSECT": " intersect select id from messages) q",
    "EXCEPT": " except select id from messages where id = 3) q",
}
GROWN = {
    **{f"{name}: {n}": (chained(DOUBLES[name], n), TOO_MUCH) for name in DOUBLES for n in (17, 60)},
    "outer joins": (
        chained("select a.id from {p} a left join {p} b on a.id = b.id", 12),
        "ways to form a row",
    ),
    "conditions compared": (compared("=", 12), "more than 64 alternatives"),
    "and many": (compared("=", 40), TOO_MUCH),
    "with NULLs": (compared("<=>", 12), TOO_MUCH),
    "not": (compared("<>", 40), TOO_MUCH),
    "10,000 ANDs": (FROM + " and ".join(f"id <> {n}" for n in range(10_000)), TOO_MUCH),
    "20,000 sums": (f"select {' + '.join(['id'] * 20_000)} as x from messages", DEEP_OR_MUCH),
    "20,000 ||": (f"select {' || '.join(['author'] * 20_000)} as x from messages", DEEP_OR_MUCH),
    "a long list": (FROM + f"id in ({','.join(map(str, range(60_000)))})", TOO_MUCH),
    "10 MB": (FROM + f"author = '{'x' * 10_000_000}'", "characters, more than"),
    "comments": ("/*" + "x" * 1_000_000 + "*/ select 1 from messages", "characters, more than"),
    "columns": (
        f"select {', '.join(f'id as c{n}' for n in range(20_000))} from messages",
        TOO_MUCH,
    ),
    "parentheses": (FROM + nested("(", "id = 1", ")", 200_000), "too deeply"),
    "open ones": (FROM + "(" * 100_000, "too deeply"),
    "NOT": (FROM + "not " * 20_000 + "id = 1", "too deeply"),
    "signs": (f"select {'- ' * 20_000}id as x from messages", "too deeply"),
    "CASE": (f"select {nested('case when id = 1 then ', 'id', ' end', 5_000)} as x", "too deeply"),
    "functions": (f"select {nested('abs(', 'id', ')', 20_000)} as x from messages", DEEP_OR_MUCH),
    "types": (f"select cast(id as {nested('array<', 'int', '>', 20_000)}) as x", "too deeply"),
    "structs": (f"select cast(id as {nested('struct<a:', 'int', '>', 20_000)}) as x", "too deeply"),
    "typed calls": (f"select {nested('struct(', 'id', ')', 40)} as x from messages", TOO_MUCH),
    "mixed types": (f"select {nested('array(array<int>(', 'id', '))', 14)} as x", TOO_MUCH),
    "dates": (f"select {nested('date(', 'ts', ')', 40)} as x from messages", TOO_MUCH),
    "JOINs without ON": (f"select 1 as x from messages a{' join messages b' * 40}", TOO_MUCH),
    "subqueries": (nested("select id from (", "select id from messages", ") q", 1_000), "deeply"),
    "casts": (f"select id{'::int' * 20_000} as x from messages", DEEP_OR_MUCH),
    "fields": (f"select id{'.a' * 5_000} as x from messages", DEEP_OR_MUCH),
    "elements": (f"select id{'[0]' * 5_000} as x from messages", DEEP_OR_MUCH),
    "lambdas": (f"select {'x -> ' * 5_000}x as x from messages", "too deeply"),
    "arms": (" union all ".join(["select id from messages"] * 5_000), DEEP_OR_MUCH),
    **{
        f"{name} in {name}: {count}": (
            nested(
                "select distinct id from (", "select id from messages where now() > due", end, count
            ),
            TOO_MUCH,
        )
        for name, end in BY_VALUE.items()
        for count in (16, 60)
    },
    **{
        f"{name} in a hint": (f"select /*+ a({text}) */ id from messages", "too deeply|not be read")
        for name, text in {
            "calls": nested("a(", "b", ")", 50_000),
            "open calls": "a(" * 50_000,
            "brackets": "[" * 50_000,
            "types": "cast(1 as " + "array<" * 50_000,
            "CASE": "case when " * 20_000,
            "hints": "/*+ a " * 50_000,
        }.items()
    },
    "a hint deep in brackets": (
        FROM + nested("(", f"exists (select /*+ {nested('a(', 'b', ')', 60)} */ 1 as x)", ")", 60),
        "too deeply",
    ),
    "hints that close brackets": (
        FROM + nested("((/*+ )) */", "id = 1", "))", 20_000),
        "too deeply|not be read",
    ),
    "ANY": (FROM + f"id = {'any ' * 300}1", "too deeply"),
    "SOME": (FROM + f"id = {'some ' * 300}1", "too deeply"),
    "stars": (f"select {', '.join(['*'] * 3_000)} from messages", "are called|" + TOO_MUCH),
    "digits": (FROM + f"now() > ts + interval 1 day * {'9' * 5_000}", "a number has"),
    "digits of a type": (
        f"select cast(id as decimal({'9' * 5_000}, 2)) as x from messages",
        "a number has",
    ),
    **{
        f"an interval of {name}": (FROM + f"now() > ts + interval '{text}' day", "interval is")
        for name, text in {
            "spaces": " " * 400_000,
            "spaces and a sign": " " * 200_000 + "- 1",
            "digits": "9" * 400_000,
            "a fraction": "1." + "9" * 400_000,
            "letters": "1 " + "a" * 400_000,
        }.items()
    },
}
KEPT = {
    **{
        f"{name} in {name}": nested(
            "select distinct id from (", "select id from messages where now() > due", end, count
        )
        for (name, end), count in zip(BY_VALUE.items(), (8, 3, 3, 3), strict=True)
    },
    "a hint": f"select /*+ broadcast({nested('a(', 'b', ')', 20)}) */ id from messages",
    "an interval with spaces": FROM + "now() > ts + interval '  1   day   2 hours '",
    "a text as the size of a type": "select cast(id as decimal('a')) as x from messages where"
    " now() > due union select 1 as x from messages",
    "conditions compared": compared("=", 6),
    "with NULLs": compared("<=>", 3),
    "a list": FROM + f"id in ({','.join(map(str, range(5_000)))})",
    "parentheses": FROM + nested("(", "id = 1", ")", 90),
    "replacements": f"select {nested('replace(', 'author', ', 1, 2)', 75)} as x from messages",
    "functions": f"select {nested('abs(', 'id', ')', 50)} as x from messages",
    "ctes": chained("select id from {p} where id <> 3", 30),
    "subqueries": nested("select id from (", "select id from messages", ") q", 20),
    "arms": " union all ".join(["select id from messages"] * 40),
    "wide arms": " union all ".join(
        f"select id, author, due, {n} as k, 'x{n}' as l from messages" for n in range(100)
    ),
    "wide ctes": chained(
        f"select {', '.join(f'id{n}' for n in range(300))} from {{p}}",
        4,
        f"select {', '.join(f'id as id{n}' for n in range(300))} from messages",
    ).replace("select id from c4", "select * from c4"),
    "branches": f"select case {' '.join(f'when id = {n} then {n}' for n in range(200))} end as x"
    " from messages",
    "JOINs without ON": "select a.id from messages a"
    + "".join(f" join authors b{n}" for n in range(12))
    + " where "
    + " and ".join(f"b{n}.author = a.author" for n in range(12)),
    "||": f"select {' || '.join(['author'] * 480)} as x from messages",
    "subtractions": f"select {' - '.join(['id'] * 100)} as x from messages",
    "columns": f"select {', '.join(f'id as c{n}' for n in range(300))} from messages",
    "joins": "select a.id from messages a"
    + "".join(f" join messages b{n} on b{n}.id = a.id" for n in range(20)),
}


def _ends(sql: str, catalog: Catalog = CATALOG) -> str:
    """The refusal's reason, or '' with the SQL of a run: in time, whatever it is."""
    begun = thread_time()
    try:
        rewriting = rewrite(sql, catalog)
    except Refusal as refusal:
        return refusal.reason if refusal.hint else "no hint"
    finally:
        assert thread_time() - begun < SECONDS
    assert rewriting.incremental(Window(None, START), SCANS)
    return ""


@pytest.mark.parametrize("name", GROWN)
@pytest.mark.parametrize("most", [work.STRANGERS // 10, more(work.STRANGERS)])
def test_what_grows_is_refused_in_time_and_named(
    name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other doors end as soon: what a text reads, and what it says at an instant.

    A tenth of the budget is as good for the reasons, and takes a tenth of the time.
    """
    monkeypatch.setattr(work, "MOST", most)
    sql, reason = GROWN[name]
    assert re.search(reason, _ends(sql))
    for door in (relation_names, lambda text: static_answer(text, CATALOG, START, SCANS)):
        begun = thread_time()
        with contextlib.suppress(Refusal):
            door(sql)
        assert thread_time() - begun < SECONDS


@pytest.mark.parametrize("name", KEPT)
def test_what_does_not_grow_is_kept(name: str) -> None:
    assert _ends(KEPT[name]) == ""


def arms(count: int, columns: int) -> tuple[str, Catalog]:
    """A UNION ALL of arms of one shape, each over a table of its own."""
    listed = (Column("ts", "timestamp"), *(Column(f"c{n}", "string") for n in range(columns)))
    tables = {f"s.t{n}": Source(f"s.t{n}", listed, "ts") for n in range(count)}
    made = ", ".join(f"upper(coalesce(c{n}, 'none')) || '-' as e{n}" for n in range(columns))
    return "\nunion all\n".join(f"(select ts, {made} from {one})" for one in tables), Catalog(
        tables
    )


@pytest.mark.parametrize(
    ("count", "columns"), [pytest.param(80, 20, marks=pytest.mark.more), (300, 2)]
)
def test_many_arms_of_one_shape_are_kept_of_one_s_own_and_refused_of_strangers(
    count: int, columns: int
) -> None:
    sql, catalog = arms(count, columns)
    scans = {name: Scan(name, "ts", "rowid") for name in catalog.relations}
    with work.of_strangers():
        assert TOO_MUCH in _ends(sql, catalog)
    begun = thread_time()
    rewriting = rewrite(sql, catalog)
    assert thread_time() - begun < 3 * SECONDS
    assert len(rewriting.columns) == columns + 1
    assert rewriting.incremental(Window(None, START), scans).count("UPPER(") == count * columns


def test_what_takes_long_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rewrite(*arms(3, 2))
    assert not caplog.records
    monkeypatch.setattr(work, "PATIENCE", 0)
    rewrite(*arms(3, 2))
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    said = record.getMessage()
    assert said.startswith("rewriting the query `(select ts, upper(coalesce(c0, ")
    assert "takes long (so far characters: 100%)" in said


def test_the_columns_of_a_star_are_looked_up_once_each() -> None:
    columns = (Column("arrived", "timestamp"), *(Column(f"C{n}", "int") for n in range(5000)))
    begun = thread_time()
    rewriting = rewrite("select * from wide", Catalog({"wide": Source("wide", columns, "arrived")}))
    assert thread_time() - begun < SECONDS  # over each other's names it took twelve seconds
    assert rewriting.columns == tuple(column.name for column in columns)


def test_views_that_double_each_other_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "MOST", work.STRANGERS)
    views = {"v0": View("v0", "select id from messages")}
    for n in range(1, 30):
        views[f"v{n}"] = View(f"v{n}", DOUBLES["joined"].format(p=f"v{n - 1}", n=n))
    catalog = Catalog({**CATALOG.relations, **views})
    assert TOO_MUCH in _ends("select id from v29", catalog)
    assert _ends("select id from v3", catalog) == ""


def test_a_text_costs_the_same_wherever_it_is_read() -> None:
    """In a deep stack, in a thread, and again: what is counted are nodes, not time."""

    def cost() -> int:
        with work.bounded(KEPT["ctes"]):
            rewrite(KEPT["ctes"], CATALOG)
            return work.spent()

    def deeper(levels: int) -> int:
        return cost() if levels == 0 else deeper(levels - 1)

    costs = [cost(), deeper(400)]
    thread = threading.Thread(target=lambda: costs.append(cost()))
    thread.start()
    thread.join()
    assert len(costs) == 3
    assert len(set(costs)) == 1
    assert 0 < costs[0] < work.STRANGERS / 3


def test_each_text_has_a_budget_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one has cost is nothing to the next, after a refusal too."""
    monkeypatch.setattr(work, "MOST", work.STRANGERS // 10)
    for _ in range(3):
        assert TOO_MUCH in _ends(GROWN["added: 60"][0])
        assert _ends(KEPT["conditions compared"]) == ""
    assert work.spent() == 0
    assert sys.getrecursionlimit() >= work.FRAMES


@pytest.mark.parametrize("stack", [512 * 1024, 8 * 1024 * 1024])
def test_the_deepest_text_fits_on_a_thread_s_stack(stack: int) -> None:
    """dbt rewrites in threads: 8 MiB each, and far less where the C library is another one.

    The process would end without a word: the parser is machine code, which has no limit of its own.
    """
    deepest = {
        name: FROM + nested(before, "id = 1", after, LEVELS - 2)
        for name, before, after in (("parentheses", "(", ")"), ("calls", "abs(", ")"))
    }
    deepest["chain"] = KEPT["||"]
    deepest["fields"] = f"select id{'[0]' * (work.DEEPEST - 20)} as x from messages"
    code = (
        "import sys, threading; from tests.sql.test_work import _ends;"
        f"threading.stack_size({stack}); said = [];"
        "t = threading.Thread(target=lambda: said.extend(map(_ends, sys.argv[1:])));"
        "t.start(); t.join(); print(said)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *deepest.values()],
        capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str([""] * len(deepest))
