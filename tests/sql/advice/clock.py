"""Conditions on now(), and what may be assumed of arrivals."""

from __future__ import annotations

from tests.sql.advice.case import UNASKED, Case, Way, case

BERLIN = "Europe/Berlin"
TWO = "select m.id from messages m join replies r on r.id = m.id"


def where(condition: str, zone: str = "UTC") -> Way:
    """The messages of which a condition holds."""
    return Way(f"select id from messages m where {condition}", zone=zone)


CASES: tuple[Case, ...] = (
    case(
        "audit-column",
        "select distinct author, datediff(now(), ts) as age from messages where author = 'cid'",
        "select distinct author, ts, datediff(now(), ts) as age from messages",
        "select distinct author from messages",
        meant=UNASKED,
    ),
    case(
        "audit-column",
        "select id, now() as at from messages union select id, date_trunc('day', now()) from old",
        "select id, now() as at from messages union select id, now() from old",
        "select id, now() as at from messages"
        " union all select id, date_trunc('day', now()) from old",
        meant=UNASKED,
    ),
    case(
        "audit-column",
        "select id, now() as at from messages union select id, ts from replies",
        "select id, now() as at, null as ts from messages"
        " union select id, now() as at, ts from replies",
        meant=UNASKED,
    ),
    case(
        "only-audit-columns",
        "select now() as at from messages",
        "select id, now() as at from messages",
        meant=UNASKED,
    ),
    case(
        "clock-in-select-list",
        "select id, at from (select distinct id, now() as at from messages) q",
        "select id, now() as at from (select distinct id from messages) q",
        meant=UNASKED,
    ),
    case(
        "clock-in-select-list",
        "select id from messages where due in (select now() from old)",
        where("exists (select 1 from old where m.due = now())"),
        meant=UNASKED,
    ),  # an instant
    case(
        "clock-in-expression",
        where("exists(times, x -> x < now())"),
        where("now() > array_min(m.times)"),
        meant="select id from messages where list_min(times) < now()",
    ),
    case(
        "clock-in-expression",
        where("array_contains(times, now())"),
        where("now() >= array_min(m.times)"),
        meant=UNASKED,
    ),
    case(
        "clock-in-expression",
        where("isnotnull(now() > due) or upper(now()) > author"),
        where("now() > due"),
        meant=UNASKED,
    ),
    case(
        "clock-mixed-types",
        where("case when now() < due then id else 'a' end = '01'"),
        where("case when now() < due then cast(id as string) else 'a' end = '01'"),
        meant=UNASKED,
    ),
    case(
        "clock-mixed-types",
        where("current_date() in (d, '2024-01-01 10:00:00')"),
        where("current_date() in (d, cast('2024-01-01 10:00:00' as date))"),
        where("current_date() = d or current_date() = date'2024-01-01'"),
        meant=UNASKED,
    ),
    case(
        "nondeterministic",
        where("ts < 'now'"),
        where("ts < now()"),
        meant="select id from messages where ts < now()",
    ),
    case(
        "nondeterministic",
        where("date 'today' > d"),
        where("current_date() > d"),
        meant="select id from messages where current_date() > d",
    ),
    case(
        "nondeterministic",
        where("date 'yesterday' > d"),
        where("current_date() - 1 > d"),
        meant="select id from messages where current_date() > d + interval 1 day",
    ),
    case(
        "nondeterministic",
        where("to_date('tomorrow') > d"),
        where("current_date() + 1 > d"),
        meant="select id from messages where current_date() > d - interval 1 day",
    ),
    case(
        "nondeterministic",
        "select id, coalesce(due, 'now') as t from messages",
        "select id, due as t from messages",
        meant=UNASKED,
    ),
    case(
        "clock-condition",
        where("now() - ts > now() - due"),
        where("due > ts"),
        meant="select id from messages where due > ts",
    ),
    case("clock-condition", where("now() > now() + (due - ts)"), where("ts > due"), meant=UNASKED),
    case(
        "clock-condition",
        where("now() - interval 1 hour >= greatest(now(), due)"),
        where("now() >= m.due + interval 1 hour"),
        meant=UNASKED,
    ),
    case(
        "clock-condition",
        where("hour(now()) = 9"),
        where("now() >= date_trunc('day', ts) + interval 33 hours"),
        meant=UNASKED,
    ),
    case(
        "clock-condition",
        where("months_between(now(), due) > 1"),
        where("now() >= m.due + interval 1 month"),
        meant=UNASKED,
    ),
    case(
        "clock-condition",
        where("coalesce(due, now()) > ts"),
        where("due > ts or due is null"),
        meant="select id from messages where due > ts or due is null",
    ),
    case(
        "clock-condition",
        where("current_date() - d > 1"),
        where("datediff(now(), m.d) > 1"),
        where("current_date() - d > interval 1 day"),
        meant="select id from messages where current_date() > d + interval 1 day",
    ),
    case(
        "clock-condition",
        where("now() - ts > 1"),
        where("datediff(now(), m.ts) > 1"),
        where("now() - ts > interval 1 day"),
        meant="select id from messages where now() > ts + interval 1 day",
    ),
    case(
        "clock-condition",
        where("now() - interval 1 month > ts"),
        where("now() > ts + interval 1 month"),
        where("current_date() - interval 1 month > ts"),
        meant=UNASKED,
    ),
    case(
        "clock-condition",
        where("now() - interval '1 day 2 months' > ts"),
        where("now() > ts + interval '1 day 2 months'"),
        meant=UNASKED,
    ),
    case(
        "clock-condition",
        where("now() - ts > nvl2(id, interval 1 day, interval 2 days)"),
        where("now() > ts + nvl2(id, interval 1 day, interval 2 days)"),
        where("now() - ts > interval 1 day"),
        meant=UNASKED,
    ),
    case(
        "clock-condition",
        where("now() - id > interval 1 day"),
        where("now() - interval 1 day > ts"),
        where("current_date() - 1 > d"),
        meant=UNASKED,
    ),
    case(
        "clock-condition",
        where("now() - interval 1 day > ts", BERLIN),
        where("now() > ts + interval 1 day", BERLIN),
        where("now() - interval 1 day > ts"),
        meant="select id from messages where now() > ts + interval 1 day",
    ),
    case(
        "clock-condition",
        where("current_date() > d", BERLIN),
        where("now() >= d + interval 1 day", BERLIN),
        where("current_date() > d"),
        meant=UNASKED,
    ),
    case(
        "clock-condition",
        where("year(now()) > 2025", BERLIN),
        where("now() >= timestamp'2026-01-01'", BERLIN),
        where("year(now()) > 2025"),
        meant=UNASKED,
    ),
    case(
        "clock-condition",
        where("localtimestamp() > due", BERLIN),
        where("now() > due", BERLIN),
        where("localtimestamp() > due"),
        meant=UNASKED,
    ),
    case(
        "clock-condition",
        where("timestampadd(hour, -28, localtimestamp()) > ts", BERLIN),
        where("now() > ts + interval 28 hours", BERLIN),
        where("timestampadd(hour, -28, localtimestamp()) > ts"),
        meant=UNASKED,
    ),
    case(
        "clock-condition",
        where("now() > id"),
        where("now() > timestamp_seconds(id)"),
        meant=UNASKED,
    ),
    case(
        "clock-condition",
        where("current_date() > id"),
        where("current_date() > cast(date_from_unix_date(id) as date)"),
        where("current_date() > cast(timestamp_seconds(id) as timestamp)"),
        meant=UNASKED,
    ),
    case(
        "clock-condition",
        where("datediff(now(), ts) > author"),
        where("datediff(now(), ts) > cast(author as bigint)"),
        meant=UNASKED,
    ),
    case(
        "clock-condition",
        where("date_add(current_date(), author) > d"),
        where("date_add(current_date(), cast(author as int)) > d"),
        meant=UNASKED,
    ),
    case(
        "clock-condition",
        where("(now() - ts) + (now() - due) > interval 1 day"),
        where("(now() - ts) > interval 1 day"),
        meant=UNASKED,
    ),
    *(
        case(
            "odd-assumption",
            Way(TWO, assume=(wrong,)),
            Way(TWO, assume=("r.ts >= m.ts",)),
            Way(TWO, assume=("r.ts >= m.ts - interval 2 days",)),
            meant=UNASKED,
        )
        for wrong in ("((", "r.ts", "r.ts >= m.ts + interval 1 month", "r.ts >= m.due")
    ),
    case(
        "clock-condition",
        where("unix_timestamp(now()) + id / 2 > 5"),
        where("unix_timestamp(now()) + cast(id / 2 as bigint) > 5"),
        meant=UNASKED,
    ),
)
