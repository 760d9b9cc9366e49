"""Sources as an earlier run read them: their versions, with the columns of that time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tapestry.runs.engine.session import Session
from tapestry.runs.sources.pins import Pin, Pinned, Pins
from tapestry.runs.sources.rewrites import columns_at
from tapestry.sql.catalog import View


class AsRead(Pins):
    """The pins of a run that was claimed before, over those of this invocation.

    A source may have got columns since, which its former version lacks. Views are those of today,
    and so is a source that the run did not read, or that was made anew.
    """

    def __init__(self, now: Pins, read: Mapping[str, Pin]) -> None:
        super().__init__(now.commits_table)
        self._now, self._read = now, read

    def of(self, session: Session, name: str) -> Pinned | View:
        """Return the source behind ``name`` as the run read it; raises what ``Pins.of`` does."""
        found, then = self._now.of(session, name), self._read.get(name)
        if isinstance(found, View) or then is None or then == found.pin:
            return found
        if then.table_id != found.pin.table_id:
            return found
        columns = columns_at(session, found.table, then.version)
        return Pinned(replace(found.table, columns=columns), then)
