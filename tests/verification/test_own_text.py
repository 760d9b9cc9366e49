"""The author's own text at an instant: only relations and readings of the clock are replaced."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from tapestry.errors import Refusal
from tapestry.sql import Catalog, Column, Scan, Source, View, rewrite
from tapestry.verification.compare_own_text import (
    LARGE,
    LARGEST,
    ask_own_text,
    own_text_statement,
    spread,
)
from tapestry.verification.definition import Definition
from tapestry.verification.own_text import NotReplaced

COLUMNS = (Column("n", "int"), Column("ts", "timestamp"))
NUMBERS = (*COLUMNS, Column("d", "double"), Column("b", "bigint"), Column("m", "decimal(9,2)"))
CATALOG = Catalog(
    {
        "db.one": Source("db.one", COLUMNS, "ts"),
        "db.still": Source("db.still", COLUMNS, None),
        "db.v": View("db.v", "select n, ts from one where n > 1", "db"),
    }
)
SCANS = {"db.one": Scan("db.one", "ts", "n"), "db.still": Scan("db.still", None, "n")}

NAMED = ("now", "current_date", "localtimestamp")
CLOCKS = Catalog(
    {"db.c": Source("db.c", (*COLUMNS, *(Column(name, "timestamp") for name in NAMED)), "ts")}
)
AT = datetime(2026, 1, 1, tzinfo=timezone.utc)
INSTANT = "timestamp_micros(1767225600000000)"


@pytest.mark.parametrize("end", [";", " ;", "\n; -- the end", "; /* now() */ ;"])
def test_nothing_stands_for_a_semicolon(end: str) -> None:
    sql = "select n from db.one where now() > ts"
    plain, ended = (
        own_text_statement(Definition.read(text, CATALOG, SCANS), [AT]) for text in (sql, sql + end)
    )
    assert "".join(ended.split()) == "".join(plain.split())


def _own(sql: str) -> str:
    """What stands of the author's text in the statement that asks it."""
    statement = own_text_statement(Definition.read(sql, CATALOG, SCANS), [AT])
    return statement.partition("FROM (\n")[2].partition("own_rows AS (")[2] or statement


@pytest.mark.parametrize(
    ("sql", "own"),
    [
        (
            "select n from db.one where now() >= ts + interval '2' day '12' hours * 2",
            f"select n from _own0_0 AS `one` where {INSTANT}"
            " >= ts + interval '2' day '12' hours * 2",
        ),
        (
            "select x.n from `db`.`one` x where current_date > x.ts -- today\n;",
            f"select x.n from _own0_0 x where CAST({INSTANT} AS DATE) > x.ts -- today\n",
        ),
        (
            "with one as (select n from db.still) select one.n from one, db.one as o"
            " where 'now()' <> 'db.one' and o.n = one.n",
            "with one as (select n from _own0_0 AS `still`) select one.n from one, _own0_1 as o"
            " where 'now()' <> 'db.one' and o.n = one.n",
        ),
    ],
)
def test_all_else_stays_as_it_is(sql: str, own: str) -> None:
    assert own in _own(sql)


def test_a_view_is_its_text_over_visible_rows() -> None:
    statement = own_text_statement(
        Definition.read("select n from db.v where now() > ts", CATALOG, SCANS), [AT]
    )
    assert f"SELECT n, ts FROM read_1 WHERE _arrival <= {INSTANT}\n" in statement
    assert "select n, ts from _own0_0 AS `one` where n > 1" in statement
    assert "select n from _own0_1 AS `v` where" in statement


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("select db.one.n from db.one", "named with its schema"),
        ("select n from db.one order by ts limit 1", "order of equal rows"),
        ("select n from db.one where `now`() > ts", "now is a name"),
        ("select n from db.one where shop.now() > ts", "now is a name"),
        ("select now() as current_date, n from db.one", "current_date is a name"),
        ("with _own0_0 as (select n from db.one) select n from _own0_0", "a name that the check"),
        ("select n from db.one qualify row_number() over (partition by n order by ts, n) = 1", ""),
    ],
)
def test_what_its_words_do_not_tell_is_not_asked(sql: str, why: str) -> None:
    def ask(statement: str) -> list[str]:
        return pytest.fail("it was asked")

    said, found = ask_own_text(Definition.read(sql, CATALOG, SCANS), [AT], ask)
    assert said.startswith("not asked: ")
    assert why in said
    assert not found


@pytest.mark.parametrize(
    ("sql", "own"),
    [
        (
            "select now, n from db.c as x where x.now > now()",
            f"select now, n from _own0_0 as x where x.now > {INSTANT}\n",
        ),
        (
            "select `current_date` from db.c /* now() */",
            "select `current_date` from _own0_0 AS `c` /* now() */\n",
        ),
        (
            "select 'now()' as a, \"current_date\" as b, n from db.c -- current_date",
            "select 'now()' as a, \"current_date\" as b, n from _own0_0 AS `c` -- current_date\n",
        ),
    ],
)
def test_names_and_texts_like_a_clock_stay(sql: str, own: str) -> None:
    definition = Definition.read(sql, CLOCKS, {"db.c": Scan("db.c", "ts", "n")})
    statement = own_text_statement(definition, [AT])
    assert own in statement


