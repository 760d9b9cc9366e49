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
        """The columns that say which rows of the table an action writes: bound tables of its rules
        have columns of the same names. Rows whose batches are not done yet are left out of the
        comparison by it.""",
        word=True,
    )


KEYS = KindKeys(
    (
        ConfigKey(
            "verify",
            choice("sample", "full", "off"),
            "How much of the table is compared with its query at each run of the model, for what"
            " its actions have done so far. `sample`: every row; over sources of more than 32 MiB"
            " a part of the keys, chosen by chance. `full`: every row. `off`: nothing.",
            word=True,
        ),
        COMMON["verify_share"],
        ConfigKey(
            "on_verify_failure",
            choice("fail", "warn", "rebuild"),
            "The reaction when the table is not what its query says. `fail`: stop, and with it what"
            " depends on the table. `warn`: go on. `rebuild`: build it again from its query.",
        ),
        ConfigKey(
            "on_target_change",
            choice("fail", "warn"),
            "The reaction when something else than an action has written to the table. `fail`:"
            " stop, and with it what depends on the table. `warn`: go on.",
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
