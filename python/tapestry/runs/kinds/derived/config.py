"""The keys of a derived table: its own, and which of the common ones it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tapestry.errors import ConfigurationError
from tapestry.runs.model.keys import ConfigKey, KindKeys, keyed
from tapestry.runs.model.model import COMMON, Model
from tapestry.runs.model.values import choice, texts


@dataclass(frozen=True)
class DerivedConfig:
    """Keys that the author of a derived table has besides those of any kind.

    It is ``model.config.own`` of each such model.
    """

    key: tuple[str, ...] = keyed(
        texts("columns", "comp or [comp, day]"),
        """The columns that identify the rows of the table that an action writes. The bound tables
        of its rules have columns with the same names. Rows of keys whose batches are not done yet
        are left out of the comparison.""",
        word=True,
    )


KEYS = KindKeys(
    (
        ConfigKey(
            "verify",
            choice("sample", "full", "off"),
            "How much of the table each run of the model compares with its query, for the work"
            " that its actions have done so far. `sample`: every row; if the sources are larger"
            " than 32 MiB, a random part of the keys. `full`: every row. `off`: nothing.",
            word=True,
        ),
        COMMON["verify_share"],
        ConfigKey(
            "on_verify_failure",
            choice("fail", "warn", "rebuild"),
            "The reaction if the table differs from its query. `fail`: the run stops, and models"
            " that depend on the table are skipped. `warn`: the run goes on. `rebuild`: the table"
            " is built again from its query.",
        ),
        ConfigKey(
            "on_target_change",
            choice("fail", "warn"),
            "The reaction if anything but an action has written to the table. `fail`: the run"
            " stops, and models that depend on the table are skipped. `warn`: the run goes on.",
        ),
        COMMON["deterministic_functions"],
        COMMON["every"],
        COMMON["priority"],
    ),
    DerivedConfig,
)
"""All of them."""


def key_among(model: Model, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of `key`, as they are written among those of the query.

    Raises ConfigurationError for one that is none of them.
    """
    named = {column.lower(): column for column in columns}
    wanted = config_of(model.config.own).key
    if odd := [one for one in wanted if one.lower() not in named]:
        raise ConfigurationError(
            f"key: {model.name} has no column {odd[0]}",
            where=model.file,
            hint=f"name columns of its query: {', '.join(columns)}",
        )
    return tuple(named[one.lower()] for one in wanted)


def config_of(own: object) -> DerivedConfig:
    """Return a derived table's own keys of a model's configuration."""
    return own if isinstance(own, DerivedConfig) else DerivedConfig()
