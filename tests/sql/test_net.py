"""Orders of instants that conditions imply, and what a statement makes of them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import duckdb
import pytest

from tapestry.instants import LAST
from tapestry.sql import Catalog, Column, Scan, Source, Window, rewrite
from tapestry.sql.branches.net import MOST, Net, net_of

TAU = datetime(2026, 1, 20, tzinfo=timezone.utc)
COLUMNS = (
    *(Column("id", "int"), Column("k", "int"), Column("due", "timestamp")),
    *(Column("local", "timestamp_ntz"), Column("day", "date"), Column("ts", "timestamp")),
)


def text(sql: str, late: bool = False, zone: str = "UTC", assume: tuple[str, ...] = ()) -> str:
    """The statement of a window of an hour, on one line."""
    catalog = Catalog({name: Source(name, COLUMNS, "ts") for name in "abc"}, time_zone=zone)
    side = {"late": "side"} if late else {}
    scans = {name: Scan(name, "ts", "rowid", **side) for name in "abc"}
    window = Window(TAU, TAU + timedelta(hours=1))
    return " ".join(rewrite(sql, catalog, assume).incremental(window, scans).split())


def branches(sql: str, **more: object) -> int:
    return text(sql, **more).count(" UNION ALL ") + 1  # type: ignore[arg-type]


JOIN = "select a.id, b.id as i from a join b on a.k = b.k where "


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("b.ts <= a.ts", 1),
        ("b.ts < a.ts", 1),
        ("a.ts = b.ts", 1),
        ("b.ts + interval 1 hour <= a.ts - interval 1 hour", 1),
        ("a.ts between b.ts and b.ts + interval 3 hours", 1),
        ("b.ts <= a.due and a.due <= a.ts", 1),
        ("b.ts <= a.ts + interval 1 microsecond", 2),
        ("b.ts <= a.due", 2),
        ("b.ts <> a.ts", 2),
        ("not b.ts > a.ts", 1),
        ("(b.ts <= a.ts or a.k = 3)", 2),
        ("b.local <= a.ts", 2),
        ("b.day <= a.ts", 2),
        ("b.ts < a.ts and a.ts < b.ts", 2),
    ],
)
def test_a_bound_that_is_never_the_last_makes_no_branch(condition: str, expected: int) -> None:
    assert branches(JOIN + condition) == expected


def test_ranges_go_through_any_number_of_steps() -> None:
    found = text(
        "select a.id from a join b on a.k = b.k join c on b.k = c.k where a.ts <= b.ts and b.ts <="
        " a.ts + interval 2 days and c.ts between b.ts and b.ts + interval 3 days"
    )
    assert "UNION ALL" not in found
    tau = "CAST('2026-01-20 00:00:00+00:00' AS TIMESTAMP)"
    assert f"c._arrival > {tau}" in found
    assert f"b.ts > {tau} - INTERVAL '72' HOUR" in found
    assert f"a.ts > {tau} - INTERVAL '120' HOUR" in found


def test_an_inner_row_is_narrowed_by_both_queries() -> None:
    found = text(
        "select a.id from a where not exists (select 1 from b where b.k = a.k"
        " and b.ts >= a.ts - interval 1 hour)"
    )
    assert "b.ts > CAST('2026-01-20 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '1' HOUR" in found


def test_whole_days_are_no_fixed_length_where_clocks_change() -> None:
    days, hours = (JOIN + f"b.ts + interval {one} <= a.ts" for one in ("2 days", "3 hours"))
    assert branches(days, zone="Europe/Berlin") == 2
    assert branches(hours, zone="Europe/Berlin") == 1


def test_a_late_row_keeps_its_branch() -> None:
    late = text(JOIN + "b.ts <= a.ts", late=True)
    assert late.count(" UNION ALL ") > text(JOIN + "b.ts <= a.ts").count(" UNION ALL ")
    assert "b.ts <= CAST('2026-01-20 00:00:00+00:00' AS TIMESTAMP)" in late


def test_an_order_of_one_alternative_says_nothing_of_another() -> None:
    found = text(
        "select a.id from a join b on a.k = b.k where (b.ts <= a.ts and a.id = 1)"
        " or (a.id = 2 and b.id = 2)"
    )
    assert "GREATEST(a._arrival, b._arrival)" in found


def test_what_is_assumed_of_two_leads_to_a_third_only_where_it_is_joined() -> None:
    assume = ("b.ts >= a.ts", "c.ts >= b.ts")
    joined = "select a.id from a join b on a.k = b.k join c on a.k = c.k"
    assert branches(joined, assume=assume) == 1
    apart = "select a.id from a join c on a.k = c.k union all select b.id from b"
    assert branches(apart, assume=()) == branches(apart) == 3


def test_a_net() -> None:
    a, b, c = (("t", name) for name in "abc")
    net = net_of([(a, b, 5), (b, c, 7), (a, c, 20), (c, a, -3)])
    assert net.over(a, c) == 12
    assert net.over(b, a) == 4
    assert net.over(a, ("t", "d")) is None
    assert net_of([(a, b, 5), (b, a, -6)]) == Net()
    many = [(("t", str(n)), ("t", str(n + 1)), 0) for n in range(MOST + 1)]
    assert net_of(many) == Net()


NEAR = JOIN + "b.ts <= a.ts and b.ts >= a.ts - interval 1 hour"
LEAST = TAU - timedelta(hours=5)


@pytest.mark.parametrize("late_from", [LEAST, None])
def test_what_joins_a_late_row_is_as_early_as_it(late_from: datetime | None) -> None:
    """a arrives after tau with a ts five hours before; b lies half an hour before that."""
    catalog = Catalog({name: Source(name, COLUMNS, "ts") for name in "ab"})
    scans = {name: Scan(name, "arr", "rowid", True, late_from=late_from) for name in "ab"}
    window = Window(TAU, TAU + timedelta(hours=1))
    found = rewrite(NEAR, catalog).incremental(window, scans, "duckdb")
    ranged = "2026-01-19 18:59:59.999999" in found  # the least ts, less a microsecond and an hour
    assert ranged == (late_from is not None)
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        for name, ts, arrival in (
            ("a", LEAST, TAU + timedelta(microseconds=1)),
            ("b", LEAST - timedelta(minutes=30), LEAST - timedelta(minutes=30)),
        ):
            columns = "1 as id, 1 as k, null::timestamptz as due, null::timestamp as local"
            connection.execute(
                f"create table {name} as select {columns}, null::date as day,"
                f" '{ts}'::timestamptz as ts, '{arrival}'::timestamptz as arr"
            )
        assert len(connection.execute(found).fetchall()) == 1


def test_of_rows_in_time_alone_tau_itself_is_the_range() -> None:
    catalog = Catalog({name: Source(name, COLUMNS, "ts") for name in "ab"})
    scans = {name: Scan(name, "arr", "rowid", True, late_from=LAST) for name in "ab"}
    window = Window(TAU, TAU + timedelta(hours=1))
    found = rewrite(NEAR, catalog).incremental(window, scans)
    assert "CAST('2026-01-20 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '1' HOUR" in found
