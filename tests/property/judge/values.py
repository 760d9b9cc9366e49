"""Random expressions of a type, free of time."""

from __future__ import annotations

from datetime import timedelta

from judge.schema import BASE
from judge.scope import Scope, Visible
from judge.tree import Text

COMPARE = ("<", "<=", ">", ">=")


def literal(text: str) -> Text:
    """A constant, the same in both dialects."""
    return Text(text, text)


def hours(scope: Scope, *, small: bool = False) -> int:
    """A whole number of grid steps, in hours."""
    choices = (0, 6, 12, 24) if small else (0, 6, 12, 24, 24, 36, 48, 48)
    return scope.rng.choice(choices)


def interval(scope: Scope, *, signed: bool = True) -> Text:
    """A constant interval on the grid."""
    count = hours(scope)
    if signed and scope.rng.random() < 0.1:
        count = -count
    if count % 24 == 0 and scope.rng.random() < 0.7:
        spark = scope.rng.choice(
            (
                f"INTERVAL {count // 24} DAY",
                f"INTERVAL {count // 24} DAYS",
                f"INTERVAL '{count // 24}' DAY",
            )
        )
        return Text(spark, f"INTERVAL ({count // 24}) DAY")
    spark = scope.rng.choice((f"INTERVAL {count} HOURS", f"INTERVAL '{count}' HOUR"))
    return Text(spark, f"INTERVAL ({count}) HOUR")


def moment(scope: Scope) -> Text:
    """A constant timestamp on the grid."""
    value = BASE + timedelta(hours=6 * scope.rng.randint(0, 12))
    return literal(f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S}'")


def day(scope: Scope) -> Text:
    """A constant date."""
    return literal(f"DATE '{BASE + timedelta(days=scope.rng.randint(0, 4)):%Y-%m-%d}'")


def value(scope: Scope, type_: str, depth: int = 1, **how: float) -> Text:
    """An expression of a type: mostly a column."""
    column = scope.column(type_, **how)
    if column is None or scope.rng.random() < 0.05:
        return constant(scope, type_)
    if depth == 0 or scope.rng.random() < 0.75:
        return column
    maker = {"int": _int, "time": _time, "date": _date, "text": _text}[type_]
    return maker(scope, column)


def constant(scope: Scope, type_: str) -> Text:
    """A constant of a type."""
    rng = scope.rng
    if type_ == "int":
        return literal(rng.choice(("0", "1", "2")))
    if type_ == "text":
        return literal(rng.choice(("'a'", "'b'", "''")))
    return moment(scope) if type_ == "time" else day(scope)


def _int(scope: Scope, column: Text) -> Text:
    form = scope.rng.choice(
        ("({} + 1)", "coalesce({}, 0)", "abs({})", "CASE WHEN {} > 1 THEN 1 ELSE 0 END", "-{}")
    )
    return Text.of(form, column)


def _time(scope: Scope, column: Text) -> Text:
    rng = scope.rng
    roll = rng.random()
    if roll < 0.45:
        return Text.of(rng.choice(("{} + {}", "{} - {}", "({} + {})")), column, interval(scope))
    other = scope.column("time") or moment(scope)
    if roll < 0.75:
        return Text.of(
            rng.choice(("coalesce({}, {})", "greatest({}, {})", "least({}, {})")), column, other
        )
    if roll < 0.85:
        test = scope.column("int") or literal("1")
        return Text.of("CASE WHEN {} = 1 THEN {} ELSE {} END", test, column, other)
    if roll < 0.92:
        return Text.of("date_trunc('DAY', {})", column)
    number = scope.column("int")
    if number is None:
        return column
    return Text.of("{} + INTERVAL '6' HOUR * {}", column, number, duck="{} + to_hours(6 * {})")


def _date(scope: Scope, column: Text) -> Text:
    roll = scope.rng.random()
    if roll < 0.4:
        number = literal(str(scope.rng.choice((0, 1, 1, 2, -1))))
        name = scope.rng.choice(("date_add", "date_sub"))
        return Text.of(
            name + "({}, {})",
            column,
            number,
            duck="({} + ({}))" if name == "date_add" else "({} - ({}))",
        )
    time = scope.column("time")
    if time is None or roll < 0.5:
        return column
    spark = scope.rng.choice(("date({})", "to_date({})", "CAST({} AS DATE)"))
    return Text.of(spark, time, duck="CAST({} AS DATE)")


def _text(scope: Scope, column: Text) -> Text:
    return Text.of(scope.rng.choice(("upper({})", "({} || 'z')", "coalesce({}, 'none')")), column)


def predicate(scope: Scope) -> Text:
    """A condition free of now()."""
    rng = scope.rng
    roll = rng.random()
    if roll < 0.22:
        return key_equality(scope)
    if roll < 0.30:
        return Text.of(
            "{} <=> {}", value(scope, "int"), value(scope, "int"), duck="{} IS NOT DISTINCT FROM {}"
        )
    if roll < 0.45:
        return Text.of(
            "{} " + rng.choice((*COMPARE, "<>", "!=")) + " {}",
            value(scope, "int"),
            constant(scope, "int"),
        )
    if roll < 0.72:
        left, right = value(scope, "time", arrivals=0.5), value(scope, "time", arrivals=0.5)
        return Text.of("{} " + rng.choice((*COMPARE, "=")) + " {}", left, right)
    if roll < 0.80:
        return Text.of(
            rng.choice(("{} IN (1, 2)", "{} NOT IN (1, 3)", "{} IN (1, NULL)")), value(scope, "int")
        )
    if roll < 0.90:
        type_ = rng.choice(("int", "time", "text", "date"))
        return Text.of(
            rng.choice(("{} IS NULL", "{} IS NOT NULL", "{} IS NOT NULL")), value(scope, type_)
        )
    if roll < 0.94:
        return Text.of(rng.choice(("{} LIKE 'a%'", "{} = 'a'", "{} <> 'b'")), value(scope, "text"))
    if roll < 0.98:
        return Text.of(
            "{} " + rng.choice(COMPARE) + " {}", value(scope, "date"), value(scope, "date")
        )
    return literal(rng.choice(("true", "1 = 1", "true", "false", "CAST(NULL AS BOOLEAN)")))


def key_equality(scope: Scope) -> Text:
    """a.k = b.k: what joins and correlates."""
    own = [rel for rel in scope.relations if "int" in rel.columns.values()]
    around = [rel for rel in scope.outer if "int" in rel.columns.values()]
    if not own:
        return literal("true")
    left = scope.rng.choice(own)
    others = (
        around if around and scope.rng.random() < 0.7 else [rel for rel in own if rel is not left]
    )
    if not others:
        return Text.of("{} = {}", _key(scope, left), constant(scope, "int"))
    right = scope.rng.choice(others)
    return Text.of("{} = {}", _key(scope, left), _key(scope, right))


def _key(scope: Scope, relation: Visible) -> Text:
    names = [name for name, type_ in relation.columns.items() if type_ == "int"]
    likely = [name for name in names if name in ("k", "id")]
    name = scope.rng.choice(likely or names)
    return Text(f"{relation.alias}.{name}", f"{relation.key}.{name}", frozenset({relation.key}))
