"""The keys of a rule: its own, and which of the common ones it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import Any

from tapestry.errors import ConfigurationError
from tapestry.runs.engine.instants import parse_instant
from tapestry.runs.model.keys import KindKeys, keyed
from tapestry.runs.model.model import COMMON
from tapestry.runs.model.values import Values, choice, length, texts, whole_number
from tapestry.runs.tables.bound_rows import KEPT
from tapestry.sql.commits.rule_queries import AskedOfRule


def _names(example: str) -> Values:
    """Return the reader of a list of queries of the body; the default is None."""
    read = texts("queries of the body", example)
    return Values(read.read, None, "a list of names of queries in the body")


@dataclass(frozen=True)
class OpOfLog:
    """The column of a log that names the kind of a change, and the words that it uses."""

    column: str
    words: Mapping[str, str] = field(default_factory=dict)


CDF, LOG, DIFF = "cdf", "log", "diff"
"""The sources of changes."""
OPS = ("insert", "update", "delete")
"""The kinds of changes in a log."""


def _op() -> Values:
    """Return the reader of a column, or a mapping with its words; the default is None."""
    told = "a column, or `{column: c, insert: I, update: U, delete: D}`"

    def read(key: str, value: Any, _zone: tzinfo) -> OpOfLog:
        if isinstance(value, str):
            return OpOfLog(value, dict(zip(OPS, OPS, strict=True)))
        if isinstance(value, Mapping) and isinstance(value.get("column"), str):
            words = {one: str(value.get(one, one)) for one in OPS}
            if set(value) <= {"column", *OPS} and len(set(words.values())) == len(OPS):
                return OpOfLog(value["column"], words)
        raise ConfigurationError(
            f"{key}: {value!r} does not say which column tells what a change is",
            hint=f"write {told}",
        )

    return Values(read, None, told)


def _states() -> Values:
    """Return the reader of the tables that are read as they are."""
    told = "a mapping like `{comps_list: run}`"

    def read(key: str, value: Any, _zone: tzinfo) -> tuple[str, ...]:
        if not isinstance(value, Mapping) or not all(one == "run" for one in value.values()):
            raise ConfigurationError(
                f"{key}: {value!r} does not say of which tables the state is that of the run",
                hint=f"write {told}",
            )
        return tuple(str(name).replace("`", "").lower() for name in value)

    return Values(read, (), told)


def _word(of_what: str) -> Values:
    """Return the reader of one text; the default is ""."""

    def read(key: str, value: Any, _zone: tzinfo) -> str:
        if not isinstance(value, str) or not value.strip():
            raise ConfigurationError(f"{key}: {value!r} is not {of_what}", hint="write its name")
        return value

    return Values(read, "", of_what)


BEGIN_NOW, EARLIEST = "now", "earliest"


def _begin() -> Values:
    """Return the reader of a place in a table's history: word, version or instant; default ""."""
    told = "`now`, `earliest`, a version, or an instant like `2026-03-01 12:00:00+01:00`"

    def read(key: str, value: Any, zone: tzinfo) -> str | datetime:
        text = str(value).strip().lower()
        if isinstance(value, bool) or not text:
            raise ConfigurationError(f"{key}: {value!r} is no place", hint=f"write {told}")
        if text in (BEGIN_NOW, EARLIEST) or (text.isascii() and text.isdecimal()):
            return text
        return parse_instant(value, key, zone)

    return Values(read, "", told)


@dataclass(frozen=True)
class ChangesConfig:
    """The keys of a rule about where the changes of its table come from."""

    changes: str = keyed(
        choice(CDF, LOG, DIFF),
        """How the rule finds the changes of its table. `cdf`: in the change data feed of the table;
        each commit is one transaction. `log`: the table is itself a log of changes to which rows
        are only added; each row is one change, and names its transaction. `diff`: by comparing each
        commit with the version before it, which needs no feed and takes longer.""",
        word=True,
    )
    transaction: str = keyed(
        _word("a column"),
        """For a log: the column that names the transaction of a change.""",
    )
    commit_time: str = keyed(
        _word("a column"),
        """For a log: the column with the time at which the transaction was committed.""",
    )
    order: tuple[str, ...] = keyed(
        texts("columns", "seq or [file, line]"),
        """For a log: the columns that order the changes of one transaction. They are necessary if a
        transaction changes a row twice.""",
        word=True,
    )
    op: OpOfLog | None = keyed(
        _op(),
        """For a log: the column with the kind of the change: `insert`, `update` or `delete`. The
        mapping gives other words for these.""",
        word=True,
    )
    diff_commits: int = keyed(
        whole_number(100, "write one like 100: so many commits are compared in a run", 1),
        """The maximum number of commits that a run compares with the version before them. The
        others wait for the next run.""",
    )
    on_overwrite: str = keyed(
        choice("diff", "fire", "fail"),
        """How `cdf` treats an overwrite, a CREATE OR REPLACE and a RESTORE. `diff`: the rows that
        differ are the changes; a key on both sides is an update. `fire`: all old rows count as
        deleted, and all new rows as inserted. `fail`: the run stops.""",
    )
    on_changes_gone: str = keyed(
        choice("fail", "skip", "rebuild"),
        """The reaction if changes can no longer be read. `fail`: the run stops. `skip`: the run
        leaves them out, warns how many versions are missing, and goes on with the next ones.
        `rebuild`: the same, and the derived tables that actions of the rule write are built again
        by their next run. Until then these actions wait. Changes that the new tables contain are
        left out.""",
    )
    on_query_change: str = keyed(
        choice("fail", "continue"),
        """The reaction if the rule differs from that of the last run. `fail`: the run stops.
        `continue`: the new rule applies to the following commits, if it binds the same columns.""",
    )
    before: str = keyed(
        _word("a prefix of columns"),
        """For a log whose rows also have the old values: the prefix of the columns with them, like
        `old_` if `old_price` holds the former `price`. Without it the old values are those of the
        previous change of the same key.""",
        word=True,
    )


