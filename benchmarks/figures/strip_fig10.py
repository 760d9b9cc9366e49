"""STRIP, Figure 10: the number of recomputations of comp_prices, N_r.

``python -m benchmarks.figures.strip_fig10``
"""

from __future__ import annotations

from benchmarks.figures._strip import count, main
from benchmarks.trading.held import Found, fig10


def run(scale: float, rounds: int) -> Found:
    """Figure 10 of STRIP."""
    return count(scale)


if __name__ == "__main__":
    main(__doc__, run, fig10)
