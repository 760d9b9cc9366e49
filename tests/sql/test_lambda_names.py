"""A parameter of a lambda hides what stands behind FROM under its name."""

from __future__ import annotations

import pytest

from tapestry.sql.catalog import Catalog, Column, Source
from tapestry.sql.read.parse import parse
from tapestry.sql.read.resolve_names import resolve_names

M = Source(
    "db.m",
    (Column("id", "int"), Column("ts", "timestamp"), Column("v", "int"), Column("q_1", "int")),
    "ts",
)
CATALOG = Catalog({"db.m": M})


@pytest.mark.parametrize(
    ("item", "read"),
    [
        ("transform(array(1), q -> q + v)", "TRANSFORM(ARRAY(1), q_1 -> q_1 + q.v)"),
        ("transform(array(1), x -> x + v)", "TRANSFORM(ARRAY(1), x -> x + q.v)"),
        (  # a name that no column has
            "transform(array(1), q -> q + q_1)",
            "TRANSFORM(ARRAY(1), q_2 -> q_2 + q.q_1)",
        ),
        (  # fields stay what they are called
            "transform(array(struct(1 as q)), q -> q.q + struct(v as q).q)",
            "TRANSFORM(ARRAY(STRUCT(1 AS q)), q_1 -> q_1.q + STRUCT(q.v AS q).q)",
        ),
        (  # in another case, and before a column of its name
            "transform(array(1), V -> v + id)",
            "TRANSFORM(ARRAY(1), v -> v + q.id)",
        ),
        (
            "transform(array(struct(1 as f)), (V, i) -> v.F + filter(array(1), v -> V > I)[0])",
            "TRANSFORM(ARRAY(STRUCT(1 AS f)), (v, i) -> v.f + FILTER(ARRAY(1), v -> v > i)[0])",
        ),
        (
            "transform(array(1), Q -> q + v)",
            "TRANSFORM(ARRAY(1), q_1 -> q_1 + q.v)",
        ),
        (  # one inside of another
            "transform(array(array(1)), q -> filter(q, (x, q) -> x > q + v))",
            "TRANSFORM(ARRAY(ARRAY(1)), q_1 -> FILTER(q_1, (x, q_1) -> x > q_1 + q.v))",
        ),
    ],
)
def test_a_column_beside_a_parameter_of_the_name_of_its_table(item: str, read: str) -> None:
    sql = f"select {item} as a from (select id, v{', q_1' * ('q_1' in item)} from db.m) q"
    resolved = resolve_names(parse(sql), CATALOG)
    assert resolved.selects[0].this.sql("spark") == read
