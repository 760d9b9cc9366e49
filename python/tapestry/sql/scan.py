"""The parameters of a rendered query: the scans of its sources, and its window."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Scan:
    """One source pinned for one run.

    relation
        What may stand behind FROM: ``db.messages VERSION AS OF 12`` or ``(SELECT ...)``.
    arrival
        SQL over its columns that gives the effective arrival as TIMESTAMP; None: static.
    row_id
        SQL that tells every row of this pinned relation from every other.
    late
        May a row's arrival differ from its ts? False allows cheaper branches.
    late_from
        No row whose arrival lies after τ though its ts does not has a ts before this; None: nobody
        knows.
    size
        Bytes that all rows take; 0: nobody knows.
    since
        No row arrived before this; None: nobody knows.
    little
        Is reading all rows cheaper than planning to read some? Where all of a query's sources are
        so small, its bounds make no branches.
    """

    relation: str
    arrival: str | None
    row_id: str
    late: bool = False
    little: bool = False
    late_from: datetime | None = None
    size: int = 0
    since: datetime | None = None


LEFT, RIGHT = "l_", "r_"
"""The prefixes of the columns of a join's two sides, where these stand beside each other."""


@dataclass(frozen=True)
class JoinScan:
    """Two uses of sources that are read joined.

    relation
        What may stand behind FROM: pairs of rows, the columns of the one ``LEFT`` and its name, of
        the other ``RIGHT`` and its name.
    arrival_of_each, row_ids
        As of ``Scan``, for the one and the other, over those columns.
    """

    relation: str
    arrival_of_each: tuple[str, str]
    row_ids: tuple[str, str]


@dataclass(frozen=True)
class Window:
    """The window ``(tau, t]`` of timezone-aware instants; ``tau=None`` is minus infinity."""

    tau: datetime | None
    t: datetime


@dataclass(frozen=True)
class KnownAnswers:
    """The answers so far, where new ones are told from them by their values.

    relation
        What may stand behind FROM, with the columns of the select list.
    at_begin
        What was an answer at the model's begin is known, too, though the relation lacks it: the
        query counts from the end of a run of another query on.
    """

    relation: str
    at_begin: bool = False
    states: str = ""
    """A relation of what is kept of each group at the begin of the window, where it is at hand
    (``tapestry.sql.cumulative.remember``); else it is worked out from history."""


@dataclass(frozen=True)
class Form:
    """The kind of run of a statement: the first, whose window has no begin, or a later one.

    ``at_begin``, ``remembers``: what is known of the answers and states so far (``KnownAnswers``).
    """

    first: bool
    at_begin: bool = False
    remembers: bool = False

    @classmethod
    def of_run(cls, window: Window, known: KnownAnswers | None = None) -> Form:
        """Return the form for a window and the known answers."""
        if known is None:
            return cls(window.tau is None)
        return cls(window.tau is None, known.at_begin, bool(known.states))
