"""STRIP, Figure 11: how long a recomputation of comp_prices takes.

``python -m benchmarks.figures.strip_fig11`` takes what figure 9 has measured, where there is that.
"""

from __future__ import annotations

from benchmarks.figures._strip import COMPS, main, measured
from benchmarks.trading.held import Found, fig11


def run(scale: float, rounds: int) -> Found:
    """Figure 11 of STRIP."""
    return measured(COMPS, scale, rounds, again=False)


if __name__ == "__main__":
    main(__doc__, run, fig11)
