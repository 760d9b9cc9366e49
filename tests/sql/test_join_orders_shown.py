"""What ``explain`` says of the order in which a statement joins its tables."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.sql.test_join_order import BOTH, CATALOG, SIZES, STAR, WINDOW, scans

from tapestry.sql import rewrite
from tapestry.sql.facts.walk import all_tables
from tapestry.sql.look.source_reads import Joined, join_orders

ONE = "select id from few"
ORS = " or ".join(f"(f.ts < now() - interval {n} hours and l.id <> {n})" for n in range(1, 9))
CASES: dict[str, tuple[str, Sequence[str], list[tuple[str, str]]]] = {
    "by size, where there is a choice": (
        BOTH,
        (),
        [("f, s, l", "statistics"), ("l, f, s", "as written"), ("s, f, l", "as written")],
    ),
    "as the author says": (
        BOTH,
        ["l"],
        [("f, l, s", "join_order"), ("l, f, s", "join_order"), ("s, l, f", "join_order")],
    ),
    "one table is not joined": (ONE, (), []),
    "alternatives, inside of what picks the least": (
        f"{STAR} and f.parent = s.id and ({ORS})",
        (),
        [("l, f, s", "as written"), ("s, f, l", "as written"), ("f, s, l", "statistics")],
    ),
}


@pytest.mark.parametrize("title", CASES)
def test_each_branch_with_what_decided(title: str) -> None:
    query, names, wanted = CASES[title]
    plain = rewrite(query, CATALOG)
    rewriting, read = plain.joining(names), scans(SIZES)
    read = {name: read[name] for name in rewriting.sources}
    unsized = scans(dict.fromkeys(SIZES, 0))
    named = {one.alias for one in rewriting.how_read.joins.first(all_tables(rewriting.arms))}
    found = join_orders(
        rewriting.incremental(WINDOW, read),
        plain.incremental(WINDOW, {name: unsized[name] for name in read}),
        named,
    )
    assert [(", ".join(one.tables), one.why) for one in found] == wanted
    assert all(isinstance(one, Joined) and one.place for one in found)
