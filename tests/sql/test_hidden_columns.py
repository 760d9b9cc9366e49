"""A column that a source's scan has and that no query can name (``Source.hidden``)."""

from __future__ import annotations

import pytest

from tapestry.errors import Refusal
from tapestry.names import COMMITTED_AT
from tapestry.sql import Catalog, Column, Source, rewrite

HIDDEN = Column(COMMITTED_AT, "timestamp")
CLICKS = Source(
    "s.clicks",
    (Column("id", "int"), Column("page", "int")),
    COMMITTED_AT,
    hidden=(HIDDEN,),
)
CATALOG = Catalog({"s.clicks": CLICKS})


@pytest.mark.parametrize(
    "sql",
    [
        "select * from s.clicks",
        "select c.* from s.clicks c join s.clicks d using (id)",
        "select id, hash(*) as h from s.clicks",
        "select * from s.clicks c lateral view explode(array(c.page)) e as x",
    ],
)
def test_no_star_stands_for_it(sql: str) -> None:
    rewriting = rewrite(sql, CATALOG)
    assert COMMITTED_AT not in rewriting.columns
    assert COMMITTED_AT not in rewriting.canonical


def test_no_query_can_name_it() -> None:
    with pytest.raises(Refusal, match="could not be resolved"):
        rewrite(f"select {COMMITTED_AT} from s.clicks", CATALOG)
