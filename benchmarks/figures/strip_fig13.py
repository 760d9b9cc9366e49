"""STRIP, Figure 13: how long a recomputation of option_prices takes.

``python -m benchmarks.figures.strip_fig13`` takes what figure 12 has measured, where there is that.
"""

from __future__ import annotations

from benchmarks.figures._strip import OPTIONS, main, measured
from benchmarks.trading.held import Found, fig13


def run(scale: float, rounds: int) -> Found:
    """Figure 13 of STRIP."""
    return measured(OPTIONS, scale, rounds, again=False)


if __name__ == "__main__":
    main(__doc__, run, fig13)
