"""The price of an option against its integral, its limits and the parity of puts and calls."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tapestry.actions import batch, call_price
from tapestry.errors import ConfigurationError


def integral(s: float, k: float, t: float, sigma: float, r: float) -> float:
    """The definition: what the option is expected to be worth at expiry, discounted."""
    z = np.linspace(-12, 12, 400_001)
    at_expiry = s * np.exp((r - sigma**2 / 2) * t + sigma * math.sqrt(t) * z)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    paid = np.maximum(at_expiry - k, 0) * density
    return float(math.exp(-r * t) * np.sum((paid[1:] + paid[:-1]) / 2) * (z[1] - z[0]))


@pytest.mark.parametrize("s", [20.0, 100.0, 180.0])
@pytest.mark.parametrize("t", [0.05, 1.0, 3.0])
@pytest.mark.parametrize("sigma", [0.1, 0.6])
@pytest.mark.parametrize("r", [0.0, 0.05, -0.01])
def test_it_is_the_discounted_expectation(s: float, t: float, sigma: float, r: float) -> None:
    wanted = integral(s, 90.0, t, sigma, r)
    assert float(call_price(s, 90.0, t, sigma, r)) == pytest.approx(wanted, rel=1e-6, abs=1e-6)


def test_limits() -> None:
    """No time, no movement, a worthless stock, a strike of nothing: what is sure is exact."""
    assert float(call_price(100, 90, 0, 0.2)) == 10
    assert float(call_price(80, 90, 0, 0.2)) == 0
    assert float(call_price(100, 90, -1, 0.2)) == 10
    assert float(call_price(100, 90, 1, 0, 0.05)) == pytest.approx(100 - 90 * math.exp(-0.05))
    assert float(call_price(0, 90, 1, 0.2)) == 0
    assert float(call_price(7, 0, 1, 0.2)) == 7
    assert float(call_price(0, 0, 1, 0.2)) == 0
    assert float(call_price(100, 90, 1, 1e6)) == pytest.approx(100)


def test_a_call_less_a_put_is_the_stock_less_the_strike() -> None:
    """The put is the call of the other side: C(S, K) - C(K e^-rT, S), both without interest."""
    s, k, t, r, sigma = 105.0, np.array([50.0, 100.0, 200.0]), 0.7, 0.04, 0.3
    paid = k * math.exp(-r * t)
    put = call_price(paid, s, t, sigma, 0.0)
    assert np.allclose(call_price(s, k, t, sigma, r) - put, s - paid, atol=1e-12)


def test_arrays_and_what_is_not_known() -> None:
    found = call_price([100, math.nan, 100, 100], [90, 90, math.nan, 90], [0, 1, 1, math.nan], 0.2)
    assert found.shape == (4,)
    assert list(np.isnan(found)) == [False, True, True, True]
    assert call_price([], [], [], []).shape == (0,)


@pytest.mark.parametrize("odd", [(-1, 1, 1, 1), (1, -1, 1, 1), (1, 1, 1, -1)])
def test_what_is_below_nothing_is_refused(odd: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="below 0"):
        call_price(*odd)


def test_there_is_no_batch_outside_a_function() -> None:
    with pytest.raises(ConfigurationError, match="no batch here"):
        batch()
