"""Aggregates and windows where a row is formed or filtered are refused, also those from outside.

Spark 4.1 refuses all of them but an aggregate of the query around a subquery of HAVING.
"""

from __future__ import annotations

import pytest

from tapestry.errors import Refusal
from tapestry.sql import Catalog, Column, Source, rewrite

INT, TS = "int", "timestamp"
CATALOG = Catalog(
    {
        "db.messages": Source(
            "db.messages", (Column("id", INT), Column("parent", INT), Column("ts", TS)), "ts"
        ),
        "db.old": Source("db.old", (Column("id", INT), Column("at", TS)), None),
    }
)

REFUSED = {
    "select parent from db.messages m group by parent having exists"
    " (select 1 from db.old o where o.id = max(m.id))": "an aggregate of the query around it",
    "select parent from db.messages m group by parent having not exists"
    " (select 1 from db.old o join db.old p on max(m.ts) > p.at)": "of the query around it",
    "select parent from db.messages m group by parent having parent in"
    " (select o.id from db.old o where max(m.ts) > o.at)": "of the query around it",
    "select parent from db.messages m group by parent having parent in"
    " (select o.id from db.old o group by o.id, max(m.ts))": "of the query around it",
    "select id from db.messages m where exists (select 1 from db.old o where o.id > max(m.id))": (
        "of the query around it"
    ),
    "select id from db.messages where max(id) > 3": "where rows have no groups",
    "select parent from db.messages group by parent, max(id)": "where rows have no groups",
    "select m.id from db.messages m join db.old o on max(o.id) = m.id": "rows have no groups",
    "select m.id from db.messages m left join db.old o on count(*) = m.id": "rows have no groups",
    "select id from db.messages where row_number() over (order by ts) = 1": "have no groups",
    "select id from db.messages m where exists (select 1 from db.old o where max(o.id) = m.id)": (
        "where rows have no groups"
    ),
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_computed_over_rows_filters_none(sql: str) -> None:
    with pytest.raises(Refusal) as caught:
        rewrite(sql, CATALOG)
    assert REFUSED[sql] in str(caught.value)
    assert caught.value.code == "misplaced-aggregate"


def test_a_subquery_of_having_may_compare_what_the_groups_have() -> None:
    sql = (
        "select parent from db.messages m group by parent"
        " having exists (select 1 from db.old o where o.id = m.parent)"
    )
    assert rewrite(sql, CATALOG).columns == ("parent",)
