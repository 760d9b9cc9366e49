"""Copies of trees: equal to what sqlglot's own copies are, and apart from the tree."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one
from sqlglot.optimizer.annotate_types import annotate_types

from tapestry.sql.copies import copied, forget_places

TEXTS = [
    "select /* one */ a.*, count(*) as n, cast(b as decimal(3, 1)) from t a where x in (1, null)",
    "with c as (select 1 as x union all select 2) select * from c c2 join c on c.x <=> c2.x",
    "select transform(l, e -> e + 1), struct(a as b), m['k'], case when a then 'x' end from t"
    " lateral view explode(l) v as e order by 1 desc nulls last limit 3",
    "select sum(a) over (partition by b order by ts range between interval 1 day preceding and"
    " current row), date '2026-01-01', interval '2' day from t qualify row_number() over () = 1",
]


def _seen(node: exp.Expr) -> tuple[object, ...]:
    kind = node.type.sql("spark") if isinstance(node.type, exp.DataType) else node.type
    shape = {name: type(value) for name, value in node.args.items()}
    place = (node.arg_key, node.index, type(node.parent))
    return type(node), kind, dict(node._meta or {}), node.comments or None, shape, place


@pytest.mark.parametrize("text", TEXTS)
def test_a_copy_is_what_sqlglot_s_is(text: str) -> None:
    tree = annotate_types(parse_one(text, dialect="spark"), dialect="spark")
    for node in tree.walk():
        node.meta["mark"] = node.key
    mine, theirs = copied(tree), tree.copy()
    assert mine == theirs == tree
    assert mine.sql("spark", pretty=True) == theirs.sql("spark", pretty=True)
    assert [_seen(node) for node in mine.walk()] == [_seen(node) for node in theirs.walk()]
    assert not {id(node) for node in mine.walk()} & {id(node) for node in tree.walk()}
    before = tree.sql("spark")
    for node in list(mine.walk()):
        node.meta["mark"] = "other"
        node.add_comments(["other"])
    for identifier in mine.find_all(exp.Identifier):
        identifier.set("this", "other")
    assert tree.sql("spark") == before
    assert all(node.meta["mark"] == node.key for node in tree.walk())


def test_a_part_is_copied_without_what_is_around_it() -> None:
    tree = parse_one("select a + 1 as x from t", dialect="spark")
    part = copied(tree.selects[0])
    assert part.parent is None
    assert part.sql("spark") == "a + 1 AS x"


def test_places_are_forgotten_and_marks_are_not() -> None:
    tree = parse_one("select a from t", dialect="spark")
    column = tree.selects[0].this
    column.meta["mark"] = True
    assert "start" in column.meta
    assert forget_places(tree) is tree
    assert all(not {"line", "col", "start", "end"} & set(node._meta or {}) for node in tree.walk())
    assert column.meta == {"mark": True}
