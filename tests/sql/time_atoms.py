"""Comparisons with the clock, and how to judge their solution by the definition.

``truth_at_s`` writes a solved formula as a condition on an instant column ``s``; beside it the atom
itself, with every reading of the clock replaced by ``s``, is the definition.
"""

from __future__ import annotations

from sqlglot import MappingSchema, exp
from sqlglot.optimizer.annotate_types import annotate_types
from tests.sql.truths import solve

from tapestry.sql import timing
from tapestry.sql.ir import And, Condition, Formula, Lower, Or, Upper
from tapestry.sql.read.parse import parse

TYPES = {"ts": "timestamp", "due": "timestamp", "d": "date", "n": "int", "x": "decimal(10,2)"}

SCHEMA = MappingSchema({"t": TYPES}, dialect="spark")

DUCKDB_TOO = (
    "now() > ts",
    "now() >= ts",
    "now() < ts",
    "now() <= ts",
    "now() = ts",
    "now() <> ts",
    "now() <=> ts",
    "ts < now()",
    "ts >= now()",
    "now() - interval 28 hours > ts",
    "now() + interval 3 hours <= ts",
    "interval 3 hours + now() <= ts",
    "now() - ts > interval 5 hours",
    "ts - now() > interval 5 hours",
    "ts - now() <= interval 0 hours",
    "now() - (ts - due) > ts",
    "now() + (ts - due) <= due",
    "now() - ts > due - ts",
    "now() - ts <= (due - ts) + interval 1 hour",
    "now() - ts - interval 1 hour >= due - ts",
    "interval 5 hours - (now() - ts) > interval 2 hours",
    "due - now() >= ts - due",
    "now() - interval '1 day 2 hours' > ts",
    "now() + interval '-1 day 1 hour 30 minutes' < ts",
    "current_date() + interval 3 hours > ts",
    "current_date() - interval '1 day 2 hours' <= d",
    "current_date() + (ts - due) >= due",
    "now() > d",
    "now() <= d",
    "now() > '2026-01-02 03:00:00'",
    "current_date() > d",
    "current_date() >= d",
    "current_date() < d",
    "current_date() <= d",
    "current_date() = d",
    "current_date() <> d",
    "current_date() > ts",
    "current_date() >= ts",
    "current_date() < ts",
    "current_date() <= ts",
    "current_date() = ts",
    "current_date() - interval 1 day < d",
    "now() > d + interval 12 hours",
    "current_date() >= d + interval 12 hours",
    "current_date() >= date_trunc('hour', ts)",
    "current_date() < nvl2(n, ts, ts + interval 1 day)",
    "datediff(now(), ts) < cast(n as bigint) * 3000000000",
    "datediff(now(), ts) >= n * 1e300",
    "year(now()) > cast(n as bigint) * 3000000000",
    "timestampdiff(hour, ts, now()) > cast(n as bigint) * 3000000000",
    "current_date() + interval 2 days >= ts",
    "date(now()) = d",
    "to_date(now()) <= d",
    "cast(now() as date) > date '2026-01-02'",
    "date(now() - interval 5 hours) >= d",
    "date_trunc('hour', now()) >= ts",
    "date_trunc('hour', now()) > ts",
    "date_trunc('hour', now()) < ts",
    "date_trunc('hour', now()) <= ts",
    "date_trunc('hour', now()) = ts",
    "date_trunc('day', now()) >= ts",
    "date_trunc('day', now()) = ts",
    "date_trunc('week', now()) > ts",
    "date_trunc('month', now()) = ts",
    "date_trunc('year', now() + interval 3 hours) <= ts",
    "year(now()) >= n",
    "year(now()) < n",
    "year(now()) = n",
    "extract(year from now()) > n",
    "timestamp '2026-01-02 00:00:00' <= now()",
    "now() between ts and due",
    "add_months(current_date(), -1) >= d",
    "add_months(current_date(), 13) < ts",
    "last_day(current_date()) > d",
    "last_day(current_date()) <= d",
    "current_date() - interval 1 month >= d",
    "d > current_date() - interval 1 month",
    "current_date() + interval 1 year <= due",
    "interval 1 month + current_date() <> d",
    "date(now()) - interval '1' month = d",
    "d between current_date() - interval 1 month and current_date()",
)

