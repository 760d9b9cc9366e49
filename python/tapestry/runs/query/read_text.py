"""The facts about a model's text, read over the present tables, that all kinds need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tapestry.runs.query.relations import Relations
from tapestry.sql import Rewriting


class ReadText(Protocol):
    """A model's text, and the tables that it reads.

    sql
        The text as its author wrote it.
    sizes
        Bytes of the tables that it reads.
    """

    @property
    def sql(self) -> str: ...

    @property
    def rewriting(self) -> Rewriting: ...

    @property
    def relations(self) -> Relations: ...

    @property
    def sizes(self) -> Sequence[int]: ...
