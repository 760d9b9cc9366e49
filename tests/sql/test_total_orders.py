"""Orders are made total by what has an order, wherever a column comes from."""

from __future__ import annotations

import pytest

from tapestry.sql import Catalog, Column, Source
from tapestry.sql.read.parse import parse
from tapestry.sql.read.resolve_names import resolve_names
from tapestry.sql.read.total_orders import total_orders

COLUMNS = (
    Column("id", "int"),
    Column("tags", "map<string,string>"),
    Column("several", "array<map<string,int>>"),
    Column("named", "struct<map:int>"),
    Column("ts", "timestamp"),
)
CATALOG = Catalog({"m": Source("m", COLUMNS, "ts")})
ROW = "row_number() over (order by ts) as n"


@pytest.mark.parametrize(
    ("sql", "order"),
    [
        (f"select id, {ROW} from m", "m.ts, m.id, m.named, m.ts"),
        (f"with o as (select * from m) select id, {ROW} from o", "o.ts, o.id, o.named, o.ts"),
        (f"select a, {ROW} from (select * from m) as q(a, b, c, d, ts)", "q.ts, q.a, q.d, q.ts"),
        (
            f"select id, {ROW} from (select id, ts, null as t from m"
            " union all select id, ts, tags from m) q",
            "q.ts, q.id, q.ts",
        ),
        (
            "select id from (select id, ts, tags from m union all (select id, ts, tags from m)"
            " limit 2) q",
            "id, ts",
        ),
    ],
)
def test_a_map_has_no_order(sql: str, order: str) -> None:
    text = total_orders(resolve_names(parse(sql), CATALOG), CATALOG).sql("spark")
    assert f"ORDER BY {order})" in text.replace(" LIMIT 2", "")
