"""Views of the session that a plan computes, kept in memory until its run is over."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import ClassVar

from tapestry.runs.engine.session import Session
from tapestry.runs.query.holding import make, new_view


@dataclass(frozen=True)
class ComputedView:
    """A view that was computed at once, and its number of rows."""

    name: str
    rows: int


@dataclass
class Views:
    """The views that a plan has made; call ``release`` where it is not carried out.

    at_once
        Whether a view is computed when ``compute`` is called.
    """

    at_once: ClassVar[bool] = True
    session: Session
    names: list[str] = field(default_factory=list)
    computed: list[ComputedView] = field(default_factory=list)

    def keep(self, select: str) -> str:
        """Make a view of the session over a SELECT, computed on first use; return its name."""
        view = new_view()
        make(self.session, view, select)
        self.names.append(view)
        return view

    def compute(self, select: str) -> str:
        """Make a view and compute it now: statements that read it are planned by its size."""
        view = self.keep(select)
        if not self.at_once:
            return view
        ((rows,),) = self.session.rows(f"SELECT count(*) FROM {view}")
        self.computed.append(ComputedView(view, int(rows)))
        return view

    def rows_of(self, names: Collection[str]) -> int:
        """Return how many rows those of these views have that were computed at once."""
        return sum(one.rows for one in self.computed if one.name in names)

    def release(self) -> None:
        """Drop the views, first those that no other reads."""
        for view in self.names[::-1]:
            self.session.run(f"DROP VIEW IF EXISTS {view}")
        self.names.clear()
