"""Q^I of one run over sources some of whose rows have ended: only a part has to read these.

From the last end on a query reads only the remaining rows; earlier rows matter only to what an
answer may have been already, and where they do not (``Rewriting.forgets_ended``), the window after
the last end is computed over the remaining rows, as if there had never been others. Up to the last
end a window is computed over all of them.

An end is the first instant after the τ of the run that found the row gone, or after the T of a
rewind to before that. So it lies before a window, or is its first instant: the run that finds rows
gone, or the one after a rewind, covers that one instant by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar

from tapestry.names import KEY, MATCHED_AT
from tapestry.quoting import identifier
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.late.late_pairs import scan_with_late
from tapestry.runs.kinds.continuous.late.scans import Examination, living
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.kinds.continuous.window.measured_first import FewRows, few_rows
from tapestry.runs.kinds.continuous.window.sources_of_run import exactly_standing, standing_scans_of
from tapestry.runs.memories.ask import MemoryRequest, Untimely
from tapestry.runs.memories.find import InPlace, scan_of_join
from tapestry.runs.tables.kept import KeptRows
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql import Rewriting, Scan, Window
from tapestry.sql.facts.keys import PART
from tapestry.sql.look.joined_uses import JoinedUse
from tapestry.sql.scan import JoinScan, KnownAnswers


@dataclass(frozen=True)
class WindowPart:
    """A query over a part of a run's window.

    ``late`` has the sources that it reads without the rows that have ended, and whether any of the
    other rows came late.
    """

    rewriting: Rewriting
    window: Window
    late: Mapping[str, bool] = field(default_factory=dict)

    def scans(self, scans: Mapping[str, Scan]) -> Mapping[str, Scan]:
        """Return the part's scans, from scans that have the ended rows."""
        left = {name: living(scans[name], late) for name, late in self.late.items()}
        return {**scans, **left}

    def over(self, uses: Mapping[str, UseScan], joins: Sequence[JoinedScan] = ()) -> Rewriting:
        """Return its query with own scans for these uses, as far as the query has them."""
        mine = {use.alias: use.conditions for use in self.rewriting.uses} if uses or joins else {}
        pairs = {
            one.use.aliases: one.scan
            for one in joins
            if set(one.use.aliases) <= mine.keys()
            and self.late.keys().isdisjoint({one.use.left.source, one.use.right.source})
            and self.rewriting.pairing(*one.use.aliases) == one.use
        }
        return self.rewriting.reading(
            {
                alias: living(use.scan, self.late[use.source])
                if use.source in self.late
                else use.scan
                for alias, use in uses.items()
                if mine.get(alias) == use.conditions
            },
            pairs,
        )


@dataclass(frozen=True)
class UseScan:
    """A scan of its own for one use of a source.

    ``conditions``: the scan has all of the source's rows that satisfy these conditions of the use.
    """

    source: str
    conditions: tuple[str, ...]
    scan: Scan


@dataclass(frozen=True)
class JoinedScan:
    """A scan by which two uses of sources are read joined."""

    use: JoinedUse
    scan: JoinScan


@dataclass(frozen=True)
class KnownHashes:
    """Answers that are known by the hashes of their values only.

    relation
        A relation for FROM, with the column ``hash``.
    value
        SQL: the hash of a new answer, whose row is called ``alias``.
    """

    alias: ClassVar[str] = "_a"

    relation: str
    value: str

    def without(self, select: str, columns: Sequence[str], arms: Sequence[int]) -> str:
        """Return the rows of ``select`` without known ones of these arms; () stands for all arms.

        ``columns`` are those of the result. Sound: rows of one value are new or known together.
        """
        known = f"EXISTS (SELECT 1 FROM {self.relation} AS _h WHERE _h.hash = {self.value})"
        if arms:
            key = f"{self.alias}.{KEY}"
            mine = [f"{key} = '{arm:d}' OR {key} LIKE '{arm:d}{PART}%'" for arm in arms]
            known = f"({' OR '.join(mine)}) AND {known}"
        listed = ", ".join(f"{self.alias}.{identifier(name)}" for name in columns)
        return f"SELECT {listed} FROM (\n{select}\n) AS {self.alias} WHERE NOT ({known})"


