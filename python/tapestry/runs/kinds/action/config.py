"""The keys of an action: its own, and which of the common ones it has."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import timedelta, tzinfo

from tapestry.runs.model.keys import KindKeys, keyed
from tapestry.runs.model.model import COMMON
from tapestry.runs.model.values import Values, choice, length, texts, whole_number


def _switch() -> Values:
    """Return the reader of yes or no; no is the default."""
    words = choice("false", "true")

    def read(key: str, value: object, zone: tzinfo) -> bool:
        return bool(words.read(key, str(value).lower(), zone) == "true")

    return Values(read, False, "`true` or `false`")


def _together() -> Values:
    """Return the reader of `together`: many batches at once if equal, always, or never."""
    words = choice("auto", "true", "false")

    def read(key: str, value: object, zone: tzinfo) -> str:
        return str(words.read(key, str(value).lower(), zone))

    return Values(read, "auto", "`auto`, `true` or `false`")


AT_START, BY_CLOCK = "at_start", "by_clock"
AUTO, BLOCK = "auto", "block"
_LEASE_WITHOUT_LIMIT = timedelta(days=1)


@dataclass(frozen=True)
class ReturnedRows:
    """Keys about the rows that an action in Python returns."""

    writes: tuple[str, ...] = keyed(
        texts("models", "option_prices"),
        """The tables that the action writes. Default for SQL: the targets of its statements. A
        Python function that returns rows needs the table for these rows: a name that it passes to
        `dbt.ref`, or `source.table` for one that it passes to `dbt.source`.""",
    )
    merge_on: tuple[str, ...] = keyed(
        texts("columns", "[option_symbol]"),
        """The columns that identify a row of that table. A returned row replaces the row with the
        same values in them (NULL equals NULL), or is added if there is none. Without this key all
        returned rows are added.""",
    )
    separable: bool = keyed(
        _switch(),
        """Declares that a Python function returns for the rows of several batches together the same
        rows as for each batch separately. Then it is called once for all batches that are due, its
        rows are written in one commit, and `batch()` contains no key.""",
        word=True,
    )


@dataclass(frozen=True)
class ChainKeys:
    """Keys about what a commit of an action triggers."""

    cycles: str = keyed(
        choice("refuse", "allow"),
        """The reaction if what the action writes can trigger the action itself, through rules and
        other actions. `refuse`: an error before any of it is executed. `allow`: the cycle runs
        until the condition of a rule stops it, or `max_depth` does.""",
        word=True,
    )
    max_depth: int = keyed(
        whole_number(16, "write one like 16: so often may an action trigger itself", 0),
        """The maximum length of a chain: a commit of an action triggers a rule, the action of this
        rule makes a commit, and so on. A batch that is further from the first commit is dead: it is
        not executed.""",
    )


@dataclass(frozen=True)
class OrderKeys:
    """Keys about which action goes first."""

    deadline: timedelta | None = keyed(
        Values(length(timedelta(0)).read, None, "a length of time, like `10 seconds`"),
        """The time after its release within which a batch should be executed. If several actions of
        one `priority` are due, `tapestry watch` first runs the one whose batch has the earliest
        deadline, and last those without one. A batch that is past its deadline is executed
        nevertheless.""",
        word=True,
    )


@dataclass(frozen=True)
class ActionConfig(ReturnedRows, ChainKeys, OrderKeys):
    """Keys that the author of an action has besides those of any kind.

    It is ``model.config.own`` of each such model. Source: STRIP, section 2.
    """

    unique: bool = keyed(
        _switch(),
        """Put all waiting firings into one batch. Without it each firing is a batch of its own.""",
        word=True,
    )
    unique_on: tuple[str, ...] = keyed(
        texts("columns", "[comp]"),
        """Columns of the bound rows: all waiting rows with the same values in these columns form
        one batch (NULL equals NULL).""",
    )
    batching: str = keyed(
        choice(AT_START, BY_CLOCK),
        """When a batch is closed. `at_start`: when a run begins to execute it, so it contains all
        that waits at that time. `by_clock`: when it is released; later commits go into the next
        batch, so the batches do not depend on when runs take place.""",
    )
    together: str = keyed(
        _together(),
        """Whether one statement executes many batches. `auto`: if the result is the same as that of
        executing them one by one. `true`: the same, but it is an error if the result could differ.
        `false`: never, so each batch is a commit of its own.""",
        word=True,
    )
    max_batches: int = keyed(
        whole_number(200, "write one like 200: so many batches a run, each a commit", 1),
        """The maximum number of batches that a run executes, the first released ones first. The
        others wait for the next run.""",
    )
    attempts: int = keyed(
        whole_number(5, "write one like 5: so often is a batch executed at most", 1),
        """The maximum number of times that a failing batch is executed, the first time included.
        After them the batch is dead.""",
        word=True,
    )
    backoff: timedelta = keyed(
        length(timedelta(seconds=2)),
        """The waiting time before the second attempt at a batch. It doubles for each further
        attempt, up to ten minutes.""",
        word=True,
    )
    timeout: timedelta = keyed(
        length(timedelta(minutes=10)),
        """The maximum time for the statements of a batch. After it they are stopped, and the batch
        has failed. A run begins no further batch after this time. Four times this long after a run
        has claimed batches, another run may execute those that are not finished. `0 seconds`: no
        limit, and another run may execute them after a day.""",
        word=True,
    )
    on_dead: str = keyed(
        choice(AUTO, BLOCK, "continue"),
        """How later rows of the key of a dead batch are treated. `auto`: `block` if the action
        writes a derived table, else `continue`. `block`: they wait until the dead batch is replayed
        or dropped; until then each run ends with an error. `continue`: they go into the next
        batch.""",
    )

    @property
    def lease(self) -> timedelta:
        """The time for which a run holds the batches that it has claimed.

        No batch begins after the timeout, and each is stopped after the same time: the last one
        ends after twice the timeout at most.
        """
        return 4 * self.timeout or _LEASE_WITHOUT_LIMIT

    @property
    def unit(self) -> str:
        """The unit of batching as text: JSON of its columns; "" where each firing is a batch."""
        named = json.dumps([name.lower() for name in self.unique_on])
        return named if self.unique or self.unique_on else ""


def with_unit(config: ActionConfig, unit: str) -> ActionConfig:
    """Return the keys with another unit (``ActionConfig.unit``)."""
    columns = tuple(json.loads(unit)) if unit else ()
    return replace(config, unique=unit == "[]", unique_on=columns)


KEYS = KindKeys((COMMON["every"], COMMON["priority"]), ActionConfig)
"""All of them."""


def config_of(own: object) -> ActionConfig:
    """Return an action's own keys of a model's configuration."""
    return own if isinstance(own, ActionConfig) else ActionConfig()
