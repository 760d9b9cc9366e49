"""Walks over a query: what they come by, and that what is shared stays shared."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import parse_one
from tests.sql.test_pairs import CATALOG, SCANS, WINDOW

from tapestry.sql import rewrite
from tapestry.sql.facts.walk import ArmWalk, BlockWalk, all_tables
from tapestry.sql.ir import Conjunction, Formula, TimeAtom, ValueTable
from tapestry.sql.look.trace import FORM
from tapestry.sql.query_state import QueryState

NESTED = (
    "select m.id, x.parent from messages m,"
    " (select distinct v.parent from messages v where v.due < now()"
    " and not exists (select 1 from authors a where a.author = v.author)) x"
    " where x.parent = m.id and not exists (select 1 from messages r where r.parent = m.id"
    " and not exists (select 1 from messages u where u.parent = r.id))"
)


def test_every_conjunction_is_seen_with_those_around_it() -> None:
    seen: list[tuple[tuple[str, ...], ...]] = []

    def note(one: Conjunction, around: tuple[Conjunction, ...]) -> Conjunction:
        chain = (*around, one)
        seen.append(tuple(tuple(table.alias for table in each.tables) for each in chain))
        return one

    rewriting = rewrite(NESTED, CATALOG)
    arms = BlockWalk(note).outermost(rewriting.arms)
    assert set(seen) == {
        (("m", "x"),),
        (("m", "x"), ("r",)),
        (("m", "x"), ("r",), ("u",)),
        (("m", "x"), ("v",)),
        (("m", "x"), ("v",), ("a",)),
        (("v",),),  # of the table by value, which refers to nothing around it
        (("v",), ("a",)),
    }
    changed = replace(rewriting, arms=arms, rendered={})
    assert changed.incremental(WINDOW, SCANS) == rewriting.incremental(WINDOW, SCANS)


def test_what_a_conjunction_becomes_is_rendered_wherever_it_stands() -> None:
    more = parse_one("a.level = 7", dialect="spark")

    def add(one: Conjunction, around: tuple[Conjunction, ...]) -> Conjunction:
        asks = any(table.alias == "a" for table in one.tables)
        return replace(one, conditions=(*one.conditions, more)) if asks else one

    rewriting = rewrite(NESTED, CATALOG)
    arms = BlockWalk(add).outermost(rewriting.arms)
    text = replace(rewriting, arms=arms, rendered={}).incremental(WINDOW, SCANS)
    asked = rewriting.incremental(WINDOW, SCANS).count("a.author = ")
    assert text.count("a.level = 7") == asked > 0


def test_a_table_by_value_is_one_object_in_every_block() -> None:
    arms = rewrite(f"{NESTED} and (m.due < now() or m.parent = 1)", CATALOG).arms
    tables = {id(one) for one in all_tables(arms) if isinstance(one, ValueTable)}
    assert len(tables) == 1
    assert all(isinstance(block.disjuncts, tuple) for one in all_tables(arms)
               if isinstance(one, ValueTable) for block in one.universe)  # fmt: skip


def test_leaves_are_changed_once_each() -> None:
    (formed,) = [one.state for one in rewrite(NESTED, CATALOG).passed if one.name == FORM]
    assert isinstance(formed, QueryState)

    class Count(ArmWalk):
        found: list[Formula]

        def leaf(self, formula: Formula) -> Formula:
            self.found += [formula] if isinstance(formula, TimeAtom) else []
            return formula

    count = Count()
    count.found = []
    count.outermost(formed.arms)
    assert len(count.found) == 1, "the arms of the table and of its membership share it"
