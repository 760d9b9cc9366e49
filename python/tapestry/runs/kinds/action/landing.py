"""Executes a statement of an action so that it lands once, under a transaction of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from tapestry.errors import ActionFailed, ConfigurationError
from tapestry.quoting import Sql
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.within import stopped_after
from tapestry.runs.tables.target import FOR, generation_of

APP_ID = "spark.databricks.delta.write.txnAppId"
APP_VERSION = "spark.databricks.delta.write.txnVersion"
METADATA = "spark.databricks.delta.commitInfo.userMetadata"
FOREVER = 1_000_000
"""So many seconds are no limit."""


@dataclass(frozen=True)
class Landing:
    """The transaction of a statement, the note of its commit, and how long it may take."""

    name: str
    note: Mapping[str, Any]
    most: timedelta

    @property
    def run_id(self) -> str:
        """The name of a batch, unique among all lives of its action."""
        return str(self.note["batch"])

    @property
    def settings(self) -> dict[str, str]:
        """The settings of a session in which the statement lands once, with a note."""
        said = {**self.note, "run_id": self.run_id}
        return {APP_ID: self.name, APP_VERSION: "1", METADATA: json.dumps({"tapestry": said})}

    @property
    def beside(self) -> dict[str, str]:
        """The settings for a Python function's other writes: they land whenever they are done."""
        return {METADATA: json.dumps({"tapestry": self.note})}


@dataclass(frozen=True)
class DerivedTargets:
    """The derived tables that an action writes: name -> generation, when its rules were read.

    The generation tells which firings a table already holds. A batch that was begun for one must
    not land in another, which holds more. Delta refuses a statement that was begun before the table
    was written anew; one that is begun after that is refused here. A commit says which generation
    it is of: one that slipped in between is found by the next run of the table, which builds it
    again.
    """

    generations: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def there(cls, session: Session, written: Sequence[str]) -> DerivedTargets:
        """Return the derived tables among those that are written."""
        found = {name: generation_of(session, name, "derived") for name in written}
        return cls({name: generation for name, generation in found.items() if generation})

    @property
    def note(self) -> dict[str, list[str]]:
        """A part of the note of a commit."""
        return {FOR: sorted(self.generations.values())} if self.generations else {}

    def refuse_built_anew(self, session: Session) -> None:
        """Raise ActionFailed where one of the tables is another one by now."""
        for name, generation in self.generations.items():
            if generation_of(session, name, "derived") != generation:
                raise ActionFailed(
                    f"{name} was built again meanwhile",
                    hint="a later run executes what the table does not hold then",
                )


def land(session: Session, how: Landing, statement: Sql) -> None:
    """Execute a statement in a session of its own settings.

    Raises ActionTimedOut where it takes too long.
    """
    with apart(session, how.settings) as own, stopped_after(how.most, own):
        own.run(statement)


def apart(session: Session, settings: Mapping[str, str]) -> AbstractContextManager[Session]:
    """Open a session of its own with these settings.

    Raises ConfigurationError where the engine has none: the settings of a shared one would affect
    the statements of others.
    """
    if session.can.apart is None:
        raise ConfigurationError(
            "an action needs a session of its own, which this connection cannot open",
            hint="use method: session, or a server with a session for each connection",
        )
    return session.can.apart(settings)
