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
        """How a run brings the table up to date. `auto`: by what has changed where that is exact
        and costs less, else by the whole answer; the run says why. `incremental`: a run that cannot
        be done by what has changed stops, with the reason. `full`: always by the whole answer.""",
    )
    full_above: float = keyed(
        portion(0.3),
        """With `refresh: auto`: the part of what a model reads, in bytes, that may have changed
        before a run computes the whole answer; likewise of its rows that may change.""",
    )
    unique_key: tuple[str, ...] = keyed(
        texts("columns", "order_id or [order_id, line]"),
        """dbt's own key: the columns that tell the rows of the table apart, by which a run finds
        the rows that change. They are columns of what the query reads, by which it groups where it
        groups. A run that would write two rows with one key (NULLs count as equal) publishes
        nothing. Not needed for the answer: without it the key is chosen from the query.""",
        word=True,
    )
    on_schema_change: str = keyed(
        choice("sync_all_columns", "fail", "ignore", "append_new_columns"),
        """dbt's own key, for a query with other columns than its table has. `fail`: stop. With any
        other value the table is built anew with the query's columns: it is the answer.""",
    )
    on_configuration_change: str = keyed(
        choice("apply", "fail", "continue"),
        """dbt's own key for materialized views, for a query that is another one than the table was
        made with. `fail`: stop. `apply`: the table is built anew; so it is with `continue`, with a
        warning: a table with the answer of a former query is none.""",
    )


def _other(name: str, text: str, *values: str) -> ConfigKey:
    row = COMMON[name]
    return ConfigKey(name, choice(*values), text, row.word)


KEYS = KindKeys(
    (
        _other(
            "verify",
            "How much of the table is compared with the query before a run publishes. `sample`: a"
            " part of its rows, another part each time; over sources of more than 32 MiB every row,"
            " in one run of as many as there are parts. `full`: every row, each time. `off`:"
            " nothing.",
            "sample",
            "full",
            "off",
        ),
        COMMON["verify_share"],
        COMMON["on_verify_failure"],
        _other(
            "on_target_change",
            "The reaction when somebody else wrote to the table. `fail`: stop. `refresh`: build it"
            " again.",
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
