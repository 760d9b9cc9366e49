"""Random conjunctions over typed columns, and rows that fulfil them, near the ends of ranges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from sqlglot import exp, parse_one
from tests.sql.spark_values import (
    BITS,
    EXACT,
    Evaluation,
    Value,
    digits_of,
    fitted,
    holds,
    wrapped,
)

Key = tuple[str, str]
ALONE: dict[str, tuple[str, ...]] = {
    "int": ("int",),
    "tinyint": ("tinyint",),
    "bigint": ("bigint",),
    "integers": ("tinyint", "smallint", "int", "bigint"),
    "amounts": ("decimal(15,2)",),
    "decimals": ("decimal(5,2)", "decimal(9,0)", "decimal(15,2)", "decimal(20,10)"),
    "large decimals": ("decimal(38,10)", "decimal(38,0)", "decimal(38,37)", "decimal(30,20)"),
    "double": ("double",),
    "date": ("date",),
    "timestamp": ("timestamp",),
    "numbers": ("int", "bigint", "decimal(15,2)", "decimal(38,10)", "double"),
    "doubles of others": ("bigint", "double", "decimal(20,10)"),
    "text": ("string", "boolean", "int"),
}
"""Names of columns' types that a conjunction is over: each type also by itself."""
DOUBLES = (0.1, 0.5, 3.0, -2.5, 1e-3, 7.3, 1e16, 1e308, -1e308, 5e-324)
DAYS = ("2024-01-30", "2024-01-31", "2024-02-29", "2023-12-31", "1970-01-01", "2024-03-31")
TEXTS = ("a", "b", "B", "", "a ")


def kinds_like(kind: str, kinds: Iterable[str]) -> list[str]:
    numbers = kind in BITS or kind.startswith(("decimal", "double"))
    return [k for k in kinds if k == kind or (numbers and (k in BITS or k[:2] in ("de", "do")))]


