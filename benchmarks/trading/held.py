"""What must hold of each figure: the paper's shape, as numbers that are checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchmarks.markdown import table

Found = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Unit -> delay -> what was counted and measured."""
SAID = {"target": "comp"}


@dataclass(frozen=True)
class Held:
    """One thing that must hold, and what was found."""

    said: str
    found: str
    met: bool

    def __str__(self) -> str:
        return f"{'met' if self.met else 'MISSED'}: {self.said}: {self.found}"


def listed(checks: list[Held]) -> str:
    """The checks of a figure as a table of the page."""
    rows = [[one.said, one.found, "**met**" if one.met else "**missed**"] for one in checks]
    return table(["must hold", "found", ""], rows)


def report(checks: list[Held]) -> None:
    """Say on the terminal what holds and what does not."""
    for one in checks:
        print(one)


def ratio(found: Found, what: str, unit: str, delay: str, to: str = "none") -> float:
    """A number of one unit over that of another, for the same delay."""
    other = found[to].get(delay) or found[to]["0"]
    return float(found[unit][delay][what] / other[what])


def at_most(found: Found, what: str, unit: str, bound: float) -> Held:
    """A unit takes at 3 s no more than a part of what is taken without `unique`."""
    one = ratio(found, what, unit, "3")
    said = f"{SAID.get(unit, unit)}, 3 s: {what} ≤ {bound:g} of none"
    return Held(said, f"{one:.2f}", one <= bound)


def at_least(found: Found, unit: str, to: str, factor: float) -> Held:
    """A unit's batches take at 3 s a multiple of another's."""
    one = ratio(found, "length", unit, "3", to)
    said = f"3 s: a batch of {unit} ≥ {factor:g} × one of {SAID.get(to, to)}"
    return Held(said, f"{one:.0f} ×", one >= factor)


def fig10(found: Found) -> list[Held]:
    """The number of recomputations of comp_prices."""
    first, last = (ratio(found, "batches", "target", delay) for delay in ("0.5", "3"))
    counts = [one["batches"] for one in found["target"].values()]
    falls = all(after < before for before, after in pairwise(counts))
    checks = [
        Held("comp / none ≥ 8 at 0.5 s", f"{first:.1f}", first >= 8),
        Held("it falls with the delay", ", ".join(f"{n:,}" for n in counts), falls),
        Held("comp / none ≥ 3 at 3 s", f"{last:.1f}", last >= 3),
    ]
    for delay, one in found["unique"].items():
        most = 1_800 / float(delay)
        said = f"unique ≤ 1,800 s / {delay} s = {most:,.0f}"
        checks.append(Held(said, f"{one['batches']:,}", one["batches"] <= most))
    return checks


def fig9(found: Found) -> list[Held]:
    """Processor time of comp_prices."""
    checks = [at_most(found, what, unit, bound) for unit in ("unique", "target")
              for what, bound in (("cpu", 0.4), ("rows", 0.2))]  # fmt: skip
    for unit in ("unique", "target"):
        spent = [one["cpu"] for one in found[unit].values()]
        falls = all(after < before for before, after in pairwise(spent))
        parts = ", ".join(f"{one / found['none']['0']['cpu']:.2f}" for one in spent)
        said = f"{SAID.get(unit, unit)}: it falls with the delay"
        checks.append(Held(said, parts, falls))
    least = min(("unique", "symbol", "target"), key=lambda unit: found[unit]["3"]["cpu"])
    return [*checks, Held("unique is the least at 3 s", least, least == "unique")]


def fig11(found: Found) -> list[Held]:
    """How long a batch of comp_prices takes."""
    return [at_least(found, "unique", to, factor)
            for to, factor in (("none", 10), ("symbol", 10), ("target", 100))]  # fmt: skip


def fig12(found: Found) -> list[Held]:
    """Processor time of option_prices."""
    parts = {unit: found[unit]["3"]["rows"] for unit in ("symbol", "unique")}
    none = found["none"]["0"]["rows"]
    ordered = parts["symbol"] < parts["unique"] < none
    said = f"{parts['symbol'] / none:.2f}, {parts['unique'] / none:.2f}, 1"
    return [
        *(at_most(found, "cpu", unit, 0.9) for unit in ("unique", "symbol")),
        Held("3 s: rows of symbol < unique < none", said, ordered),
    ]


def fig13(found: Found) -> list[Held]:
    """How long a batch of option_prices takes."""
    return [at_least(found, "unique", "symbol", 30)]
