"""The keys of a rule: its own, and which of the common ones it has."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tapestry.runs.model.keys import KindKeys, keyed
from tapestry.runs.model.model import COMMON
from tapestry.runs.model.values import Values, length, texts
from tapestry.sql.commits.rule_queries import AskedOfRule


def _names(example: str) -> Values:
    """A list of queries of the body; nobody says it: None."""
    read = texts("queries of the body", example)
    return Values(read.read, None, "a list of names of queries in the body")


@dataclass(frozen=True)
class RuleConfig:
    """Keys that the author of a rule has besides those of any kind.

    It is ``model.config.own`` of each such model. Source: STRIP, section 2.
    """

    when: tuple[str, ...] = keyed(
        texts("events", "['inserted', 'updated price']"),
        """What of a commit triggers the rule: `inserted`, `deleted`, `updated`, or `updated a, b`
        for a change of the value of one of these columns; one of them, or a list. Every rule needs
        it.""",
        word=True,
    )
    conditions: tuple[str, ...] | None = keyed(
        _names("['big', 'matches']"),
        """The queries that decide: the rule fires for a commit for which each of them finds a row.
        They are CTEs of the body, or the name of its last SELECT. Without it that SELECT alone
        decides; with `[]` the rule fires for every commit that triggers it.""",
        word=True,
        name="if",
    )
    evaluate: tuple[str, ...] = keyed(
        texts("queries of the body", "['gone']"),
        """The queries whose rows an action sees besides those of `if`; they decide nothing.""",
    )
    bind_as: tuple[str, ...] = keyed(
        Values(texts("names", "matches").read, (), "a name"),
        """What the rows of the body's last SELECT are called in an action. `matches` where nobody
        says it.""",
    )
    after: timedelta = keyed(
        length(timedelta(0)),
        """How long a firing waits before an action runs, so that those that come meanwhile go with
        it. It counts from the oldest one that waits. Without it nothing waits.""",
        word=True,
    )
    key: tuple[str, ...] = keyed(
        texts("columns", "id or [id, line]"),
        """The columns that tell the rows of the table apart, and that an update leaves as they are:
        by them the old and the new values of an updated row are told to be of one row.""",
        word=True,
    )
    begin: str = keyed(
        Values(lambda _k, value, _z: str(value), "", "`now`, `earliest` or a version"),
        """Which commits the first run looks at. `now`: none, those after it come next. `earliest`:
        all that the table's history still has. A number: from that version on. Without it: those
        after the versions that derived tables of its actions were built from, else none.""",
        word=True,
    )

    @property
    def asked(self) -> AskedOfRule:
        """The keys that are about the queries of the body."""
        return AskedOfRule(self.conditions, self.evaluate, next(iter(self.bind_as), None))


KEYS = KindKeys((COMMON["every"], COMMON["priority"], COMMON["on_target_change"],
                 COMMON["deterministic_functions"]), RuleConfig)  # fmt: skip
"""All of them."""


def config_of(own: object) -> RuleConfig:
    """The keys of the kind's own of a model's configuration."""
    return own if isinstance(own, RuleConfig) else RuleConfig()
