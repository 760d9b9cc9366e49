"""Texts that a random program made or changed: each ends with SQL or a refusal, and soon."""

from __future__ import annotations

import time

from tests.property.mutate import SECONDS, end, text

BESIDE_OTHERS = 4
"""On a processor that others use too, the same work takes so many times as long."""


def test_whatever_the_text_it_ends(numbers: range) -> None:
    """`--queries N` has N/16 of them."""
    for number in numbers[::4]:
        begun = time.thread_time()
        end(text(number))  # anything but SQL and Refusal is raised
        assert time.thread_time() - begun < BESIDE_OTHERS * SECONDS, number
