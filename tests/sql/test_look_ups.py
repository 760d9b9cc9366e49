"""LEFT JOINs to static tables: one block where they may stay, the definition where they may not."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlglot import exp, parse_one
from tests.sql import test_pairs
from tests.sql.test_pairs import CATALOG, SCANS, WINDOW, filled

from tapestry.errors import Refusal
from tapestry.sql import Rewriting, rewrite
from tapestry.sql.ir import SourceTable

TWELVE = " ".join(f"left join authors a{n} on a{n}.author = m.author" for n in range(12))
NO_REPLY = "not exists (select 1 from messages r where r.parent = m.id)"
STAY = {
    "one": "select m.id, a.level from messages m left join authors a on a.author = m.author",
    "twelve": f"select m.id, a0.level, a11.level as other from messages m {TWELVE}",
    "the right one's": "select m.id, a.level from authors a right join messages m using (author)",
    "one found through another": "select m.id, b.author from messages m"
    " left join authors a on a.author = m.author left join authors b on b.level = a.level + 1",
    "everything": "select m.id, a.level from messages m left join authors a on 1 = 1",
    "of a derived table": "select m.id, a.level from messages m"
    " left join (select level, author from authors where level < 2) a on a.author = m.author",
    "in a derived table": "select x.id, x.level, r.id as reply from (select m.id, a.level from"
    " messages m left join authors a on a.author = m.author) x, messages r where r.parent = x.id",
    "filtered": "select m.id from messages m left join authors a on a.author = m.author"
    " where coalesce(a.level, 0) < 2 or m.parent = a.level",
    "no match": "select m.id from messages m left join authors a on a.author = m.author"
    " where a.level is null",
    "by value": "select distinct a.level from messages m"
    " left join authors a on a.author = m.author",
    "beside a subquery": "select m.id, a.level from messages m"
    f" left join authors a on a.author = m.author where m.due < now() and {NO_REPLY}",
    "a subquery about it": "select m.id from messages m left join authors a on a.author = m.author"
    " where not exists (select 1 from messages r where r.parent = m.id and r.id > a.level)",
    "several alternatives": "select m.id, a.level from messages m"
    " left join authors a on a.author = m.author where (m.due < now() and a.level = 1)"
    " or (m.due + interval 1 day < now() and a.level is null)",
    "many alternatives": "select m.id, a.level from messages m"
    " left join authors a on a.author = m.author where "
    + " or ".join(f"(m.due + interval {6 * n} hours < now() and a.level = {n})" for n in range(6)),
}
GO = {
    "it says when": "select m.id, a.level from messages m left join authors a"
    " on a.author = m.author where m.ts + a.level * interval 1 day < now() or a.level = 3",
    "a subquery that it times": "select m.id from messages m"
    " left join authors a on a.author = m.author where not exists (select 1 from messages r"
    " where r.parent = m.id and r.ts + a.level * interval 1 day < now())",
    "another table is joined through it": "select m.id, a.level, r.id as reply from messages m"
    " left join authors a on a.author = m.author join messages r on r.id <=> a.level",
    "two that meet": "select m.id, r.id as r from messages m"
    " left join authors a on a.author = m.author join messages r"
    " left join authors b on b.author = r.author where a.level = b.level",
    "the time is in ON": "select m.id, a.level from messages m"
    " left join authors a on a.author = m.author and m.due < now()",
    "a subquery is in ON": "select m.id, a.level from messages m left join authors a"
    " on a.author = m.author and exists (select 1 from authors b where b.level = m.id)",
    "a column that is not NULL without a match": "select m.id, a.known from messages m left join"
    " (select author, coalesce(level, 0) as known from authors) a on a.author = m.author",
    "what may have to be tried": "select m.id, a.level from messages m"
    " left join authors a on a.author = m.author"
    " where exists (select 1 from messages r where r.parent = m.id)",
    "in a subquery": "select m.id from messages m where not exists (select 1 from messages r"
    " left join authors a on a.author = r.author where r.parent = m.id and a.level is null)",
    "in a table by value": "select m.id, x.level from messages m, (select distinct r.parent,"
    " a.level from messages r left join authors a on a.author = r.author) x where x.parent = m.id",
    "both sides": "select m.id, a.level from messages m full join authors a on a.author = m.author",
    "a grown table": "select m.id, r.id as r from messages m left join messages r"
    " on r.parent = m.id",
}


def _look_ups(rewriting: Rewriting) -> int:
    return sum(
        isinstance(table, SourceTable) and table.on is not None
        for arm in rewriting.arms
        for block in arm.blocks
        for table in block.tables
    )


@pytest.mark.parametrize("name", STAY)
def test_it_stays_one_join(name: str) -> None:
    rewriting = rewrite(STAY[name], CATALOG)
    (arm,) = rewriting.arms
    assert len(arm.blocks) == 1
    assert _look_ups(rewriting) == STAY[name].count("left join") + STAY[name].count("right join")
    own = "least" if name == "many alternatives" else "bounds"
    assert rewriting.strategy == ("anti_join" if "not exists" in STAY[name] else own)


@pytest.mark.parametrize("name", GO)
def test_it_goes(name: str) -> None:
    assert _look_ups(rewrite(GO[name], CATALOG)) == 0


@pytest.mark.parametrize("name", [*STAY, *GO])
def test_it_delivers_what_was_ever_an_answer(name: str) -> None:
    query = (STAY | GO)[name]
    test_pairs.test_it_delivers_what_was_ever_an_answer(filled(), (Path(), name, query, ""))


def test_few_rows_look_up_few_keys() -> None:
    """Spark would sort all of a large table on the right of an outer join."""
    text = rewrite(STAY["in a derived table"], CATALOG).incremental(WINDOW, SCANS, few=True)
    first = next(parse_one(text, dialect="spark").find_all(exp.Select))
    (join,) = [one for one in first.args["joins"] if one.side == "LEFT"]
    assert join.args["on"].sql("spark").startswith("a.author = m.author AND a.author IN (SELECT")
    assert "BROADCAST(m)" in first.args["hint"].sql("spark")


def test_a_table_that_is_looked_up_decides_when_rows_of_it_are_gone() -> None:
    """What met such a row has no match without it: it cannot be gone at no instant."""
    looked_up = rewrite(STAY["one"], CATALOG)
    assert looked_up.looks_back_at("authors")
    assert not looked_up.looks_back_at("messages")


def test_where_none_can_stay_their_number_is_bounded() -> None:
    with pytest.raises(Refusal, match="more than 256 ways"):
        rewrite(
            f"select m.id from messages m {TWELVE} where exists"
            " (select 1 from messages r where r.parent = m.id)",
            CATALOG,
        )


def test_a_row_without_a_match_is_in_no_equality() -> None:
    """``r.id = NULL`` would be a branch that reads both tables for nothing."""
    query = GO["another table is joined through it"].replace("<=>", "=")
    text = rewrite(query, CATALOG).incremental(WINDOW, SCANS)
    assert "NULL" not in text
    assert "NOT EXISTS" not in text