SPARK_ONLY = (
    "now() - interval 1 day 2 hours >= ts",
    "now() - n * interval 1 hour >= ts",
    "now() - cast('1' as interval day) > ts",
    "current_date() - cast('1' as interval day) > d",
    "current_date() - (d - date '2026-01-01') > d",
    "current_date() + interval 27 hours > '2026-01-02 03:00:00'",
    "now() - interval '1 2:03:04' day to second < ts",
    "timestampadd(hour, n, now()) > ts",
    "dateadd(minute, -30, now()) <= ts",
    "date_trunc('quarter', now()) >= ts",
    "trunc(now(), 'MM') >= d",
    "trunc(now(), 'year') > d",
    "trunc(now(), 'MM') = d",
    "unix_timestamp(now()) > unix_timestamp(ts)",
    "unix_timestamp() >= unix_timestamp(ts) + 3600",
    "unix_timestamp(now()) - unix_timestamp(ts) >= 7200",
    "unix_timestamp(now()) - unix_timestamp(ts) = 7200",
    "unix_timestamp(ts) - unix_timestamp(now()) > n",
    "unix_seconds(now()) <= unix_seconds(due)",
    "unix_millis(now()) <= unix_millis(due)",
    "unix_micros(now()) < unix_micros(due)",
    "unix_micros(now()) >= unix_micros(due) + n",
    "unix_timestamp(now()) > unix_timestamp(ts) + x",
    "unix_timestamp(now()) > n * 875000",  # an INT, of which the microseconds are none
    "n * 875000 >= unix_seconds(now())",
    "unix_timestamp(now()) >= 1767326400",
    "unix_timestamp(now()) < cast(unix_timestamp(ts) as int) + 3600",
    "datediff(now(), ts) >= 1",
    "datediff(now(), ts) > n",
    "datediff(now(), d) = n",
    "datediff(now(), d) <= x",
    "datediff(d, now()) >= n",
    "datediff(d, now()) > n",
    "datediff(d, now()) < n",
    "datediff(d, now()) <= n",
    "datediff(d, now()) = n",
    "date_add(current_date(), n) >= d",
    "date_sub(current_date(), n) < d",
    "date_add(now(), 2) = d",
    "date_sub(current_date(), 1) > ts",
    "current_date() - 2 < d",
    "current_date() - d > interval 1 day",
    "timestampdiff(hour, ts, now()) >= n",
    "timestampdiff(hour, ts, now()) > n",
    "timestampdiff(hour, ts, now()) = n",
    "timestampdiff(hour, ts, now()) < n",
    "timestampdiff(hour, ts, now()) >= 0",
    "timestampdiff(hour, ts, now()) <= -1",
    "timestampdiff(day, ts, now()) > 0",
    "timestampdiff(hour, now(), due) >= n",
    "timestampdiff(hour, now(), due) <= n",
    "timestampdiff(hour, now(), due) = 0",
    "datediff(day, ts, now()) > n",  # with a unit: whole ones, as timestampdiff counts them
    "date_diff(hour, ts, now()) >= n",
    "timediff(day, now(), due) <= n",
    "case when n > 0 then now() else due end > ts",
    "if(n > 0, current_date(), d) > date '2026-01-02'",
    "case when n > 0 then now() - interval 1 day when n < 0 then now() else due end <= ts",
    "now() in (ts, nullif(ts, due))",
    "add_months(current_date(), n) > d",
    "add_months(now(), -1) = d",
    "last_day(now()) >= d",
    "current_date() - interval 1 year 2 months < d",
    "current_date() - n * interval 1 month < d",
    "trunc(add_months(current_date(), -1), 'MM') > d",
    "add_months(trunc(current_date(), 'MM'), -1) <= d",
    "last_day(add_months(current_date(), -1)) < d",
    "date_sub(last_day(current_date()), 1) >= d",
    "dateadd(month, -1, current_date()) > ts",
    "timestampadd(year, 1, current_date()) <= ts",
    "timestampadd(quarter, n, current_date()) <= ts",
)


def conditions_at_s(text: str) -> tuple[exp.Expr, dict[str, exp.Expr]]:
    """The atom with s for the clock; its solutions 'true', 'false' and 'unknown' as conditions."""
    tree = parse(f"select {text}").selects[0]
    for column in tree.find_all(exp.Column):
        column.set("table", exp.to_identifier("t"))
    query = annotate_types(
        exp.select(exp.alias_(tree, "atom")).from_("t"), schema=SCHEMA, dialect="spark"
    )
    tree = query.selects[0].this
    solved = {wanted: truth_at_s(solve(tree, wanted)) for wanted in ("true", "false", "unknown")}
    return _with_clock(tree), solved


def truth_at_s(formula: Formula) -> exp.Expr:
    """A formula of bounds and conditions as SQL over the instant column s; never unknown."""
    if isinstance(formula, And | Or):
        combine = exp.And if isinstance(formula, And) else exp.Or
        result: exp.Expr = exp.Boolean(this=isinstance(formula, And))
        for part in formula.parts:
            result = combine(
                this=exp.Paren(this=result), expression=exp.Paren(this=truth_at_s(part))
            )
        return result
    s = exp.column("s")
    if isinstance(formula, Lower):
        node: exp.Expr = exp.LTE(this=formula.bound.copy(), expression=s)
    elif isinstance(formula, Upper):
        node = exp.LT(this=s, expression=formula.bound.copy())
    else:
        assert isinstance(formula, Condition)
        node = formula.sql.copy()
    return exp.Coalesce(this=timing.wrapped(node), expressions=[exp.false()])


def _with_clock(tree: exp.Expr) -> exp.Expr:
    def replace(node: exp.Expr) -> exp.Expr:
        if not timing.is_now(node):
            return node
        date = isinstance(node, exp.CurrentDate)
        return exp.cast(exp.column("s"), "date") if date else exp.column("s")

    return tree.copy().transform(replace)
