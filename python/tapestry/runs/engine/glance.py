"""A Delta table as one look at it shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Glance:
    """What a table's newest commit says of it; to find this out costs no Spark job.

    Two equal glances have had no commit in between (the last commit's time is part of them).
    """

    name: str
    table_id: str
    generation: str | None
    last_commit: str
    files: int
    size: int
