"""Secrets come from the environment, and go to no log and no table."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import fields

from tapestry.delivery.declare import Sink
from tapestry.errors import ConfigurationError


def from_environment(name: str) -> str:
    """The value of an environment variable; ConfigurationError, which names it, where it is not."""
    value = os.environ.get(name, "")
    if not value:
        raise ConfigurationError(
            f"the environment variable {name} is not set",
            hint="set it where dbt runs; it is read when something is delivered",
        )
    return value


def known_secrets(sink: Sink) -> list[str]:
    """The values of all variables that a sink names, the longest first."""
    names: list[str] = []
    for field in fields(sink):
        value = getattr(sink, field.name)
        if field.name.endswith("_env") and isinstance(value, str):
            names.append(value)
        elif field.name.endswith("_env") and value:
            names.extend(value.values())
    values = (os.environ.get(name, "") for name in names if name)
    return sorted({value for value in values if value}, key=len, reverse=True)


def scrub(text: str, secrets: Iterable[str]) -> str:
    """The text without the secrets.

    >>> scrub("535 wrong: hunter2", ["hunter2"])
    '535 wrong: ***'
    """
    for secret in secrets:
        text = text.replace(secret, "***")
    return text
