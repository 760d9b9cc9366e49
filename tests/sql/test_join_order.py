"""In which order tables are joined: as the author says, else the narrowed one, then the small."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from sqlglot import exp, parse_one

from tapestry.errors import ConfigurationError
from tapestry.sql import Catalog, Column, Rewriting, Scan, Source, Window, rewrite

COLUMNS = tuple(
    Column(name, kind) for name, kind in [("id", "int"), ("parent", "int"), ("ts", "timestamp")]
)
TABLES = ("few", "large", "small")
CATALOG = Catalog(
    {
        **{name: Source(name, COLUMNS, "ts") for name in TABLES},
        "names": Source("names", COLUMNS[:2], None),
    }
)
TAU = datetime(2026, 1, 1, tzinfo=timezone.utc)
WINDOW = Window(TAU, TAU + timedelta(hours=1))
STAR = "select f.id, l.id as l, s.id as s from few f, large l, small s where f.id = l.parent"
BOTH = f"{STAR} and f.parent = s.id"
CHAIN = f"{STAR} and l.id = s.parent"
MIB = 2**20
SIZES = {"few": 8 * MIB, "large": 500 * MIB, "small": MIB, "names": MIB}
AS_WRITTEN = [["f", "l", "s"], ["l", "f", "s"], ["s", "f", "l"]]
OF_CHAIN = [["f", "l", "s"], ["l", "s", "f"], ["s", "l", "f"]]


def scans(
    sizes: dict[str, int], since: datetime | None = None, names: Iterable[str] = TABLES
) -> dict[str, Scan]:
    return {
        name: Scan(name, None if name == "names" else "ts", "rowid", size=sizes[name], since=since)
        for name in names
    }


def orders(
    rewriting: Rewriting, read: dict[str, Scan], few: bool = False, window: Window = WINDOW
) -> list[list[str]]:
    """Of each branch its tables, in the order in which they stand."""
    tree = parse_one(rewriting.incremental(window, read, few=few), dialect="spark")
    tree.set("with_", None)
    return [list(_relations(arm)) for arm in _arms(tree)]


def _arms(query: exp.Expr) -> Iterable[exp.Select]:
    if isinstance(query, exp.Union):
        return [*_arms(query.this), *_arms(query.expression)]
    assert isinstance(query, exp.Select)
    return [query]


def _relations(select: exp.Select) -> Iterable[str]:
    for one in [select.args["from_"], *select.args.get("joins", [])]:
        inner = one.this.this
        yield from _relations(inner) if isinstance(inner, exp.Select) else [one.this.alias_or_name]


@pytest.mark.parametrize("few", [False, True])
def test_of_two_that_are_joined_the_small_one_goes_first(few: bool) -> None:
    rewriting = rewrite(BOTH, CATALOG)
    assert orders(rewriting, scans(dict.fromkeys(SIZES, 0)), few) == AS_WRITTEN
    mended = [["f", "s", "l"], ["l", "f", "s"], ["s", "f", "l"]]
    assert orders(rewriting, scans(SIZES), few) == mended


def test_a_small_table_that_nothing_joins_yet_waits() -> None:
    assert orders(rewrite(CHAIN, CATALOG), scans(SIZES)) == OF_CHAIN


def test_equal_sizes_and_unknown_ones_are_as_written() -> None:
    rewriting = rewrite(BOTH, CATALOG)
    alike = {**SIZES, "large": 1_100_000, "small": 1_200_000}
    assert orders(rewriting, scans(alike)) == AS_WRITTEN
    unknown = {**SIZES, "large": 0}
    assert orders(rewriting, scans(unknown))[0] == ["f", "s", "l"]
    assert orders(rewriting, scans({**SIZES, "small": 0})) == AS_WRITTEN


def test_a_range_makes_a_large_table_small() -> None:
    """An hour and ten minutes of a hundred days are some MiB less than what there is of s."""
    narrow = f"{BOTH} and f.ts <= l.ts + interval 10 minutes"
    sizes = {**SIZES, "small": 4 * MIB}
    rewriting, begin = rewrite(narrow, CATALOG), TAU - timedelta(days=100)
    assert orders(rewriting, scans(sizes))[0] == ["f", "s", "l"]
    assert orders(rewriting, scans(sizes, begin))[0] == ["f", "l", "s"]
    young = scans(sizes, TAU - timedelta(minutes=20))
    assert orders(rewriting, young)[0] == ["f", "s", "l"]
    assert orders(rewrite(BOTH, CATALOG), scans(sizes, begin))[0] == ["f", "s", "l"]


def test_a_memory_is_as_large_as_itself() -> None:
    rewriting, read = rewrite(BOTH, CATALOG), scans(SIZES)
    memory = replace(read["large"], relation="memory", size=MIB // 8)
    assert orders(rewriting.reading({"l": memory}), read)[0] == ["f", "l", "s"]
    assert orders(rewriting, read)[0] == ["f", "s", "l"], "one rendering is not that of the other"


def test_a_table_by_value_is_as_large_as_what_it_is_made_of() -> None:
    query = (
        "select f.id, d.parent as d from few f, (select distinct parent from large) d, small s"
        " where f.id = d.parent and f.parent = s.id"
    )
    text = rewrite(query, CATALOG).incremental(WINDOW, scans(SIZES))
    found = [
        [one.this.alias_or_name for one in [select.args["from_"], *select.args["joins"]]]
        for select in parse_one(text, dialect="spark").find_all(exp.Select)
        if select.args.get("joins")
    ]
    assert [one for one in found if set(one) == {"f", "s", "d"} and one[0] == "f"] == [
        ["f", "s", "d"]
    ]


def test_the_author_s_order_wins() -> None:
    rewriting = rewrite(BOTH, CATALOG).joining(["S", "l", "f"])
    for read in (scans(SIZES), scans(dict.fromkeys(SIZES, 0))):
        for few in (False, True):
            assert orders(rewriting, read, few) == [["s", "l", "f"]] * 3
    first = Window(None, TAU)
    assert orders(rewriting, scans(SIZES), window=first) == [["s", "l", "f"]]


def test_of_a_partial_order_the_others_follow_by_the_rule() -> None:
    rewriting = rewrite(BOTH, CATALOG).joining(["l"])
    assert orders(rewriting, scans(SIZES)) == [["f", "l", "s"], ["l", "f", "s"], ["s", "l", "f"]]
    assert orders(rewrite(BOTH, CATALOG).joining([]), scans(SIZES))[0] == ["f", "s", "l"]


def test_a_look_up_stays_behind_what_it_is_for() -> None:
    query = f"{BOTH} ".replace(" where", " left join names n on n.id = s.parent where")
    query = query.replace("s.id as s", "s.id as s, n.parent as n")
    rewriting = rewrite(query, CATALOG)
    read = scans(SIZES, names=(*TABLES, "names"))
    assert orders(rewriting, read)[0] == ["f", "s", "l", "n"]
    assert orders(rewriting.joining(["n", "l", "s"]), read)[0] == ["f", "l", "s", "n"]


def test_neither_keys_nor_the_canonical_text_know_of_it() -> None:
    rewriting = rewrite(BOTH, CATALOG)
    ordered = rewriting.joining(["s", "l", "f"])
    assert (ordered.canonical, ordered.arms) == (rewriting.canonical, rewriting.arms)
    keys = [
        sorted(
            column.sql()
            for column in parse_one(
                one.incremental(WINDOW, scans(SIZES), keyed=True), dialect="spark"
            ).find_all(exp.Alias)
            if column.alias == "_key"
        )
        for one in (rewriting, ordered)
    ]
    assert keys[0] == keys[1] != []


@pytest.mark.parametrize("name", ["x", "large", ""])
def test_a_name_of_no_table(name: str) -> None:
    with pytest.raises(ConfigurationError, match="is no table of the query") as error:
        rewrite(BOTH, CATALOG).joining(["f", name])
    assert "by their aliases in FROM: f, l, s" in str(error.value)
