"""A star in a function's arguments is the list of the columns that it stands for."""

from __future__ import annotations

import pytest

from tapestry.sql import Catalog, Column, Source, rewrite

CATALOG = Catalog(
    {
        "m": Source("m", (Column("id", "int"), Column("Due", "timestamp")), "due"),
        "o": Source("o", (Column("id", "int"), Column("k", "int")), None),
    }
)


@pytest.mark.parametrize(
    ("star", "listed"),
    [
        ("select hash(*) as h from m", "select hash(id, due) as h from m"),
        ("select hash(1, *, 2) as h from m", "select hash(1, id, due, 2) as h from m"),
        (
            "select md5(concat_ws('|', * except (due))) as h from m where now() > due",
            "select md5(concat_ws('|', id)) as h from m where now() > due",
        ),
        (
            "select struct(*) as s from (select id as a, due from m) z",
            "select struct(a, due) as s from (select id as a, due from m) z",
        ),
        ("select coalesce(o.*, 0) as c from m, o", "select coalesce(o.id, o.k, 0) as c from m, o"),
        (
            "select hash(*) as h from m left join o on o.id = m.id",
            "select hash(m.id, m.due, o.id, o.k) as h from m left join o on o.id = m.id",
        ),
        ("select id from m where hash(*) = 3", "select id from m where hash(id, due) = 3"),
        (
            "select id from m where exists (select hash(*) from o where o.id = m.id)",
            "select id from m where exists (select hash(o.id, o.k) from o where o.id = m.id)",
        ),
    ],
)
def test_a_star_is_what_it_stands_for(star: str, listed: str) -> None:
    assert rewrite(star, CATALOG).canonical == rewrite(listed, CATALOG).canonical


def test_the_star_of_count_stays() -> None:
    sql = "select id from m where exists (select count(*) from o)"
    assert "COUNT(*)" in rewrite(sql, CATALOG).canonical
