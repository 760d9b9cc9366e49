"""The seed of all random tests, from the commit that is tested, and what chance may do to a count.

A new commit tries other queries, rows and lives; the same commit always the same ones.
``TAPESTRY_SEED`` says another seed. pytest's header tells which it was.
"""

from __future__ import annotations

import os
import subprocess
from functools import cache
from math import exp, lgamma, log
from pathlib import Path

VARIABLE = "TAPESTRY_SEED"
SPAN = 10_000_000
"""Seeds are below: numbers of cases are counted from there on."""
CHANCE = 1e-6
"""How often a count may be beyond its bound by chance alone, at most."""


@cache
def seed() -> int:
    """``TAPESTRY_SEED``, else a number from the commit's hash; 0 without git."""
    given = os.environ.get(VARIABLE, "").strip()
    if given:
        return int(given)
    asked = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(
            asked, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(done.stdout.strip()[:12], 16) % SPAN


def seeds(count: int) -> range:
    """So many, from the commit's on."""
    return range(seed(), seed() + count)


def header() -> str:
    """Which seed it is, and how to have it again."""
    return f"random tests: {VARIABLE}={seed()} (set it to have the same ones again)"


@cache
def most(share: float, of: int) -> int:
    """So many of ``of`` at most, where each is one with this probability at most.

    More come by chance once in a million times, so that a seed that fails shows a mistake.

    >>> most(0.1, 250), most(0.02, 250), most(0.1, 10)
    (50, 18, 7)
    """
    left, k = 1.0, -1
    while left > CHANCE and k < of:
        k += 1
        ways = lgamma(of + 1) - lgamma(k + 1) - lgamma(of - k + 1)
        left -= exp(ways + k * log(share) + (of - k) * log(1 - share))
    return k


def least(share: float, of: int) -> int:
    """So many of ``of`` at least, where each is one with this probability at least.

    >>> least(0.55, 250)
    100
    """
    return of - most(1 - share, of)
