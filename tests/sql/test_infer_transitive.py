"""Inferred conditions are no part of a query: with them or without, all else is the same."""

from __future__ import annotations

import re

import pytest
from tests.sql import test_pairs
from tests.sql.test_pairs import CATALOG, SCANS, WINDOW

from tapestry.errors import Refusal
from tapestry.sql import Catalog, Column, Source, rewrite
from tapestry.sql.look.trace import inferences
from tapestry.sql.passes.sequence import passes_with
from tapestry.sql.strategies.chain import Chain, is_chain

QUERIES = [query for _, _, query, _ in test_pairs.PAIRS]
CHAIN = """
select m.id, a.id as one, b.id as two, c.id as three from messages m
left join messages a on a.parent = m.id left join messages b on b.parent = m.id
left join messages c on c.parent = m.id
where not exists (select 1 from messages x where x.id = m.parent)
and ((m.parent > 3 and m.due > now()) or (m.parent > 3 and m.id > 5 and m.parent < m.id and m.id < 9
and m.due < now()))
"""


def shown(query: str) -> tuple[str, ...]:
    return inferences(rewrite(query, CATALOG).arms)


@pytest.mark.parametrize("query", QUERIES)
def test_the_rest_is_the_same_without(query: str) -> None:
    try:
        on = rewrite(query, CATALOG)
    except Refusal as refusal:
        with pytest.raises(Refusal, match=f"^{re.escape(str(refusal))}$"):
            rewrite(query, CATALOG, passes=passes_with(infer=False))
        return
    off = rewrite(query, CATALOG, passes=passes_with(infer=False))
    assert inferences(off.arms) == ()
    assert (on.canonical, on.strategy, on.arms) == (off.canonical, off.strategy, off.arms)
    if not inferences(on.arms):
        assert on.incremental(WINDOW, SCANS) == off.incremental(WINDOW, SCANS)


def test_what_one_alternative_implies_is_not_used_for_another_in_stages() -> None:
    (block,) = rewrite(CHAIN, CATALOG).arms[0].blocks
    assert is_chain(block)
    assert len(block.disjuncts) == 2
    first, second = [
        {one.condition.sql("spark") for one in each.exists[0].inner.inferred}
        for each in block.disjuncts
    ]
    assert first == {"x.id >= 4"}
    assert second == {"x.id >= 4", "x.id <= 7"}
    shared = Chain.of(block).shared.exists[0].inner.inferred
    assert [one.condition.sql("spark") for one in shared] == ["x.id >= 4"]


def test_a_look_up_is_narrowed_by_what_all_alternatives_say() -> None:
    query = """
    select m.id, a.level from messages m left join authors a on a.level = m.parent
    where m.id > m.parent and ((m.parent > 3 and m.due > now()) or (m.parent > 2 and m.due < now()))
    """
    (block,) = rewrite(query, CATALOG).arms[0].blocks
    (table,) = [one for one in block.tables if one.alias == "a"]
    assert table.inferred == ()


def test_text_with_a_collation_is_not_carried() -> None:
    def inferred(kind: str) -> tuple[str, ...]:
        columns = (Column("x", kind), Column("at", "timestamp"))
        catalog = Catalog({"t": Source("t", columns, "at")})
        query = "select a.at from t a join t b on a.x = b.x where a.x = 'u'"
        return inferences(rewrite(query, catalog).arms)

    assert inferred("string") == ("b.x = 'u' follows from a.x = b.x AND a.x = 'u'",)
    assert inferred("string collate UTF8_LCASE") == ()
    assert inferred("char(3)") == ()


def test_a_row_of_a_subquery_within_one() -> None:
    found = shown("""
    select m.id from messages m where m.id > 3 and not exists (
      select 1 from messages r where r.parent = m.id and not exists (
        select 1 from messages q where q.parent = r.parent))
    """)
    assert [line.partition(" follows")[0] for line in found] == ["r.parent >= 4", "q.parent >= 4"]


def test_what_must_be_found_says_something_of_another_subquery() -> None:
    found = shown("""
    select m.id from messages m where exists (
      select 1 from messages r where r.parent = m.id and r.parent > 3)
    and not exists (select 1 from messages q where q.parent = m.id)
    """)
    assert [line.partition(" follows")[0] for line in found] == ["m.id >= 4", "q.parent >= 4"]
