"""The price of a European call by the model of Black and Scholes.

    C  = S N(d1) - K exp(-r T) N(d2)
    d1 = (ln(S / K) + (r + s² / 2) T) / (s √T),    d2 = d1 - s √T

with the price S of the stock, the strike K, the years T up to expiry, the standard deviation s of
the stock's returns a year, the rate r of a riskless loan, continuously compounded, and the normal
distribution N. Source: F. Black and M. Scholes, The pricing of options and corporate liabilities,
Journal of Political Economy 81(3), 1973; STRIP, section 3, keeps prices of options with it.
"""

from __future__ import annotations

import math
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pyspark.sql import Column

RATE = 0.05
"""A year's interest of a riskless loan: about what a treasury bill gave when the paper appeared."""


def call_price(spot: Any, strike: Any, years: Any, stdev: Any, rate: Any = RATE) -> Any:
    """Price European calls: numbers, or arrays of one shape; NaN stands for what is not known.

    An option that is past its expiry, or whose stock does not move, is worth what is left of the
    price of the stock when the strike is paid.

    >>> round(float(call_price(100, 100, 1, 0.2, 0.05)), 4)
    10.4506

    Raises ValueError for a price, a strike or a standard deviation below 0.
    """
    values = (np.asarray(one, dtype=float) for one in (spot, strike, years, stdev, rate))
    s, k, t, sigma, r = np.broadcast_arrays(*values)
    if (s < 0).any() or (k < 0).any() or (sigma < 0).any():
        raise ValueError("the price of a stock, a strike or a standard deviation is below 0")
    t = np.where(t < 0, 0.0, t)
    paid = k * np.exp(-r * t)
    least = np.maximum(s - paid, 0.0)
    spread = sigma * np.sqrt(t)
    sure = (spread == 0) | (s == 0) | (k == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        d1 = (np.log(s / k) + r * t) / spread + spread / 2
        price = s * normal_distribution(d1) - paid * normal_distribution(d1 - spread)
    return np.where(sure, least, np.maximum(price, least))


def normal_distribution(x: Any) -> Any:
    """Tell how likely a normal variable is to be at most x, exactly far from 0, too.

    >>> [float(one) for one in normal_distribution(np.array([0.0, 40.0, -40.0]))]
    [0.5, 1.0, 0.0]
    """
    scaled = np.ravel(x) * -math.sqrt(0.5)
    return np.fromiter(map(math.erfc, scaled), float, scaled.size).reshape(np.shape(x)) / 2


def black_scholes(
    spot: Column | str,
    strike: Column | str,
    years: Column | str,
    stdev: Column | str,
    rate: Column | float = RATE,
) -> Column:
    """Price European calls, as a column of a dataframe (``call_price``); NULL of what is NULL.

    Columns or their names; a DECIMAL is computed with as a double. The function goes to Spark's
    Python processes as it stands here: they need numpy and pandas, and not this package.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import DoubleType

    f: Any = functions
    import_module("pyspark.cloudpickle").register_pickle_by_value(sys.modules[__name__])
    kind = DoubleType()  # its name would be read by a Spark that the thread has made its own
    # Spark reads type hints, where there are any, and knows only its own.
    price = f.pandas_udf(lambda s, k, t, sigma, r: _series(call_price(s, k, t, sigma, r)), kind)
    given = [f.col(one) if isinstance(one, str) else one for one in (spot, strike, years, stdev)]
    rated = f.lit(float(rate)) if isinstance(rate, int | float) else rate
    column: Column = price(*(one.cast("double") for one in (*given, rated)))
    return column


def _series(values: Any) -> Any:
    """Give an array as a column of pandas."""
    return import_module("pandas").Series(values)