@pytest.mark.parametrize(
    "error", ["PARSE_SYNTAX_ERROR", "INTERNAL_ERROR_ATTRIBUTE_NOT_FOUND", "CAST_INVALID_INPUT"]
)
def test_what_the_engine_does_not_take_is_no_failure(error: str) -> None:
    def ask(statement: str) -> list[str]:
        raise RuntimeError(f"[{error}] no")

    definition = Definition.read("select n from db.one", CATALOG, SCANS)
    said, found = ask_own_text(definition, [AT], ask)
    assert said == f"not asked: the engine says [{error}] no"
    assert not found


def test_a_bare_clock_that_is_a_column_is_not_asked() -> None:
    definition = Definition.read(
        "select localtimestamp, n from db.c", CLOCKS, {"db.c": Scan("db.c", "ts", "n")}
    )
    with pytest.raises(NotReplaced, match="the name of a column"):
        own_text_statement(definition, [AT])


VALUES = {
    **dict.fromkeys(("sum(d)", "avg(d)", "sum(n / 3)", "sum(cast(n as float))"), "refused"),
    **dict.fromkeys(("stddev(n)", "corr(n, n)", "regr_avgx(n, n)", "try_sum(d)"), "refused"),
    **dict.fromkeys(("collect_list(n)", "array_agg(n)", "collect_set(n)", "first(n)"), "refused"),
    **dict.fromkeys(("mode(n)", "percentile_approx(n, 0.5)", "listagg(d)", "rand()"), "refused"),
    **dict.fromkeys(("any_value(d)", "max_by(n, ts)", "min_by(d, ts)"), "not asked"),
    **dict.fromkeys(("avg(b)", "mean(b)", "try_avg(b)", "avg(unix_micros(ts))"), "not asked"),
    **dict.fromkeys(("avg(n) + avg(distinct b)", "avg(b) filter (where n > 1)"), "not asked"),
    **dict.fromkeys(("row_number() over (order by n)", "lag(n) over (order by n)"), "not asked"),
    **dict.fromkeys(("sum(d) over (partition by n)", "avg(d) over (order by n)"), "refused"),
    **dict.fromkeys(("sum(m)", "avg(m)", "avg(n)", "try_avg(n)", "mean(m)", "max(d)"), "asked"),
    **dict.fromkeys(("percentile(d, 0.5)", "sum(b)", "sort_array(collect_list(d))"), "asked"),
    **dict.fromkeys(("rank() over (order by n)", "avg(n) over (partition by ts)"), "asked"),
}
"""Values of an aggregate or a window: what may come out another way the next time is not asked."""


PLACES = ("select", "having", "subquery")


@pytest.mark.parametrize(
    ("value", "how", "place"),
    [
        (value, how, place)
        for value, how in VALUES.items()
        for place in PLACES
        if place != "having" or " over " not in value  # a window stands in no HAVING
    ],
)
def test_what_is_not_the_same_twice_is_not_asked(value: str, how: str, place: str) -> None:
    catalog = Catalog({"db.one": Source("db.one", NUMBERS, "ts")})
    group = "" if "over" in value else " group by ts"
    sql = {
        "select": f"select ts, {value} as v from db.one{group}",
        "having": f"select ts from db.one group by ts having {value} is not null",
        "subquery": f"with a as (select ts, {value} as v from db.one{group}) select v, ts from a",
    }[place]
    asked: list[str] = []

    def ask(statement: str) -> list[str]:
        asked.append(statement)
        return []

    try:
        rewrite(sql, catalog)  # as each run does before it asks
        said, _ = ask_own_text(Definition.read(sql, catalog, SCANS), [AT], ask)
    except Refusal:
        said = "refused"
    assert said.partition(":")[0].partition(" at")[0] == how
    assert bool(asked) == (how == "asked")


@pytest.mark.parametrize(
    ("size", "sampled", "says"),
    [
        (0, True, "asked at 2 instants"),
        (LARGE // 2, True, "asked at 2 instants"),
        (LARGE // 2 + 1, True, "asked at 1 instants"),
        (LARGEST // 2, True, "asked at 1 instants"),
        (LARGEST // 2 + 1, True, "not asked: its sources are larger than 256 MiB"),
        (LARGEST, False, "asked at 2 instants"),
    ],
)
def test_a_sample_asks_little_of_large_sources(size: int, sampled: bool, says: str) -> None:
    scans = {name: replace(scan, size=size) for name, scan in SCANS.items()}
    sql = "select o.n from db.one o join db.still s on s.n = o.n"
    asked: list[str] = []

    def ask(statement: str) -> list[str]:
        asked.append(statement)
        return []

    instants = spread([AT, AT - timedelta(days=1)])
    said, _ = ask_own_text(Definition.read(sql, CATALOG, scans), instants, ask, sampled)
    assert said == says
    assert [statement.count(INSTANT) > 0 for statement in asked] == [True] * (says[0] == "a")
