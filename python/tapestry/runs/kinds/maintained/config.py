"""The keys of a maintained model: its own, and which of the common ones it has."""

from __future__ import annotations

from dataclasses import dataclass

from tapestry.runs.model.keys import ConfigKey, KindKeys, keyed
from tapestry.runs.model.model import COMMON
from tapestry.runs.model.values import choice, portion, texts


@dataclass(frozen=True)
class MaintainedConfig:
    """Keys that the author of a maintained model has besides those of any kind.

    It is ``model.config.own`` of each such model.
    """

    refresh: str = keyed(
        choice("auto", "incremental", "full"),
        """How a run updates the table. `auto`: from the changes if this is exact and costs less,
        otherwise from the whole answer; the run gives the reason. `incremental`: from the changes;
        a run that cannot do this stops and gives the reason. `full`: always from the whole
        answer.""",
    )
    full_above: float = keyed(
        portion(0.3),
        """With `refresh: auto`: the part of the sources (in bytes) that may have changed before a
        run computes the whole answer. The same limit applies to the part of the model's rows that
        may change.""",
    )
    unique_key: tuple[str, ...] = keyed(
        texts("columns", "order_id or [order_id, line]"),
        """dbt's own key: the columns that identify the rows of the table, by which a run finds the
        rows to change. They must be columns of the sources, and for a query with GROUP BY columns
        that it groups by. A run that would write two rows with one key (NULL equals NULL) publishes
        nothing. The key is optional: without it a run chooses one from the query.""",
        word=True,
    )
    on_schema_change: str = keyed(
        choice("sync_all_columns", "fail", "ignore", "append_new_columns"),
        """dbt's own key: the reaction if the columns of the query differ from those of the table.
        `fail`: the run stops. With every other value the table is rebuilt with the columns of the
        query.""",
    )
    on_configuration_change: str = keyed(
        choice("apply", "fail", "continue"),
        """dbt's own key for materialized views: the reaction if the query has changed since the
        last run. `fail`: the run stops. `apply`: the table is rebuilt. `continue`: the table is
        rebuilt too, with a warning, because a table with the answer of the former query would be
        wrong.""",
    )


def _other(name: str, text: str, *values: str) -> ConfigKey:
    row = COMMON[name]
    return ConfigKey(name, choice(*values), text, row.word)


KEYS = KindKeys(
    (
        _other(
            "verify",
            "How much of the table is compared with the query before a run publishes. `sample`: a"
            " part of its rows, another part each time; if the sources are larger than 32 MiB,"
            " every row, but only in one run of each cycle of 1 / `verify_share` runs. `full`:"
            " every row, each time. `off`: nothing.",
            "sample",
            "full",
            "off",
        ),
        COMMON["verify_share"],
        COMMON["on_verify_failure"],
        _other(
            "on_target_change",
            "The reaction if another program has written to the table. `fail`: the run stops."
            " `refresh`: the table is built again.",
            "fail",
            "refresh",
        ),
        COMMON["expectations"],
        COMMON["deterministic_functions"],
        COMMON["every"],
        COMMON["priority"],
    ),
    MaintainedConfig,
)
"""All of them."""


def config_of(own: object) -> MaintainedConfig:
    """Return a maintained model's own keys of its configuration."""
    return own if isinstance(own, MaintainedConfig) else MaintainedConfig()
