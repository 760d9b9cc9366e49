"""Walks over a query: what they come by, and that what is shared stays shared."""

from __future__ import annotations

from tests.sql.test_pairs import CATALOG

from tapestry.sql import rewrite
from tapestry.sql.facts.walk import ArmWalk, all_tables
from tapestry.sql.ir import Formula, TimeAtom, ValueTable
from tapestry.sql.look.trace import FORM
from tapestry.sql.query_state import QueryState

NESTED = (
    "select m.id, x.parent from messages m,"
    " (select distinct v.parent from messages v where v.due < now()"
    " and not exists (select 1 from authors a where a.author = v.author)) x"
    " where x.parent = m.id and not exists (select 1 from messages r where r.parent = m.id"
    " and not exists (select 1 from messages u where u.parent = r.id))"
)


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
