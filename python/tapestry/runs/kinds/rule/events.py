"""The events that trigger a rule, and the commits with such an event (STRIP, section 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tapestry.errors import ConfigurationError
from tapestry.quoting import string
from tapestry.runs.sources.transactions import IMAGES, TYPE, updated
from tapestry.sql.catalog import Column
from tapestry.sql.commits.transitions import DELETED, INSERTED, TRANSACTION

UPDATED = "updated"


@dataclass(frozen=True)
class TableEvent:
    """An event of a commit; ``columns``: for an update, those whose values count."""

    kind: str
    columns: tuple[Column, ...] = ()

    @property
    def updates(self) -> bool:
        """Whether it is an update."""
        return self.kind == UPDATED

    def triggering(self, changes: str) -> str:
        """Return a SELECT of the transactions with this event, over a relation of all changes."""
        if self.updates:
            return updated(changes, self.columns)
        return f"SELECT {TRANSACTION} FROM {changes} WHERE {TYPE} = {string(IMAGES[self.kind])}"


def read_events(
    when: Sequence[str], columns: Sequence[Column], where: str = ""
) -> tuple[TableEvent, ...]:
    """Return the events that the author names in `when`.

    A text may name several: ``inserted, updated a, b`` is an insert, or a change of a or b. Raises
    ConfigurationError for an unknown event, and for a column that the table does not have.
    """
    by_name = {column.name.lower(): column for column in columns}
    found: list[tuple[str, list[Column]]] = []
    for text in when:
        for part in text.split(","):
            word, _, column = part.strip().partition(" ")
            if word.lower() in (INSERTED, DELETED, UPDATED):
                found.append((word.lower(), []))
                if column and word.lower() != UPDATED:
                    raise _odd(part, where, columns)
            elif found and found[-1][0] == UPDATED and found[-1][1]:
                column = part
            else:
                raise _odd(part, where, columns)
            if column:
                name = column.strip().strip("`").lower()
                if name not in by_name:
                    raise _odd(part, where, columns)
                found[-1][1].append(by_name[name])
    if not found:
        raise ConfigurationError(
            "the rule does not say when it is triggered",
            where=where,
            hint="when: 'inserted', 'deleted', 'updated', 'updated price', or a list of them",
        )
    return tuple(TableEvent(kind, tuple(named or columns)) for kind, named in found)


def _odd(part: str, where: str, columns: Sequence[Column]) -> ConfigurationError:
    listed = ", ".join(column.name for column in columns[:20])
    return ConfigurationError(
        f"when: {part.strip()!r} is neither inserted, deleted nor updated with columns",
        where=where,
        hint=f"write it like 'updated price, amount'; the table has {listed}",
    )
