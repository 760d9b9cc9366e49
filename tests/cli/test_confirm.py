"""Nothing is forgotten without a yes."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from tapestry.cli.confirm import confirm
from tapestry.errors import ConfigurationError


@pytest.mark.parametrize(
    ("typed", "error"), [("y\n", None), ("n\n", click.Abort), ("", ConfigurationError)]
)
def test_nothing_is_forgotten_without_a_yes(typed: str, error: type[Exception] | None) -> None:
    raised: list[Exception] = []

    @click.command()
    def ask() -> None:
        try:
            confirm("Forget them?", as_json=True)
        except (click.Abort, ConfigurationError) as found:
            raised.append(found)
        click.echo("{}")

    result = CliRunner().invoke(ask, input=typed)
    assert [type(found) for found in raised] == ([error] if error else [])
    assert "Forget them?" in result.stderr
    assert result.stdout == "{}\n"
    if error is ConfigurationError:
        assert "--yes" in str(raised[0])
