"""STRIP, Figure 9: processor time to keep comp_prices, by unit of batching and delay.

``python -m benchmarks.figures.strip_fig9``
"""

from __future__ import annotations

from benchmarks.figures._strip import COMPS, main, measured
from benchmarks.trading.held import Found, fig9


def run(scale: float, rounds: int) -> Found:
    """Figure 9 of STRIP."""
    return measured(COMPS, scale, rounds, again=True)


if __name__ == "__main__":
    main(__doc__, run, fig9)