@dataclass(frozen=True)
class RuleConfig(ChangesConfig):
    """Keys that the author of a rule has besides those of any kind.

    It is ``model.config.own`` of each such model. Source: STRIP, section 2.
    """

    when: tuple[str, ...] = keyed(
        texts("events", "['inserted', 'updated price']"),
        """The changes that trigger the rule: `inserted`, `deleted`, `updated`, or `updated a, b`
        for a change of the value of one of these columns. One of these, or a list. Every rule needs
        this key.""",
        word=True,
    )
    conditions: tuple[str, ...] | None = keyed(
        _names("['big', 'matches']"),
        """The queries that decide whether the rule fires: it fires for a commit if each of them
        returns a row. They are CTEs of the body, or the name of its last SELECT. Default: the last
        SELECT alone. With `[]` the rule fires for every commit that triggers it.""",
        word=True,
        name="if",
    )
    evaluate: tuple[str, ...] = keyed(
        texts("queries of the body", "['gone']"),
        """Further queries of the body whose rows an action can read. They do not decide whether the
        rule fires.""",
    )
    bind_as: tuple[str, ...] = keyed(
        Values(texts("names", "matches").read, (), "a name"),
        """The name by which an action reads the rows of the last SELECT of the body. Default:
        `matches`.""",
    )
    after: timedelta = keyed(
        length(timedelta(0)),
        """How long a firing waits before an action runs, so that later firings go into the same
        batch. The time counts from the oldest waiting firing.""",
        word=True,
    )
    key: tuple[str, ...] = keyed(
        texts("columns", "id or [id, line]"),
        """The columns that identify the rows of the table and that an update does not change: they
        connect the old and the new values of an updated row. In a log of changes they identify the
        rows to which the changes belong.""",
        word=True,
    )
    begin: str | datetime = keyed(
        _begin(),
        """The commits that the first run reads. `now`: none, only later ones. `earliest`: all that
        the table's history still has. A number: all from this version on. An instant: all from the
        first commit at or after it; for a log, the transactions with such a `commit_time`. Default:
        the commits after the versions from which derived tables of its actions were built; without
        such tables as `now`.""",
        word=True,
    )

    keep: timedelta = keyed(
        length(KEPT),
        """How long the rows of a firing stay in the rule's tables after all actions of the rule
        have finished it and all firings before it. After that a run of an action removes them. Rows
        of a batch that has failed or is dead stay, and so do all later rows.""",
        word=True,
    )
    states: tuple[str, ...] = keyed(
        _states(),
        """The tables that the rule reads in their state at the time of the run, like `{comps_list:
        run}`. The rule reads every other table in its state at the time of the commit.""",
        word=True,
    )

    def as_it_runs(self, relation: str) -> bool:
        """Return whether the rule reads a table as it is when the rule runs."""
        name = relation.replace("`", "").lower()
        return any(name == one or name.endswith(f".{one}") for one in self.states)

    @property
    def asked(self) -> AskedOfRule:
        """The keys about the queries of the body."""
        return AskedOfRule(self.conditions, self.evaluate, next(iter(self.bind_as), None))


KEYS = KindKeys((COMMON["every"], COMMON["priority"], COMMON["on_target_change"],
                 COMMON["deterministic_functions"]), RuleConfig)  # fmt: skip
"""All of them."""


def config_of(own: object) -> RuleConfig:
    """Return a rule's own keys of a model's configuration."""
    return own if isinstance(own, RuleConfig) else RuleConfig()