@dataclass
class Conjunctions:
    """Makes conditions over columns ``r1.a``, … of some types."""

    random: Random
    kinds: Sequence[str]
    types: dict[Key, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for alias in ("r1", "r2", "r3")[: self.random.choice((2, 3, 3))]:
            for name in ("a", "b")[: self.random.choice((1, 2))]:
                self.types[alias, name] = self.random.choice(self.kinds)

    def some(self) -> list[exp.Expr]:
        count = self.random.randint(2, 6)
        return [self.typed(self.condition(2)) for _ in range(count)]

    def typed(self, text: str) -> exp.Expr:
        tree = parse_one(text, dialect="spark")
        for column in tree.find_all(exp.Column):
            kind = self.types[column.table, column.name]
            column.type = exp.DataType.build(kind, dialect="spark")
        return tree

    def condition(self, depth: int) -> str:
        key = self.random.choice(list(self.types))
        kind = self.types[key]
        chance = self.random.random()
        if depth and chance < 0.1:
            arms = [self.condition(depth - 1) for _ in range(self.random.randint(2, 3))]
            return f"({' OR '.join(arms)})"
        if depth and chance < 0.14:
            return f"({self.condition(depth - 1)} AND {self.condition(depth - 1)})"
        if kind == "boolean":
            return self.random.choice((self.column(key), f"NOT {self.column(key)}"))
        if chance < 0.22:
            values = [self.constant(kind) for _ in range(self.random.randint(1, 4))]
            return f"{self.column(key)} IN ({', '.join(values)})"
        if chance < 0.3:
            low, high = self.constant(kind), self.constant(kind)
            return f"{self.expression(kind, 1)} BETWEEN {low} AND {high}"
        operator = self.random.choice(("=", "=", "<", "<=", ">", ">=", "<>", "<=>", ">", "<"))
        right = self.constant(kind) if self.random.random() < 0.4 else self.expression(kind, 2)
        sides = [self.expression(kind, 1), right]
        self.random.shuffle(sides)
        text = f"{sides[0]} {operator} {sides[1]}"
        return f"NOT {text}" if chance > 0.96 and operator != "<=>" else text

    def column(self, key: Key) -> str:
        return f"{key[0]}.{key[1]}"

    def expression(self, kind: str, depth: int) -> str:
        like = kinds_like(kind, self.kinds)
        keys = [key for key, one in self.types.items() if one in like]
        column = self.column(self.random.choice(keys)) if keys else self.constant(kind)
        if not depth or kind in ("string", "boolean") or self.random.random() < 0.5:
            return column
        if kind == "date":
            return f"{column} {self.random.choice('+-')} {self.days()}"
        if kind == "timestamp":
            return f"{column} {self.random.choice('+-')} {self.interval()}"
        return self.arithmetic(kind, column, depth)

    def arithmetic(self, kind: str, column: str, depth: int) -> str:
        chance = self.random.random()
        if chance < 0.1:
            return f"-{column}"
        if chance < 0.2:
            return f"CAST({column} AS {self.wide(column)})"
        if chance < 0.3:
            divisor = next(c for c in iter(lambda: self.constant(kind), None) if not zero(c))
            return f"{column} / {divisor}"
        other = self.constant(kind)
        if self.random.random() < 0.3:
            other = f"({self.expression(kind, depth - 1)})"
        sides = [column, other]
        self.random.shuffle(sides)
        return f"{sides[0]} {self.random.choice('+-**')} {sides[1]}"

    def wide(self, column: str) -> str:
        alias, _, name = column.partition(".")
        kind = self.types.get((alias, name), "int")
        if kind in BITS:
            return self.random.choice(("bigint", "double", "decimal(20,0)"))
        if kind.startswith("decimal"):
            return self.random.choice(("double", "decimal(38,10)", "decimal(10,1)"))
        return kind

    def days(self) -> str:
        count = self.random.choice((0, 1, 3, 10, 400))
        return self.random.choice((f"{count}", f"INTERVAL '{count}' DAY", "INTERVAL '1' MONTH"))

    def interval(self) -> str:
        unit = self.random.choice(("DAY", "HOUR", "MINUTE", "SECOND", "MONTH"))
        return f"INTERVAL '{self.random.choice((0, 1, 3, 25, 30))}' {unit}"

    def constant(self, kind: str) -> str:
        if kind in BITS:
            edge = 1 << (BITS[kind] - 1)
            near = self.random.choice((0, 1, 2, 5, 7, 100, -3, -50, edge - 3, 2 - edge))
            return str(near)
        if kind.startswith("decimal"):
            scale = min(digits_of(kind)[1], 6)
            whole = self.random.choice((0, 1, 10, 99, 100, 123, 5000))
            part = self.random.randrange(10**scale)
            text = (
                f"{whole}.{part:0{scale}d}" if scale and self.random.random() < 0.7 else f"{whole}"
            )
            return self.random.choice(("", "", "-")) + self.random.choice((text, "0.5", "2"))
        if kind == "double":
            doubles = [as_double(value) for value in (*DOUBLES, 0.0)]
            return self.random.choice((*doubles, "3", "0.1"))
        if kind == "date":
            return f"DATE'{self.random.choice(DAYS)}'"
        if kind == "timestamp":
            return f"TIMESTAMP'{self.random.choice(DAYS)} 0{self.random.randint(0, 9)}:00:00'"
        return f"'{self.random.choice(TEXTS)}'"


def as_double(value: float) -> str:
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def zero(text: str) -> bool:
    return not any(digit in text for digit in "123456789")


# -- rows ------------------------------------------------------------------------------------------
def near(kind: str, value: Any, random: Random) -> Any:
    """A value of the type at or close to another one."""
    step = random.choice((0, 0, 0, 1, -1, 1, -1, 2, -2, 10, -10))
    if value is None:
        return None
    if kind in BITS:
        return wrapped(int(value) + step, BITS[kind])
    if kind.startswith("decimal"):
        scale = digits_of(kind)[1]
        return fitted(EXACT.add(Decimal(value), Decimal(step).scaleb(-scale)), kind)
    if kind == "double":
        found = float(value)
        for _ in range(abs(step) % 5):
            found = math.nextafter(found, math.inf if step > 0 else -math.inf)
        return found
    if kind in ("date", "timestamp"):
        return int(value) + step * random.choice((1, 86_400_000_000 if kind == "timestamp" else 1))
    return value


def fresh(kind: str, random: Random) -> Any:
    """Any value of a type, the ends of the type among them."""
    if random.random() < 0.04:
        return None
    if kind in BITS:
        half = 1 << (BITS[kind] - 1)
        return random.choice((-half, half - 1, half - 2, 0, random.randint(-half, half - 1), 5, -5))
    if kind.startswith("decimal"):
        precision, scale = digits_of(kind)
        most = 10**precision - 1
        return Decimal(random.choice((most, -most, 0, random.randint(-most, most), 1))).scaleb(
            -scale, EXACT
        )
    if kind == "double":
        special = (math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 1.7976931348623157e308)
        return random.choice((*special, *DOUBLES, random.uniform(-1e3, 1e3)))
    day = (date.fromisoformat(random.choice(DAYS)) - date(1970, 1, 1) + timedelta(0)).days
    if kind == "date":
        return random.choice((day, day + random.randint(-800, 800)))
    if kind == "timestamp":
        return day * 86_400_000_000 + random.randint(-(10**12), 10**12)
    return random.choice((True, False)) if kind == "boolean" else random.choice(TEXTS)


def rows_of(
    types: dict[Key, str],
    conditions: Sequence[exp.Expr],
    wanted: tuple[Key, Any] | None,
    random: Random,
    zone: str = "UTC",
) -> dict[Key, Value] | None:
    """A row that fulfils conditions, sought by mending what is broken; ``wanted`` stays."""
    row = {key: (kind, fresh(kind, random)) for key, kind in types.items()}
    if wanted is not None:
        row[wanted[0]] = types[wanted[0]], wanted[1]
    for _ in range(25):
        broken = [one for one in conditions if safely(one, row, zone) is not True]
        if not broken:
            return row
        mend(random.choice(broken), row, types, None if wanted is None else wanted[0], random, zone)
    return None


def safely(one: exp.Expr, row: dict[Key, Value], zone: str) -> bool | None:
    try:
        return holds(one, row, zone)
    except (OverflowError, ValueError):
        return None


def mend(
    condition: exp.Expr,
    row: dict[Key, Value],
    types: dict[Key, str],
    fixed: Key | None,
    random: Random,
    zone: str,
) -> None:
    """Give one of its columns a value near to what another side of it has."""
    columns = [(c.table, c.name) for c in condition.find_all(exp.Column)]
    keys = [key for key in columns if key != fixed]
    if not keys:
        return
    key = random.choice(keys)
    kind = types[key]
    values = []
    for node in condition.find_all(exp.Literal, exp.Column, exp.Binary, exp.Cast):
        try:
            name, value = Evaluation(row, zone).of(node)
        except (OverflowError, ValueError, AssertionError):
            continue
        if value is not None and kind in kinds_like(name, [kind]):
            values.append(value)
    if not values or random.random() < 0.1:
        row[key] = kind, fresh(kind, random)
        return
    value = random.choice(values)
    if isinstance(value, float) and not math.isfinite(value) and kind != "double":
        return
    row[key] = kind, near(kind, Decimal(value) if kind.startswith("decimal") else value, random)
