"""What a model has to hold after everything that was done to its source and by its runs.

The definition in plain Python: which rows are visible when, what the query answers then, and the
first instant of each answer (semantics, sections 1 to 3). Instants are whole microseconds. Nothing
here knows how a run finds its answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

SECOND = 1_000_000
Answer = tuple[Any, ...]


@dataclass(frozen=True)
class Content:
    """A message as it stands in the source; ``columns`` it has besides."""

    id: int
    parent: int | None
    ts: int | None
    columns: int


@dataclass(frozen=True)
class Copy:
    """A message that runs have seen: there from ``arrival`` up to ``end`` (None: for good)."""

    number: int
    content: Content
    arrival: int | None
    end: int | None = None

    @property
    def id(self) -> int:
        return self.content.id

    @property
    def parent(self) -> int | None:
        return self.content.parent

    def due(self, seconds: int) -> int:
        """So long after its ts."""
        assert self.content.ts is not None
        return self.content.ts + seconds * SECOND


Found = Iterator[tuple[Answer, Answer]]
"""What identifies an answer, and its values."""


def _all(there: list[Copy], _: int) -> Found:
    yield from (((m.number,), (m.id,)) for m in there)


def _rare(there: list[Copy], _: int) -> Found:
    yield from (((m.number,), (m.id,)) for m in there if m.id == 4 and m.parent == 1)


def _unanswered(there: list[Copy], s: int) -> Found:
    answered = {r.parent for r in there}
    yield from (((m.number,), (m.id,)) for m in there if m.due(10) <= s and m.id not in answered)


def _calm(there: list[Copy], s: int) -> Found:
    busy = {r.parent for r in there if s < r.due(5)}
    yield from (((m.number,), (m.id,)) for m in there if m.id not in busy)


def _answered(there: list[Copy], _: int) -> Found:
    answered = {r.parent for r in there}
    yield from (((m.number,), (m.id,)) for m in there if m.id in answered)


def _joined(there: list[Copy], _: int) -> Found:
    for m in there:
        yield from (((m.number, r.number), (m.id, r.id)) for r in there if r.parent == m.id)


def _left(there: list[Copy], s: int) -> Found:
    yield from _joined(there, s)
    answered = {r.parent for r in there}
    yield from (((m.number,), (m.id, None)) for m in there if m.id not in answered)


def _chosen(there: list[Copy], s: int) -> Found:
    yield from ((k, v) for k, v in _joined(there, s) if v[0] != 2 and v[0] < 4)


def _plain(there: list[Copy], _: int) -> Found:
    answered = {r.parent for r in there if r.id in (1, 3)}
    yield from (((m.number,), (m.id,)) for m in there if m.id > 1 and m.id not in answered)


def _parents(there: list[Copy], _: int) -> Found:
    yield from (((m.parent,), (m.parent,)) for m in there)


def _leaves(there: list[Copy], _: int) -> Found:
    answered = {r.parent for r in there}
    yield from (((m.id,), (m.id,)) for m in there if m.id not in answered)


def _groups(there: list[Copy]) -> dict[int | None, list[Copy]]:
    groups: dict[int | None, list[Copy]] = {}
    for m in there:
        groups.setdefault(m.parent, []).append(m)
    return groups


def _counts(there: list[Copy], _: int) -> Found:
    yield from (((k, len(rows)), (k, len(rows))) for k, rows in _groups(there).items())


def _busy(there: list[Copy], _: int) -> Found:
    yield from (((k,), (k,)) for k, rows in _groups(there).items() if len(rows) >= 2)


def _silent(there: list[Copy], s: int) -> Found:
    for k, rows in _groups(there).items():
        if max(m.due(10) for m in rows) <= s:
            yield (k, len(rows)), (k, len(rows))


def _latest(there: list[Copy], _: int) -> Found:
    for rows in _groups(there).values():
        last = min(rows, key=lambda m: (-m.due(0), m.id))
        yield (last.id,), (last.id,)


def _total(there: list[Copy], _: int) -> Found:
    yield (len(there),), (len(there),)


def _often(there: list[Copy], _: int) -> Found:
    replies = Counter(r.parent for r in there)
    yield from (((m.number,), (m.id,)) for m in there if replies[m.id] >= 2)


@dataclass(frozen=True)
class Kind:
    """A query, as SQL and as what it answers; ``grows``: a column more gives no other answer.

    ``aliases``: the tables that a memory may stand for.
    """

    sql: str
    answers: Callable[[list[Copy], int], Found]
    columns: str = "id"
    grows: bool = True
    aliases: str = "m"


_M = "{s}.messages"
_REPLY = f"from {_M} r where r.parent = m.id"
KINDS = {
    "all": Kind(f"select m.id from {_M} m", _all),
    "rare": Kind(f"select m.id from {_M} m where m.id = 4 and m.parent = 1", _rare),
    "unanswered": Kind(
        f"select m.id from {_M} m where now() >= m.ts + interval 10 seconds"
        f" and not exists (select 1 {_REPLY})",
        _unanswered,
        aliases="mr",
    ),
    "calm": Kind(
        f"select m.id from {_M} m"
        f" where not exists (select 1 {_REPLY} and now() < r.ts + interval 5 seconds)",
        _calm,
        aliases="mr",
    ),
    "answered": Kind(
        f"select m.id from {_M} m where exists (select 1 {_REPLY})", _answered, aliases="mr"
    ),
    "chosen": Kind(
        f"select m.id, r.id as r from {_M} m join {_M} r on r.parent = m.id"
        " where m.id <> 2 and r.parent < 4",
        _chosen,
        "id, r",
        aliases="mr",
    ),
    "plain": Kind(
        f"select m.id from {_M} m where m.id > 1"
        f" and not exists (select 1 {_REPLY} and r.id in (1, 3))",
        _plain,
        aliases="mr",
    ),
    "joined": Kind(
        f"select m.id, r.id as r from {_M} m join {_M} r on r.parent = m.id",
        _joined,
        "id, r",
        aliases="mr",
    ),
    "left": Kind(
        f"select m.id, r.id as r from {_M} m left join {_M} r on r.parent = m.id", _left, "id, r"
    ),
    "parents": Kind(f"select distinct m.parent as id from {_M} m", _parents, grows=False),
    "leaves": Kind(
        f"select m.id from {_M} m except select m.parent from {_M} m", _leaves, grows=False
    ),
    "counts": Kind(
        f"select m.parent as id, count(*) as n from {_M} m group by m.parent",
        _counts,
        "id, n",
        grows=False,
    ),
    "busy": Kind(
        f"select m.parent as id from {_M} m group by m.parent having count(*) >= 2",
        _busy,
        grows=False,
    ),
    "silent": Kind(
        f"select m.parent as id, count(*) as n from {_M} m group by m.parent"
        " having max(m.ts) <= now() - interval 10 seconds",
        _silent,
        "id, n",
        grows=False,
        aliases="",
    ),
    "latest": Kind(
        "select x.id from (select m.id, row_number() over"
        f" (partition by m.parent order by m.ts desc, m.id) as n from {_M} m) x where x.n = 1",
        _latest,
        grows=False,
    ),
    "total": Kind(f"select count(*) as id from {_M} m", _total, grows=False),
    "often": Kind(
        f"select m.id from {_M} m where (select count(*) {_REPLY}) >= 2", _often, aliases=""
    ),
}


@dataclass(frozen=True)
class Landing:
    """Where a run ended: what the runs had seen, and what it had published."""

    t: int
    takes: int
    begin: int | None
    seen: tuple[Copy, ...]
    published: Counter[Answer]


@dataclass
class Life:
    """What was done to the source and by the runs of one model.

    begun
        (t, what the source held, columns that the query takes) of a run that was killed.
    """

    kind: Kind
    source: list[Content] = field(default_factory=list)
    columns: int = 0
    landings: list[Landing] = field(default_factory=list)
    begun: tuple[int, list[Content], int] | None = None

    @property
    def last(self) -> Landing | None:
        """The newest run that landed."""
        return self.landings[-1] if self.landings else None

    def first(self, t: int, source: list[Content], takes: int) -> None:
        """A first run, or a full refresh: everything counts by its ts."""
        self.begun, seen = None, _arrived((), source, None)
        published = self._first_instants(seen, None, None, t)
        self.landings = [Landing(t, takes, None, seen, published)]

    def land(self, t: int, source: list[Content], takes: int) -> None:
        """A run up to t over this source has landed."""
        self.begun, last = None, self.last
        if last is None:
            self.first(t, source, takes)
            return
        seen = _arrived(last.seen, source, last.t)
        begin = last.begin if takes == last.takes else last.t
        new = self._first_instants(seen, begin, last.t, t)
        self.landings.append(Landing(t, takes, begin, seen, last.published + new))

    def erase(self, number: int) -> None:
        """Answers were deleted from the table: none of them comes again."""
        for i, landing in enumerate(self.landings):
            left = {a: n for a, n in landing.published.items() if a[0] != number}
            self.landings[i] = replace(landing, published=Counter(left))

    def rewind(self, to: int) -> None:
        """Forget what came after T, as if the run that went past it had ended there."""
        crossing = next(landing for landing in self.landings if landing.t >= to)
        kept = Counter({a: n for a, n in crossing.published.items() if a[-1] <= to})
        before = [landing for landing in self.landings if landing.t < to]
        self.landings = [*before, replace(crossing, t=to, published=kept)]
        self.begun = None

    def _first_instants(
        self, seen: tuple[Copy, ...], begin: int | None, after: int | None, t: int
    ) -> Counter[Answer]:
        """The answers that first hold in (after, t], of the instants from ``begin`` on."""
        shown = [copy for copy in seen if copy.arrival is not None]
        instants = {copy.arrival for copy in shown} | {copy.end for copy in shown} | {begin}
        instants |= {copy.due(seconds) for copy in shown for seconds in (5, 10)}
        first: dict[Answer, Answer] = {}
        for s in sorted(s for s in instants if s is not None and s <= t):
            if begin is not None and s < begin:
                continue
            there = [c for c in shown if _at(c.arrival) <= s and (c.end is None or s < c.end)]
            for key, values in self.kind.answers(there, s):
                first.setdefault(key, (*values, s))
        return Counter(a for a in first.values() if after is None or a[-1] > after)


def _at(instant: int | None) -> int:
    assert instant is not None
    return instant


def _arrived(seen: tuple[Copy, ...], source: list[Content], tau: int | None) -> tuple[Copy, ...]:
    """What the runs have seen after one that reads this: as bags, whoever wrote what.

    Of equal copies the last to arrive end first.
    """
    found = [copy for copy in seen if copy.end is not None]
    left = Counter(source)
    live = [copy for copy in seen if copy.end is None]
    for copy in sorted(live, key=lambda c: (c.arrival is not None, c.arrival)):
        if left[copy.content]:
            left[copy.content] -= 1
            found.append(copy)
        else:
            assert tau is not None
            found.append(replace(copy, end=tau + 1))
    for content in left.elements():
        ts = content.ts
        arrival = tau + 1 if ts is not None and tau is not None and ts <= tau else ts
        found.append(Copy(len(found), content, arrival))
    return tuple(found)
