"""What must hold of the figures is found to hold, and is found not to."""

from __future__ import annotations

from typing import Any

from benchmarks.trading import held


def found(**units: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Units with what was measured at 0.5 and 3 seconds."""
    return {
        unit: dict(zip(("0",) if unit == "none" else ("0.5", "3"), measured, strict=True))
        for unit, measured in units.items()
    }


def counts(*numbers: int) -> list[dict[str, Any]]:
    return [{"batches": one} for one in numbers]


def test_figure_10() -> None:
    right = found(none=counts(100), unique=counts(3_600, 600), target=counts(800, 300))
    assert [one.met for one in held.fig10(right)] == [True] * 5
    wrong = found(none=counts(100), unique=counts(3_601, 601), target=counts(290, 299))
    assert [one.met for one in held.fig10(wrong)] == [False] * 5


def costs(*pairs: tuple[float, float]) -> list[dict[str, Any]]:
    return [{"cpu": cpu, "rows": rows, "length": cpu} for cpu, rows in pairs]


def test_figure_9() -> None:
    right = found(
        none=costs((1, 10)), unique=costs((0.9, 3), (0.1, 1)), symbol=costs((1, 9), (0.9, 8)),
        target=costs((1.2, 3), (0.4, 2)),
    )  # fmt: skip
    assert all(one.met for one in held.fig9(right))
    wrong = found(
        none=costs((1, 10)), unique=costs((0.1, 3), (0.41, 3)), symbol=costs((1, 9), (0.4, 8)),
        target=costs((0.1, 3), (0.5, 2.1)),
    )  # fmt: skip
    assert [one for one in held.fig9(wrong) if one.met] == []


def test_the_other_figures() -> None:
    lengths = found(
        none=costs((1, 10)), unique=costs((1, 1), (10, 1)), symbol=costs((1, 1), (1, 1)),
        target=costs((1, 1), (0.11, 1)),
    )  # fmt: skip
    assert [one.met for one in held.fig11(lengths)] == [True, True, False]
    assert not held.fig13(lengths)[0].met
    options = found(none=costs((1, 10)), unique=costs((1, 9), (0.9, 8)),
                    symbol=costs((1, 9), (0.91, 8)))  # fmt: skip
    assert [one.met for one in held.fig12(options)] == [True, False, False]
    assert str(held.fig12(options)[1]) == "MISSED: symbol, 3 s: cpu ≤ 0.9 of none: 0.91"
