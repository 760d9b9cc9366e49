"""What an error of ours shows of the place that it is about."""

from __future__ import annotations

import pytest

from tapestry.errors import TapestryError


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ("/* " + "a package's words " * 20 + "*/ SELECT a /* it's b */ FROM t", "SELECT a FROM t"),
        ("-- said\n-- more\nselect '/* kept */' -- \"x\n, '-- kept'",
         "select '/* kept */' , '-- kept'"),
        ("models/a--b.sql", "models/a--b.sql"),
        ("select /*+ broadcast(t) */ `/* a */` from t",
         "select /*+ broadcast(t) */ `/* a */` from t"),
        ("it's a -- b", "it's a -- b"),
    ],
)  # fmt: skip
def test_a_place_is_shown_without_comments(where: str, shown: str) -> None:
    assert str(TapestryError("no", where)) == f"no\n  in: {shown}"
