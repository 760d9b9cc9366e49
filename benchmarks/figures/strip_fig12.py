"""STRIP, Figure 12: processor time to keep option_prices, by unit of batching and delay.

``python -m benchmarks.figures.strip_fig12``
"""

from __future__ import annotations

from benchmarks.figures._strip import OPTIONS, main, measured
from benchmarks.trading.held import Found, fig12


def run(scale: float, rounds: int) -> Found:
    """Figure 12 of STRIP."""
    return measured(OPTIONS, scale, rounds, again=True)


if __name__ == "__main__":
    main(__doc__, run, fig12)
