"""A Delta table as one look at it shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tapestry.names import FIRST_KIND


@dataclass(frozen=True)
class Glance:
    """What a table's newest commit says of it; to find this out costs no Spark job.

    Two equal glances have had no commit in between (the last commit's time is part of them).

    version
        That of the newest commit; None where only DESCRIBE DETAIL was asked, which does not say.
    definition
        A text that is another one as soon as the table's id, place, schema, partitioning or
        properties are; "" where it is not known.
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
        """Have the two looks seen one commit?

        Their versions tell it too, where both are known: where the time of a file has whole
        seconds, as in an object store, two commits may have the same.
        """
        known = None not in (self.version, other.version)
        return self == other and (not known or self.version == other.version)


@dataclass(frozen=True)
class LoggedCommit:
    """One commit as the log has it: its version, and what it says of itself (``commitInfo``)."""

    version: int
    info: Mapping[str, Any]
