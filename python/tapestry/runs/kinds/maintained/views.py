"""Views of the session that a plan computes with, kept in memory until its run is over."""

from __future__ import annotations

from dataclasses import dataclass, field

from tapestry.runs.engine.session import Session
from tapestry.runs.query.holding import make, new_view


@dataclass
class Views:
    """The views that a plan has made; ``release`` where it is not carried out.

    ``counts`` says of those that were computed at once how many rows they have.
    """

    session: Session
    names: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def keep(self, select: str) -> str:
        """A view of the session over a SELECT, computed once."""
        view = new_view()
        make(self.session, view, select)
        self.names.append(view)
        return view

    def compute(self, select: str) -> str:
        """The same, computed now: the statements that read it are planned by its size."""
        view = self.keep(select)
        ((self.counts[view],),) = self.session.rows(f"SELECT count(*) FROM {view}")
        return view

    def release(self) -> None:
        """Drop them, those first that others do not read."""
        for view in self.names[::-1]:
            self.session.run(f"DROP VIEW IF EXISTS {view}")
        self.names.clear()
