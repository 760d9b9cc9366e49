"""A memory as it stands: which version of its source it holds, if nothing is doubtful."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tapestry.errors import SourceHistoryGone, TapestryError
from tapestry.quoting import Sql, identifier, relation_name
from tapestry.runs.engine.session import Session
from tapestry.runs.memories.reasons import (
    FOREIGN_COMMIT,
    NEWER,
    NOT_APPENDED_ONLY,
    NOT_BUILT_YET,
    RECORDS_UNREAD,
    UNREADABLE,
    UNRECORDED,
)
from tapestry.runs.memories.records import identity_of
from tapestry.runs.memories.wanted import At, Remembered, Wanted
from tapestry.runs.sources.added_since import added_since, remembered_columns
from tapestry.runs.sources.describe import OWN_PREFIX
from tapestry.runs.tables.target import MANY, Commit, look, newest_commits
from tapestry.sql.scan import Window

logger = logging.getLogger(__name__)

_HARMLESS = ("OPTIMIZE", "VACUUM")
"""What others may do to it."""


@dataclass(frozen=True)
class Cover:
    """What a commit of a memory makes it hold.

    n
        1 of the commit that built it, then one more each time.
    at
        The memory's own version.
    held
        Of each source, the version up to which, and its bytes there.
    """

    n: int
    at: int
    held: At

    @property
    def version(self) -> int:
        """Of the first source."""
        return self.held[0][0]


@dataclass(frozen=True)
class HeldMemory:
    """A memory that can be read.

    covers
        Newest first.
    size
        Bytes of its files.
    table_id
        Delta's id of it.
    """

    generation: str
    covers: tuple[Cover, ...]
    size: int
    table_id: str = ""

    @property
    def identity(self) -> str:
        """What tells it from a table that says the same of itself (``Records``)."""
        return identity_of(self.table_id, self.generation, self.covers[-1].at)

    @property
    def newest(self) -> Cover:
        """All that it holds."""
        return self.covers[0]

    def bytes_since(self, cover: Cover, at: At) -> float:
        """About so many bytes of it came in after a cover, up to these versions of its sources.

        It is taken to hold as large a part of what came as of what it has.
        """
        grown = zip(at, cover.held, strict=True)
        came = sum(max(now - then, 0) for (_, now), (_, then) in grown)
        return came * self.size / max(sum(size for _, size in self.newest.held), 1)

    def held_by(self, at: At) -> Cover | None:
        """The newest of its covers that is not newer than these versions of its sources."""
        return next((one for one in self.covers if reaches(at, one.held)), None)

    def held_rows(self, wanted: Remembered, cover: Cover) -> str:
        """A SELECT of what it held at a cover, which fails where it was built anew meanwhile."""
        listed, mark = wanted.copied, mark_of(self.generation)
        held = f"{relation_name(wanted.name)} VERSION AS OF {cover.at:d}"
        return f"SELECT {listed} FROM (SELECT {listed}, {mark} FROM {held})"


@dataclass(frozen=True)
class InPlace:
    """What a run reads in the place of a source; "" where it reads the source, for a ``reason``.

    main, new
        SELECTs that the relation is made of: what the memory held at ``since``, a version of the
        source, and what came in after that ("": nothing).
    view
        What holds ``new`` in memory, "" where nothing does.
    """

    relation: str = ""
    reason: str = ""
    kept: HeldMemory | None = None
    main: str = ""
    new: str = ""
    since: Cover | None = None
    view: str = ""

    def new_bytes(self, at: At) -> float:
        """About so many bytes of a memory would hold what came in; the sources are as ``at``."""
        if self.kept is None or self.since is None:
            return 0.0
        return self.kept.bytes_since(self.since, at)


class AnyWish(ABC):
    """What one run asked of memories: in the place of a use of a source, or of two.

    wanted
        None where there can be no memory.
    named
        The model names it: it is kept whether it pays or not.
    """

    model: str
    wanted: Remembered | None
    found: InPlace
    window: Window
    named: bool

    @abstractmethod
    def reading(self, found: InPlace) -> AnyWish:
        """The same, which reads that."""

    @property
    @abstractmethod
    def told(self) -> tuple[str, str, tuple[str, ...]]:
        """Of what it is, for people: the aliases, the sources and the conditions."""


def reaches(at: At, held: At) -> bool:
    """Are these versions as new as those, for each source?"""
    if len(at) != len(held):
        return False
    return all(now >= then for (now, _), (then, _) in zip(at, held, strict=True))


def covered(at: At) -> str:
    """What a commit of a memory says that it holds up to.

    >>> covered(((12, 4096),)), covered(((12, 4096), (3, 50)))
    ('12:4096', '12:4096+3:50')
    """
    return "+".join(f"{version:d}:{size:d}" for version, size in at)


def _covered_in(said: str) -> At | None:
    """Those versions and sizes; None where it says something else."""
    held = []
    for one in said.split("+"):
        version, _, size = one.partition(":")
        if not (version.isdecimal() and size.isdecimal()):
            return None
        held.append((int(version), int(size)))
    return tuple(held)


def generation_of(at: At, token: str) -> str:
    """The name of what one statement built; its commit can say nothing else of itself."""
    return f"{covered(at)}:{token}"


def mark_of(generation: str) -> Sql:
    """The column, always NULL, that only the table has which one statement built.

    Its versions are numbered from 0 as those of another table of that name were: what names this
    column reads the one that it was planned for, or fails.
    """
    return identifier(OWN_PREFIX + generation.rpartition(":")[2])


def look_at(session: Session, name: str) -> HeldMemory | str:
    """How a memory stands; a text says why it cannot be read."""
    try:
        glance = look(session, name)
    except TapestryError:
        return FOREIGN_COMMIT  # a table of another format
    if glance is None:
        return NOT_BUILT_YET
    if not glance.generation:
        return FOREIGN_COMMIT
    covers = _all_covers(session, name, glance.generation)
    if not covers:
        return FOREIGN_COMMIT
    return HeldMemory(glance.generation, covers, glance.size, glance.table_id)


def versions_held(session: Session, name: str, generation: str) -> tuple[int, ...] | None:
    """Up to which version of each source a memory holds rows; None where that is doubtful."""
    covers = _all_covers(session, name, generation)
    return tuple(version for version, _ in covers[0].held) if covers else None


def _all_covers(session: Session, name: str, generation: str) -> tuple[Cover, ...]:
    """Those of ``_covers``, as far back as is needed; () where it is doubtful what they are."""
    covers = _covers(newest_commits(session, name), generation)
    if covers is None:
        covers = _covers(newest_commits(session, name, MANY), generation)
    return covers or ()


def _covers(commits: Sequence[Commit], generation: str) -> tuple[Cover, ...] | None:
    """What the commits back to the one that built it hold; () where one is foreign, None where
    that one is not among them."""
    found: list[Cover] = []
    for commit in commits:
        if commit.operation.upper().startswith(_HARMLESS):
            continue
        cover = _cover(commit, generation)
        if cover is None or (found and found[-1].n != cover.n + 1):
            return ()
        found.append(cover)
        if cover.n == 1:
            return tuple(found)
    return None


def _cover(commit: Commit, generation: str) -> Cover | None:
    """What a commit of this generation holds; None of any other commit."""
    if commit.generation != generation or commit.n is None:
        return None
    said = generation.rpartition(":")[0] if commit.n == 1 else commit.until
    held = _covered_in(said)
    return None if held is None else Cover(commit.n, commit.version, held)


def find(session: Session, wanted: Wanted) -> InPlace:
    """What stands in the place of the source at its pin: the memory, and what came in since."""

    def came(held: At) -> tuple[str, ...] | str:
        ((version, _),) = held
        new = new_rows(session, wanted, version)
        return NOT_APPENDED_ONLY if new is None else new

    return find_held(session, wanted, came)


def find_held(
    session: Session, wanted: Remembered, came: Callable[[At], tuple[str, ...] | str]
) -> InPlace:
    """A memory, and what ``came`` after the versions that it holds: SELECTs, or why none are told.

    A memory that cannot be told to hold what it should is left alone: ``InPlace.reason`` says why.
    """
    try:
        kept = look_at(session, wanted.name)
        if isinstance(kept, str):
            return InPlace(reason=kept)
        doubt = _doubt(session, wanted, kept)
        if doubt:
            return InPlace(reason=doubt)
        cover = kept.held_by(wanted.read_at)
        new = NEWER if cover is None else came(cover.held)
        if cover is None or isinstance(new, str):
            return InPlace(reason=str(new), kept=kept)
        main = kept.held_rows(wanted, cover)
        relation = f"({' UNION ALL '.join([main, *new])})"
        return InPlace(relation, kept=kept, main=main, new=" UNION ALL ".join(new), since=cover)
    except Exception as error:
        logger.debug("the memory %s cannot be read: %s", wanted.name, error)
        return InPlace(reason=UNREADABLE)


def _doubt(session: Session, wanted: Remembered, kept: HeldMemory) -> str:
    """Why a table is not taken for the memory that it says to be; "" where a run recorded it."""
    try:
        known = wanted.records.have(session, wanted.schema, wanted.signature, kept.identity)
    except Exception as error:
        logger.warning("what runs recorded of memories cannot be read: %s", error)
        return RECORDS_UNREAD
    return "" if known else UNRECORDED


def old_rows(session: Session, wanted: Wanted, version: int) -> InPlace:
    """What the place of the source was at an earlier version."""
    return find(session, replace(wanted, pin=replace(wanted.pin, version=version)))


def new_rows(session: Session, wanted: Wanted, after: int) -> tuple[str, ...] | None:
    """SELECTs of the wanted rows that the source got after a version; None: they are not told."""
    table, until = wanted.table, wanted.pin.version
    if after == until:
        return ()
    try:
        added = added_since(session, table, after, until, wanted.arrival)
    except SourceHistoryGone:
        return None
    if added is None:
        return None
    return tuple(f"SELECT * FROM ({one}) WHERE {wanted.where}" for one in added)


def in_source(wanted: Wanted, version: int) -> str:
    """The wanted rows as the source itself has them at a version."""
    table = wanted.table
    rows = f"SELECT {remembered_columns(table)} FROM {table.at(version)} AS _tap_s"
    return f"(SELECT * FROM ({rows}) WHERE {wanted.where})"
