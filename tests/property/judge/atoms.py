"""Random time atoms: comparisons with now(), of every kind that section 2 of the semantics lists.

Each maker gives both texts; the DuckDB one says in arithmetic what the Spark function means; both
are compared on Spark by `tests/spark/test_random_queries.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from judge import values
from judge.schema import GRID
from judge.scope import Scope
from judge.tree import HOUR, Text

SECOND = 1_000_000
UNITS = {"MINUTE": 60 * SECOND, "HOUR": HOUR, "DAY": 24 * HOUR, "SECOND": SECOND}
OPERATORS = ("<", "<=", ">", ">=") * 4 + ("=", "<>", "!=")


def now(scope: Scope) -> Text:
    """The current instant, in one of its spellings."""
    spark = scope.rng.choice(
        ("now()", "now()", "now()", "current_timestamp()", "current_timestamp", "NOW()")
    )
    return Text(spark, "$now")


def today(scope: Scope) -> Text:
    """The current date, in one of its spellings."""
    spark = scope.rng.choice(
        ("current_date()", "current_date()", "current_date", "curdate()", "date(now())",
         "to_date(now())",          "CAST(now() AS DATE)", "to_date(current_timestamp())")
    )  # fmt: skip
    return Text(spark, "CAST($now AS DATE)")


def compare(scope: Scope, left: Text, right: Text, **more: tuple[int, ...]) -> Text:
    """left op right, either way round."""
    operator = scope.rng.choice(OPERATORS)
    if scope.rng.random() < 0.04:
        return Text.of("{} <=> {}", left, right, duck="{} IS NOT DISTINCT FROM {}", **more)
    if scope.rng.random() < 0.4:
        left, right = right, left
    return Text.of("{} " + operator + " {}", left, right, **more)


def moment(scope: Scope, **how: float) -> Text:
    """Something to compare now() with: mostly a row's time."""
    if scope.rng.random() < 0.06:
        return values.value(scope, "date", **how)
    return values.value(scope, "time", **how)


def plain(scope: Scope) -> Text:
    """now() op e."""
    return compare(scope, now(scope), moment(scope))


def shifted(scope: Scope) -> Text:
    """now() ± interval op e."""
    form = scope.rng.choice(("{} - {}", "{} - {}", "{} + {}", "({} - {})"))
    return compare(scope, Text.of(form, now(scope), values.interval(scope)), moment(scope))


def window(scope: Scope) -> Text:
    """The usual shape: a row counts for a while."""
    row = values.value(scope, "time", depth=0, arrivals=0.7)
    length = Text.of("{}", values.interval(scope, signed=False))
    operator = scope.rng.choice((">", ">=", "<", "<="))
    if scope.rng.random() < 0.5:
        return Text.of("{} " + operator + " {} - {}", row, now(scope), length)
    return Text.of("{} " + operator + " {} + {}", now(scope), row, length)


def age(scope: Scope) -> Text:
    """now() - e op interval."""
    row = values.value(scope, "time", depth=0)
    form = scope.rng.choice(("{} - {}", "({} - {})"))
    left = Text.of(form, now(scope), row, duck="(epoch_us({}) - epoch_us({}))")
    if scope.rng.random() < 0.25:
        left = Text.of(form, row, now(scope), duck="(epoch_us({}) - epoch_us({}))")
    count = values.hours(scope)
    spark = (
        f"INTERVAL {count} HOURS"
        if count % 24 or scope.rng.random() < 0.3
        else f"INTERVAL '{count // 24}' DAY"
    )
    return compare(scope, left, Text(spark, str(count * HOUR)))


def between(scope: Scope) -> Text:
    """[NOT] BETWEEN."""
    word = scope.rng.choice(("BETWEEN", "BETWEEN", "NOT BETWEEN"))
    if scope.rng.random() < 0.5:
        row = values.value(scope, "time", depth=0)
        low = Text.of("{} - {}", now(scope), values.interval(scope))
        high = (
            now(scope)
            if scope.rng.random() < 0.5
            else Text.of("{} + {}", now(scope), values.interval(scope))
        )
        return Text.of("{} " + word + " {} AND {}", row, low, high)
    low, high = (
        moment(scope),
        Text.of("{} + {}", values.value(scope, "time", depth=0), values.interval(scope)),
    )
    middle = (
        now(scope)
        if scope.rng.random() < 0.8
        else Text.of("{} - {}", now(scope), values.interval(scope))
    )
    return Text.of("{} " + word + " {} AND {}", middle, low, high)


def in_list(scope: Scope) -> Text:
    """IN, NOT IN a list."""
    form = scope.rng.choice(("{} IN ({}, {})", "{} IN ({}, {})", "{} NOT IN ({}, {})"))
    if scope.rng.random() < 0.4:
        return Text.of(form, now(scope), values.value(scope, "time"), values.value(scope, "time"))
    return Text.of(form, today(scope), values.value(scope, "date"), values.day(scope))


def dates(scope: Scope) -> Text:
    """current_date() op d, date_add, date_sub."""
    row = (
        values.value(scope, "date")
        if scope.rng.random() < 0.8
        else values.value(scope, "time", depth=0)
    )
    roll, number = scope.rng.random(), values.literal(str(scope.rng.choice((0, 1, 1, 2, -1))))
    if roll < 0.5:
        return compare(scope, today(scope), row)
    if roll < 0.65:
        return compare(
            scope, Text.of("date_add({}, {})", today(scope), number, duck="({} + ({}))"), row
        )
    if roll < 0.8:
        return compare(
            scope, Text.of("date_sub({}, {})", today(scope), number, duck="({} - ({}))"), row
        )
    if roll < 0.9:
        days = scope.rng.choice((1, 2))
        return compare(
            scope, Text.of("{} - {}", today(scope), Text(f"INTERVAL {days} DAY", str(days))), row
        )
    return compare(scope, Text.of("{} + {}", today(scope), values.literal("1")), row)


