"""Spellings that stand for another query: both are rewritten to the same SQL."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from tests.property.test_lifted_arms import CATALOG, scans

from tapestry.sql import Catalog, Column, Source, Window, rewrite
from tapestry.sql.read.parse import parse
from tapestry.sql.work import bounded, spent

WINDOW = Window(None, datetime(2026, 1, 1, tzinfo=timezone.utc))


@pytest.mark.parametrize(
    ("short", "meant"),
    [
        ("m.id FROM m LEFT SEMI JOIN r USING (k)", "m.id FROM m LEFT SEMI JOIN r ON m.k = r.k"),
        (
            "id FROM m LEFT ANTI JOIN (SELECT k, v FROM r) AS x USING (k, v)",
            "id FROM m LEFT ANTI JOIN (SELECT k, v FROM r) AS x ON m.k = x.k AND m.v = x.v",
        ),
    ],
)
def test_using_in_a_semi_join_is_its_on(short: str, meant: str) -> None:
    texts = [
        rewrite(f"SELECT {one}", CATALOG).incremental(WINDOW, scans()) for one in (short, meant)
    ]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", ["a`b", 'a"b', "a b", "a$b", "select"])
def test_any_letter_may_stand_in_a_name(name: str) -> None:
    quoted = name.replace("`", "``")
    columns = (Column("id", "int"), Column("ts", "timestamp"))
    catalog = Catalog({f"db.{name}": Source(f"db.{name}", columns, "ts")})
    assert rewrite(f"SELECT id FROM db.`{quoted}`", catalog).sources == (f"db.{name}",)


def test_a_text_that_was_read_before_costs_the_same() -> None:
    text = "SELECT id FROM m WHERE id IN (1, 2, 3) AND ts < now()"
    costs, trees = [], []
    for _ in range(3):
        with bounded(text):
            trees.append(parse(text))
            costs.append(spent())
    assert costs[0] == costs[1] == costs[2] > 0
    trees[1].set("where", None)
    assert trees[0] == trees[2] == parse(text)
