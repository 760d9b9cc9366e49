"""Maintained tables over odd names, odd values, and sources that somebody works on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.spark.any_tables import AnyTables

from tapestry.runs.kinds.maintained import (
    few_rows,
    kept_sums,
    source_versions,
    table_change,
)

pytestmark = pytest.mark.more

WAYS = ("named", "hashed", "whole")
"""How a run replaces rows: by name, by hash (from the log of a large source), all of them."""


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    found = str(request.param)
    if found != "named":
        monkeypatch.setattr(few_rows, "FEW", 0)
        monkeypatch.setattr(kept_sums, "LONGEST", 0)
    if found == "hashed":
        monkeypatch.setattr(source_versions, "HELD", 0)
    if found == "whole":
        monkeypatch.setattr(table_change, "NAMED", 0)
    return found


class Odd(AnyTables):
    """One source called ``odd``, and models over it."""

    def source(self, columns: str, *rows: str, more: str = "") -> None:
        self.do(f"create table {{s}}.odd ({columns}) using delta {more}")
        self.do(*(f"insert into {{s}}.odd values {row}" for row in rows))


@pytest.fixture
def odd(session: Any, schema: str) -> Odd:
    return Odd(session, schema)


OURS = (
    "_d", "_h", "_u", "_c", "_was", "_now", "_n", "_k0", "_key_1", "_sign", "_matched", "_g1",
    "_c1", "_s1", "_m0", "_input1", "_bounds_0", "_changed", "_rows", "_keys", "_all", "_none",
    "_out", "_0", "_minus_1", "_new_1",
)  # fmt: skip


def test_columns_may_be_called_as_ours_are(odd: Odd, way: str) -> None:
    over(odd, [f"`{name}`" for name in OURS])


def over(odd: Odd, names: list[str]) -> None:
    """Models over a table with columns of these names, which show, group and join by all."""
    listed, mapped = ", ".join(names), "'delta.columnMapping.mode' = 'name'"
    columns = ", ".join(f"{name} int" for name in names)
    odd.source(f"id int, v decimal(9,2), {columns}", more=f"tblproperties ({mapped})")

    def rows(*ids: int) -> str:
        values = (f"({n}, {n}.5, {', '.join(str((n + k) % 3) for k in range(len(names)))})"
                  for n in ids)  # fmt: skip
        return f"insert into {{s}}.odd values {', '.join(values)}"

    odd.do(rows(1, 2, 3, 3, 4))
    properties = {"delta.columnMapping.mode": "name"}
    models = [
        replace(model, properties=properties)
        for model in odd.kept(
            f"select {listed}, sum(v) as s_u_m, count(*) as many from {{s}}.odd group by {listed}",
            f"select {listed}, max(v) as m_a_x from {{s}}.odd group by {listed}",
            "select b.*, a.id as a_id from {s}.odd a left join {s}.odd b on a.id = b.id - 1",
            f"select {listed} from {{s}}.odd where {names[0]} in (select {names[1]} from {{s}}.odd)"
            f" union all select {listed} from {{s}}.odd",
        )
    ]
    odd.agree(models, 10)
    odd.do(
        f"update {{s}}.odd set {names[0]} = 7, {names[-1]} = null where id = 2",
        "delete from {s}.odd where id = 1",
        rows(3, 5, 6),
    )
    odd.agree(models, 20)


NAMES = (
    "a.b", "with space", "quo\"te", "tick'", "back\\slash", "Ünïcode", "select", "semi;colon", "--",
    "{{ x }}", "percent%s", "x" * 200, "1st", "/*", "MiXed", "$dollar", "a`b", "new\u2028line",
)  # fmt: skip


def test_odd_names_of_columns(odd: Odd, way: str) -> None:
    over(odd, ["`" + name.replace("`", "``") + "`" for name in NAMES])


VALUES = {
    "decimal(38,0)": ("99999999999999999999999999999999999999", "-1", "0"),
    "decimal(38,38)": ("0.99999999999999999999999999999999999999", "-0.1", "0"),
    "decimal(1,1)": ("0.9", "-0.9", "0"),
    "bigint": ("9223372036854775807", "-9223372036854775808", "0"),
    "tinyint": ("127", "-128", "0"),
    "double": ("double('nan')", "double('infinity')", "-0.0d", "1e-320"),
    "float": ("float('nan')", "float('-infinity')", "float('0.1')"),
    "date": ("date'0001-01-01'", "date'9999-12-31'", "date'1582-10-10'"),
    "timestamp": (
        "timestamp'0002-01-01 00:00:00'", "timestamp'9998-12-31 23:59:59.999999'",
        "timestamp'1883-11-18 12:03:58.5'",
    ),
    "timestamp_ntz": (
        "timestamp_ntz'0001-01-01 00:00:00'", "timestamp_ntz'9999-12-31 23:59:59.999999'",
        "timestamp_ntz'2026-03-29 02:30:00'",
    ),
    "string": (
        "''", "'tick '' back\\\\ quote \"'", "'line\\nend\\t\\r'", "'\\u0000 nul'",
        "'\\U0001F600 \\u2028'", "cast(X'FF41' as string)", "cast(X'FE41' as string)",
        "'${x} {{ y }} %s :p ?'", "repeat('long', 20000)", "'null'", "' '",
    ),
    "char(5)": ("'a'", "'b    '", "''"),
    "varchar(5)": ("'a'", "'a '", "''"),
    "binary": ("X'00FF'", "X''", "X'FF'"),
    "boolean": ("true", "false"),
    "array<int>": ("array()", "array(1, null)", "array(null)"),
    "array<double>": ("array(double('nan'))", "array(0.5d)"),
    "array<struct<a:int,b:string>>": ("array(named_struct('a', 1, 'b', 'x'))", "array()"),
    "struct<a:int,b:string>": (
        "named_struct('a', null, 'b', 'x')", "named_struct('a', 1, 'b', null)",
        "named_struct('a', null, 'b', null)",
    ),
    "struct<`a.b`:struct<c:array<string>>>": (
        "named_struct('a.b', named_struct('c', array('x')))",
        "named_struct('a.b', null)",
    ),
}  # fmt: skip


TOLD = ("decimal", "bigint", "tinyint", "date", "timestamp", "string", "char", "varchar", "boolean")
"""Types of groups whose counts and sums are kept."""


def test_odd_values(odd: Odd, way: str) -> None:
    """Every value comes, is told from the others, and goes; as a key and as a value."""
    columns = {f"c{number}": kind for number, kind in enumerate(VALUES)}
    listed = ", ".join(columns)
    told = ", ".join(n for n, kind in columns.items() if kind.partition("(")[0] in TOLD)
    most = max(map(len, VALUES.values())) + 1

    def rows(*ids: int) -> str:
        values = []
        for number in ids:
            own = (
                f"cast({one} as {kind})" if kind.startswith("decimal") else one
                for kind, of in VALUES.items()
                for one in [[*of, "null"][number % (len(of) + 1)]]
            )
            values.append(f"({number}, {', '.join(own)})")
        return f"insert into {{s}}.odd values {', '.join(values)}"

    odd.source("id int, " + ", ".join(f"{name} {kind}" for name, kind in columns.items()))
    odd.do(rows(*range(most), 0))
    models = odd.kept(
        f"select {told}, count(*) as n, sum(id) as s from {{s}}.odd group by {told}",
        f"select {listed}, max(id) as m from {{s}}.odd group by {listed}",
        "select * from {s}.odd",
        "select a.id, b.id as other from {s}.odd a join {s}.odd b on "
        + " and ".join(f"a.{name} <=> b.{name}" for name in columns),
        "select c10, count(*) as n from {s}.odd group by c10",
    )
    odd.agree(models, 10)
    for turn in range(2):
        odd.do(
            f"delete from {{s}}.odd where id % 2 = {turn}",
            rows(*range(turn, most, 3)),
            f"update {{s}}.odd set id = id + {most} where id % 5 = {turn}",
        )
        odd.agree(models, 20 + turn)
