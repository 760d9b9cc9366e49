"""A parameter of a lambda hides what stands behind FROM under its name."""

from __future__ import annotations

import pytest

from tapestry.sql.catalog import Catalog, Column, Source
from tapestry.sql.rewriter import rewrite

M = Source("db.m", (Column("id", "int"), Column("ts", "timestamp"), Column("v", "int")), "ts")


@pytest.mark.xfail(strict=True, reason="a column is named by its table, which the parameter hides")
def test_a_column_beside_a_parameter_of_the_name_of_its_table() -> None:
    sql = "select id, transform(array(1, 2), q -> q + v) as a from db.m q where now() > q.ts"
    canonical = rewrite(sql, Catalog({"db.m": M})).canonical
    assert "q + q.v" not in " ".join(canonical.split())
