"""Sizes on the command line, and as they are told."""

from __future__ import annotations

import click
import pytest

from tapestry.cli.sizes import Size
from tapestry.words import size_text


def test_sizes() -> None:
    assert [size_text(n) for n in (0, 1023, 34304, 5 * 2**40)] == [
        *("0 B", "1023 B", "33.5 KiB", "5.0 TiB")
    ]


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("256MiB", 2**28), ("2 gb", 2 * 10**9), ("1k", 1024), ("16 GiB ", 2**34)],
)
def test_sizes_on_the_command_line(text: str, size: int) -> None:
    assert Size().convert(text, None, None) == size
    with pytest.raises(click.BadParameter, match="is no size"):
        Size().convert(f"-{text}", None, None)
