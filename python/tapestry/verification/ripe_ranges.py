"""Finds the driving rows that become or cease to be answers by time alone in a window.

``now() > m.ts + interval 28 days`` is about messages that arrived four weeks before the window: a
sample of what arrived in it would not see one of them. So the order of the two sides is asked at
tau and at t, and where on the arrival column it changes is found by bisection; between the two lie
the rows for which it changes in the window. Nothing is solved, the engine evaluates the author's
text. It says only where to look: what is found there is judged by the definition.
"""

from __future__ import annotations

from datetime import datetime, timezone

from sqlglot import exp

from tapestry.instants import MICRO, from_micros, micros
from tapestry.verification.atoms import Atoms, Pair
from tapestry.verification.definition import Definition
from tapestry.verification.events import NOW, Ask, bisected, order, over
from tapestry.verification.restriction import Range, arrival_column

LOWEST = micros(datetime(1900, 1, 1, tzinfo=timezone.utc))
HIGHEST = micros(datetime(9000, 1, 1, tzinfo=timezone.utc))
COLUMN, VALUE = "_p._c1", "_value_"
MOST = 2
"""So many comparisons are looked at: each makes a turn larger."""


def ripe_ranges(definition: Definition, ask: Ask, tau: datetime, t: datetime) -> tuple[Range, ...]:
    """Return ranges of the arrival column, one for each comparison of it alone with the clock."""
    drivers = _drivers(definition)
    pairs = [pair for pair in Atoms().of(definition.tree) if _of_one(definition, pair, drivers)]
    texts = list(dict.fromkeys(_ordered(definition, pair) for pair in pairs))[:MOST]
    if not texts:
        return ()
    bounds = [_bound(definition, text, s) for text in texts for s in (tau, t)]
    (found,) = ask(f"SELECT {', '.join(f'{bound} AS b{n}' for n, bound in enumerate(bounds))}")
    ends = [from_micros(int(us)) for us in found]
    between = zip(ends[::2], ends[1::2], strict=True)
    return tuple((min(two), max(two) + MICRO) for two in between)


def _drivers(definition: Definition) -> set[str]:
    arms = range(1, len(definition.by_value) + 1)
    return {found.source for arm in arms if (found := definition.driver(arm)) is not None}


def _of_one(definition: Definition, pair: Pair, drivers: set[str]) -> bool:
    """Return whether a pair reads the arrival column of one driving table, and nothing else."""
    if len(pair.tables) != 1 or not drivers.issuperset(pair.tables.values()):
        return False
    arrival = arrival_column(definition.catalog, *pair.tables.values())
    return [column.name.lower() for column in _columns(pair)] == [arrival.name.lower()]


def _columns(pair: Pair) -> list[exp.Column]:
    """The columns that a pair reads, each once."""
    found = (column for side in (pair.left, pair.right) for column in side.find_all(exp.Column))
    return list(dict.fromkeys(found))


def _ordered(definition: Definition, pair: Pair) -> str:
    """Return SQL for the order of both sides, over ``NOW`` and ``VALUE``."""
    (column,) = _columns(pair)
    kind = arrival_column(definition.catalog, *pair.tables.values()).type
    of_its_type = exp.cast(exp.column(VALUE), exp.DataType.build(kind, dialect="spark"))
    text = VALUE if kind == "timestamp" else definition.sql(of_its_type)
    left, right = (over(definition, side, [column]) for side in (pair.left, pair.right))
    return order(left, right).replace(COLUMN, text)


def _bound(definition: Definition, text: str, s: datetime) -> str:
    """Return SQL for the first value whose order at s differs from that of the lowest, in µs."""
    at_s = text.replace(NOW, definition.instant(s))

    def at(us: str) -> str:
        return at_s.replace(VALUE, definition.at_micros(us))

    first = at(f"CAST({LOWEST} AS BIGINT)")
    return bisected(definition, lambda mid: f"({at(mid)}) <> ({first})", LOWEST, HIGHEST)