def truncated(scope: Scope) -> Text:
    """date_trunc(u, now()) op e."""
    unit = scope.rng.choice(("DAY", "DAY", "HOUR", "WEEK", "MONTH", "YEAR", "day", "QUARTER"))
    left = Text.of(
        f"date_trunc('{unit}', {{}})",
        now(scope),
        duck=f"CAST(date_trunc('{unit}', {{}}) AS TIMESTAMP)",
    )
    right = moment(scope)
    if scope.rng.random() < 0.4:
        row = values.value(scope, "time", depth=0)
        right = Text.of(
            f"date_trunc('{unit}', {{}})",
            row,
            duck=f"CAST(date_trunc('{unit}', {{}}) AS TIMESTAMP)",
        )
    return compare(scope, left, right, offsets=(HOUR,) if unit == "HOUR" else ())


def unix(scope: Scope) -> Text:
    """unix_timestamp(now()), unix_micros(now()) op a number."""
    name, size, offset = scope.rng.choice(
        (("unix_timestamp", 1_000_000, SECOND), ("unix_seconds", 1_000_000, SECOND),
         ("unix_micros", 1, 0), ("unix_millis", 1000, 1000))
    )  # fmt: skip
    duck = "epoch_us({})" if size == 1 else f"(epoch_us({{}}) // {size})"
    left = Text.of(f"{name}({{}})", now(scope), duck=duck)
    if name == "unix_timestamp" and scope.rng.random() < 0.3:
        left = Text("unix_timestamp()", duck.format("$now"))
    right = Text.of(f"{name}({{}})", values.value(scope, "time", depth=0), duck=duck)
    number = values.literal(str(scope.rng.choice((0, 6, 12, 24, 48)) * HOUR // size))
    roll = scope.rng.random()
    if roll < 0.3:
        return compare(scope, left, right, offsets=(offset,))
    if roll < 0.6:
        return compare(scope, left, Text.of("{} + {}", right, number), offsets=(offset,))
    if roll < 0.8:
        return compare(scope, Text.of("{} - {}", left, number), right, offsets=(offset,))
    return compare(scope, Text.of("{} - {}", left, right), number, offsets=(offset, GRID - offset))


def days_apart(scope: Scope) -> Text:
    """datediff(now(), e) op n."""
    row = values.value(scope, scope.rng.choice(("time", "date")), depth=0)
    here = now(scope) if scope.rng.random() < 0.5 else today(scope)
    pair = (here, row) if scope.rng.random() < 0.7 else (row, here)
    left = Text.of("datediff({}, {})", *pair, duck="(CAST({} AS DATE) - CAST({} AS DATE))")
    right = values.literal(str(scope.rng.choice((0, 1, 1, 2, -1))))
    if scope.rng.random() < 0.15:
        right = values.value(scope, "int", depth=0)
    return compare(scope, left, right)


def units_apart(scope: Scope) -> Text:
    """timestampdiff(u, e, now()) op n: counts towards zero."""
    unit = scope.rng.choice(("HOUR", "HOUR", "DAY", "DAY", "MINUTE", "SECOND"))
    size = UNITS[unit]
    row, here = values.value(scope, "time", depth=0), now(scope)
    pair = (row, here) if scope.rng.random() < 0.7 else (here, row)
    duck = f"CAST(trunc((epoch_us({{1}}) - epoch_us({{0}})) / {size}.0) AS BIGINT)"
    left = Text.of(f"timestampdiff({unit}, {{0}}, {{1}})", *pair, duck=duck)
    count = (
        scope.rng.choice((0, 0, 1, 2, -1))
        if unit == "DAY"
        else scope.rng.choice((0, 0, 6, 12, 24, -6)) * HOUR // size
    )
    return compare(scope, left, values.literal(str(count)), offsets=(size % GRID, -size % GRID))


def years(scope: Scope) -> Text:
    """year(now()) op n."""
    left = Text(
        scope.rng.choice(("year(now())", "year(current_date())", "year(now())")), "year($now)"
    )
    right = values.literal(scope.rng.choice(("2023", "2024", "2024")))
    if scope.rng.random() < 0.4:
        right = Text.of("year({})", values.value(scope, "time", depth=0))
    return compare(scope, left, right)


def both_sides(scope: Scope) -> Text:
    """Arithmetic on both sides."""
    left = Text.of("{} + {}", now(scope), values.interval(scope))
    right = Text.of("{} + {}", values.value(scope, "time"), values.interval(scope))
    return compare(scope, left, right)


def constant(scope: Scope) -> Text:
    """now() op a constant."""
    return compare(scope, now(scope), values.moment(scope))


KINDS: tuple[tuple[int, Callable[[Scope], Text]], ...] = (
    (14, plain), (12, shifted), (22, window), (6, age), (8, between), (4, in_list), (7, dates),
    (5, truncated), (6, unix), (5, days_apart), (6, units_apart), (2, years), (3, both_sides),
    (2, constant),
)  # fmt: skip


def atom(scope: Scope) -> Text:
    """A random time atom."""
    kinds = [kind for _, kind in KINDS]
    return scope.rng.choices(kinds, [weight for weight, _ in KINDS])[0](scope)