@dataclass(frozen=True)
class Known:
    """A run's known answers and states; ``row`` is the run as claimed, ``rows`` the kept rows."""

    row: StateRow
    answers: KnownAnswers | None = None
    hashes: KnownHashes | None = None
    rows: tuple[KeptRows, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class NewAnswers:
    """The new answers of a run: the parts of its window, one after the other.

    little
        All tables that the query reads are small: they are read whole, whatever the window.
    measured
        Measurements of the rows of the widest part's window. Where they are few, Spark is told to
        begin with them.
    known
        The answers so far, where the query tells new ones from them by their values.
    hashes
        Known answers that the table does not hold.
    uses
        By alias, the uses of sources that are read from memories.
    pairs
        Pairs of uses that are read joined.
    began
        No row of a source arrived before this; None: unknown.
    """

    parts: tuple[WindowPart, ...]
    little: bool = False
    measured: FewRows = field(default_factory=FewRows)
    known: KnownAnswers | None = None
    hashes: KnownHashes | None = None
    uses: Mapping[str, UseScan] = field(default_factory=dict)
    pairs: tuple[JoinedScan, ...] = ()
    began: datetime | None = None

    @property
    def few(self) -> bool:
        """Whether the rows of the window are few."""
        return self.measured.few

    @property
    def strategy(self) -> str:
        """The strategy of the first part, which alone may read ended rows: the costliest one."""
        return self.parts[0].rewriting.strategy

    def widest(self, scans: Mapping[str, Scan]) -> tuple[Rewriting, Window, Mapping[str, Scan]]:
        """Return the part that covers most of the window, and its scans."""
        part = self.parts[-1]
        return part.rewriting, part.window, part.scans(scans)

    def sql(self, scans: Mapping[str, Scan], keyed: bool = False) -> str:
        """Return one query: the select list, ``_matched_at`` and, where ``keyed``, ``_key``."""
        if self.hashes is None:
            return self._all(scans, keyed)
        rewriting = self.parts[0].rewriting
        arms = [one.number for one in rewriting.lifted if one.by_value]
        by_rows = len(arms) < len(rewriting.arms)
        told = arms if by_rows else []
        columns = [*rewriting.columns, MATCHED_AT, *([KEY] if keyed else [])]
        return self.hashes.without(self._all(scans, keyed or by_rows), columns, told)

    def _all(self, scans: Mapping[str, Scan], keyed: bool) -> str:
        """Return the same query, with answers that are known by their hashes too."""
        selects = []
        for number, part in enumerate(self.parts, start=1):
            read = part.scans(scans)
            read = {name: self._known(scan) for name, scan in read.items()}
            uses = {a: replace(use, scan=self._known(use.scan)) for a, use in self.uses.items()}
            rewriting, measured = part.over(uses, self.pairs), self.measured.measured
            if number == len(self.parts) and measured is not None and not self.little:
                rewriting = rewriting.knowing(measured)
            selects.append(
                rewriting.incremental(
                    part.window, read, few=self.few, keyed=keyed, known=self.known
                )
            )
        if len(selects) == 1:
            return selects[0]
        return "\nUNION ALL ".join(f"SELECT * FROM (\n{select}\n)" for select in selects)

    def _known(self, scan: Scan) -> Scan:
        """Return a scan with the facts that hold for all of them."""
        return replace(scan, little=self.little, since=self.began)


def new_answers(
    query: Query,
    executed: Query,
    window: Window,
    found: Mapping[str, Examination],
    began: datetime | None = None,
) -> NewAnswers:
    """Return the queries over a run's window; ``executed`` is the query over rows that end.

    ``began`` is the earliest arrival in any source, where it is known.

    Sound: consecutive windows together give what one window over all of them gives, and answers
    count by derivation where there are two.
    """
    late = {name: one.living_late for name, one in found.items() if one.ends}
    ends = [one.last_end for one in found.values() if one.last_end is not None]
    tau, t = window.tau, window.t
    if not ends or tau is None or not query.rewriting.forgets_ended:
        whole = (WindowPart(executed.rewriting, window),)
        return NewAnswers(whole, query.little, began=began)
    last = min(t, max(tau, *ends))
    both = (
        WindowPart(executed.rewriting, Window(tau, last)),
        WindowPart(query.rewriting, Window(last, t), late),
    )
    parts = tuple(part for part in both if part.window.tau != part.window.t)
    return NewAnswers(parts, query.little, began=began)


def with_measured(
    session: Session,
    query: Query,
    answers: NewAnswers,
    found: Mapping[str, Examination],
    few: bool = False,
) -> NewAnswers:
    """Measure the window's rows before the run, which then finds late ones.

    ``few``: they are known to be few, and are not measured.
    """
    if few:
        return replace(answers, measured=FewRows(few=True))
    widest = answers.widest(standing_scans_of(found))
    measured = few_rows(session, *widest, query.sizes, exactly_standing(found))
    return replace(answers, measured=measured)


def untimely(found: Mapping[str, Examination]) -> Untimely:
    """Return the sources of which rows came late, and those of which rows have ended."""
    late = (name for name, one in found.items() if one.scan.late)
    return Untimely(frozenset(late), frozenset(name for name, one in found.items() if one.ends))


def over_memories(
    answers: NewAnswers, requests: Sequence[MemoryRequest], found: Mapping[str, Examination]
) -> NewAnswers:
    """Let the queries read from memories where there are some; no use is in two joins."""
    own = {one.use.alias: one.found for one in requests if one.pair is None}
    uses: dict[str, UseScan] = {}
    joins: list[JoinedScan] = []
    taken: set[str] = set()
    for request in requests:
        if request.wanted is None or not request.found.relation:
            continue
        if request.pair is not None:
            if taken.isdisjoint(request.aliases):
                taken.update(request.aliases)
                scan = _scan_of(request, request.pair, own, found)
                joins.append(JoinedScan(request.pair, scan))
            continue
        use, kept = request.use, request.found.kept
        if (reading := found[use.source].reading) is not None:
            table = replace(
                request.wanted.side.table,
                remembered=request.found.relation,
                size=kept.size if kept is not None else 0,
            )
            uses[use.alias] = UseScan(use.source, use.conditions, reading.of(table))
    return replace(answers, uses=uses, pairs=tuple(joins))


def _scan_of(
    request: MemoryRequest,
    pair: JoinedUse,
    own: Mapping[str, InPlace],
    found: Mapping[str, Examination],
) -> JoinScan:
    """Return the scan of a stored join; with late rows, beside the memories of its sides."""
    left, right, wanted = pair.left, pair.right, request.wanted
    assert wanted is not None
    if not (found[left.source].scan.late or found[right.source].scan.late):
        return scan_of_join(wanted, request.found.relation)
    readings = found[left.source].reading, found[right.source].reading
    assert readings[0] is not None
    assert readings[1] is not None
    rows = own[left.alias].relation, own[right.alias].relation
    return scan_with_late(wanted, request.found.relation, rows, (readings[0], readings[1]))
