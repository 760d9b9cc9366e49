"""The seed of the random tests is the commit's, or the one that is asked for."""

from __future__ import annotations

import doctest
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests import seeds


@pytest.fixture(autouse=True)
def _asked_anew(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv(seeds.VARIABLE, raising=False)
    seeds.seed.cache_clear()
    yield
    seeds.seed.cache_clear()


def test_the_examples() -> None:
    failed, tried = doctest.testmod(seeds)
    assert tried
    assert not failed


def test_a_commit_has_one_seed() -> None:
    root = Path(seeds.__file__).parents[1]
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True)
    if asked.returncode:
        pytest.skip("no git here")
    assert seeds.seed() == int(asked.stdout[:12], 16) % seeds.SPAN
    assert f"{seeds.VARIABLE}={seeds.seed()} " in seeds.header()


def test_the_one_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(seeds.VARIABLE, " 7 ")
    assert (seeds.seed(), seeds.seeds(3)) == (7, range(7, 10))


def test_without_git_it_is_nought(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert seeds.seed() == 0


@pytest.mark.parametrize("of", [1, 50, 62, 125, 250, 4_000, 20_000])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.55, 0.8])
def test_bounds_hold_where_chance_does_not(share: float, of: int) -> None:
    """Five standard deviations beyond the share, or all."""
    far = 5 * (share * (1 - share) * of) ** 0.5
    assert share * of <= seeds.most(share, of) <= min(of, share * of + far + 5)
    assert seeds.least(share, of) == of - seeds.most(1 - share, of)
