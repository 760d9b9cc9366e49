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


@dataclass(frozen=True)
class ReturnedRows:
    """Keys about the rows that an action in Python returns."""

    writes: tuple[str, ...] = keyed(
        texts("models", "option_prices"),
        """The tables that the action writes. Of one in SQL without it: the targets of its
        statements. Of a function in Python the table that takes the rows which it returns: a name
        that it gives to `dbt.ref`, or `source.table` for one that it gives to `dbt.source`.""",
    )
    merge_on: tuple[str, ...] = keyed(
        texts("columns", "[option_symbol]"),
        """Columns that tell the rows of that table apart: a returned row takes the place of the one
        with the same values in them, NULL is a value; where there is none it is added. Without the
        key all returned rows are added.""",
    )
    separable: bool = keyed(
        _switch(),
        """For a function in Python that returns rows: from the rows of several batches it makes
        what it makes from those of each batch by itself. Then it is called once for all batches
        that are due, and the rows are one commit; `batch()` has no key in it.""",
        word=True,
    )


@dataclass(frozen=True)
class ChainKeys:
    """Keys about what a commit of an action triggers."""

    cycles: str = keyed(
        choice("refuse", "allow"),
        """May what the action writes trigger, over rules and actions, the action itself? `refuse`:
        that is an error before anything of it is run. `allow`: a condition of a rule ends it, or
        `max_depth` does.""",
        word=True,
    )
    max_depth: int = keyed(
        whole_number(16, "write one like 16: so often may an action trigger itself", 0),
        """How long a chain may be: a commit that an action has made triggers a rule, its action
        makes a commit, and so on. A batch that is further from the first commit is dead, and never
        executed.""",
    )


@dataclass(frozen=True)
class OrderKeys:
    """Keys about which action goes first."""

    deadline: timedelta | None = keyed(
        Values(length(timedelta(0)).read, None, "a length of time, like `10 seconds`"),
        """How long after its release a batch is to be executed. Where several actions of one
        `priority` are due at once, `tapestry watch` runs first the one whose batch has the earliest
        such instant; those without a deadline come last. A batch that is late is executed all the
        same.""",
        word=True,
    )


@dataclass(frozen=True)
class ActionConfig(ReturnedRows, ChainKeys, OrderKeys):
    """Keys that the author of an action has besides those of any kind.

    It is ``model.config.own`` of each such model. Source: STRIP, section 2.
    """

    unique: bool = keyed(
        _switch(),
        """All firings that wait go into one batch. Without it each firing is a batch of its
        own.""",
        word=True,
    )
    unique_on: tuple[str, ...] = keyed(
        texts("columns", "[comp]"),
        """Columns of the bound rows: all rows with the same values in them that wait go into one
        batch, those with others into others; NULL is a value.""",
    )
    batching: str = keyed(
        choice(AT_START, BY_CLOCK),
        """When a batch closes. `at_start`: when a run begins to execute it, so that all that waits
        goes into it. `by_clock`: when it is released; what is committed then or later goes into the
        next batch, so that batches do not depend on when runs happen.""",
    )
    together: str = keyed(
        _together(),
        """Does one statement execute many batches? `auto`: where it does what it does over each of
        them, one by one. `true`: the same, and it is an error where it does not. `false`: never, so
        that each batch is a commit.""",
        word=True,
    )
    max_batches: int = keyed(
        whole_number(200, "write one like 200: so many batches a run, each a commit", 1),
        """At most so many batches are executed in a run, those that are released first; the others
        wait for the next one.""",
    )
    attempts: int = keyed(
        whole_number(5, "write one like 5: so often is a batch executed at most", 1),
        """How often a batch that fails is executed, the first time included; then it is dead.""",
        word=True,
    )
    backoff: timedelta = keyed(
        length(timedelta(seconds=2)),
        """How long a batch waits before it is executed a second time; before each further time
        twice as long, ten minutes at most.""",
        word=True,
    )
    timeout: timedelta = keyed(
        length(timedelta(minutes=10)),
        """How long the statements of a batch may take; then they are stopped, and the batch has
        failed. A run begins no batch after this time, and three times as long after it has begun
        another run may execute what it has claimed. `0 seconds`: as long as it takes.""",
        word=True,
    )
    on_dead: str = keyed(
        choice(AUTO, BLOCK, "continue"),
        """The fate of the rows of a key whose batch is dead. `auto`: `block` where the action
        writes a derived table, else `continue`. `block`: they wait until the dead batch is replayed
        or dropped; till then each run ends with an error. `continue`: later ones go into the next
        batch.""",
    )

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
