"""A Delta table as its newest commit shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tapestry.names import FIRST_KIND


@dataclass(frozen=True)
class Glance:
    """The state of a table by its newest commit; finding it costs no Spark job.

    Two equal glances have had no commit in between (the last commit's time is part of them).

    version
        That of the newest commit; None from DESCRIBE DETAIL, which does not tell it.
    definition
        A text that changes with the table's id, place, schema, partitioning or properties; "" where
        it is not known.
    place
        The table's folder: one that was moved has its log elsewhere, with the same commits.
    kind
        The materialization of the model that made it.
    """

    name: str
    table_id: str
    generation: str | None
    last_commit: str
    files: int
    size: int
    version: int | None = field(default=None, compare=False)
    definition: str = field(default="", compare=False)
    place: str = ""
    kind: str = FIRST_KIND

    def same_as(self, other: Glance) -> bool:
        """Return whether two glances have seen the same commit.

        Their versions are compared, too, where both are known: where the time of a file has whole
        seconds, as in an object store, two commits may have the same.
        """
        known = None not in (self.version, other.version)
        return self == other and (not known or self.version == other.version)


@dataclass(frozen=True)
class LoggedCommit:
    """One commit as the log has it: its version and its ``commitInfo``."""

    version: int
    info: Mapping[str, Any]
