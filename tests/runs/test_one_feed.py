"""The check that no statement of a test reads a feed beside what Spark takes it for."""

from __future__ import annotations

import pytest
from tests.one_feed import mixed_up

FEED = "table_changes('`s`.`t`', {0}, {0})"


@pytest.mark.parametrize(
    ("more", "found"),
    [
        (FEED.format(2), ["`s`.`t`"]),
        (FEED.format(1), []),
        ("table_changes('`s`.`u`', 2, 2)", []),
        ("`s`.`t` AS t WHERE `s`.`t`.id = 1", ["`s`.`t`"]),
        ("`s`.`t` VERSION AS OF 1", []),
        ("`r`.`s`.`t`", []),
        ("`s`.`t`.x", []),
    ],
)
def test_what_spark_mixes_up(more: str, found: list[str]) -> None:
    assert mixed_up(f"SELECT * FROM {FEED.format(1)}, {more}") == found
