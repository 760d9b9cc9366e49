"""The state of a memory: which versions of its sources it holds, if nothing is doubtful."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tapestry.errors import TapestryError
from tapestry.quoting import Sql, identifier, relation_name
from tapestry.runs.engine.session import Session
from tapestry.runs.memories.definition import At, MemoryDefinition
from tapestry.runs.memories.reasons import FOREIGN_COMMIT, NOT_BUILT_YET
from tapestry.runs.sources.describe import OWN_PREFIX
from tapestry.runs.tables.target import MANY, Commit, look, newest_commits

_HARMLESS = ("OPTIMIZE", "VACUUM")
"""The operations on a memory that others may execute."""


@dataclass(frozen=True)
class Cover:
    """The rows that a memory holds after one of its commits.

    n
        1 of the commit that built it, then one more each time.
    at
        The memory's own version.
    held
        For each source, the version up to which it has rows, and the source's bytes there.
    """

    n: int
    at: int
    held: At

    @property
    def version(self) -> int:
        """The version of the first source."""
        return self.held[0][0]


@dataclass(frozen=True)
class MemoryState:
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
        """A text that identifies the table that one statement built (``MemoryLog.has``)."""
        return f"{self.table_id} {self.generation} {self.covers[-1].at:d}"

    @property
    def newest(self) -> Cover:
        """The newest cover: all that it holds."""
        return self.covers[0]

    def bytes_since(self, cover: Cover, at: At) -> float:
        """Return about how many of its bytes came after a cover, up to its sources' versions.

        The new rows are taken to be in the same share of the source's as the others.
        """
        grown = zip(at, cover.held, strict=True)
        came = sum(max(now - then, 0) for (_, now), (_, then) in grown)
        return came * self.size / max(sum(size for _, size in self.newest.held), 1)

    def held_by(self, at: At) -> Cover | None:
        """Return the newest of its covers that is not newer than these versions of its sources."""
        return next((one for one in self.covers if reaches(at, one.held)), None)

    def held_rows(self, wanted: MemoryDefinition, cover: Cover) -> str:
        """Return a SELECT of its rows at a cover, which fails if it was built anew meanwhile."""
        listed, mark = wanted.copied, mark_of(self.generation)
        held = f"{relation_name(wanted.name)} VERSION AS OF {cover.at:d}"
        return f"SELECT {listed} FROM (SELECT {listed}, {mark} FROM {held})"


def reaches(at: At, held: At) -> bool:
    """Return whether these versions are as new as those, for each source."""
    if len(at) != len(held):
        return False
    return all(now >= then for (now, _), (then, _) in zip(at, held, strict=True))


def covered(at: At) -> str:
    """Return the text in a memory's commit for the versions up to which it holds rows.

    >>> covered(((12, 4096),)), covered(((12, 4096), (3, 50)))
    ('12:4096', '12:4096+3:50')
    """
    return "+".join(f"{version:d}:{size:d}" for version, size in at)


def _covered_in(said: str) -> At | None:
    """Return the versions and sizes in such a text; None where it has another form."""
    held = []
    for one in said.split("+"):
        version, _, size = one.partition(":")
        if not (version.isdecimal() and size.isdecimal()):
            return None
        held.append((int(version), int(size)))
    return tuple(held)


def generation_of(at: At, token: str) -> str:
    """Return the generation of what one statement built; its commit can have no other note."""
    return f"{covered(at)}:{token}"


def mark_of(generation: str) -> Sql:
    """Return the column, always NULL, that only the table of one statement has.

    Its versions are numbered from 0 like those of a former table of that name: a statement that
    names this column reads the table for which it was planned, or fails.
    """
    return identifier(OWN_PREFIX + generation.rpartition(":")[2])


def look_at(session: Session, name: str) -> MemoryState | str:
    """Return the state of a memory; a text says why it cannot be read."""
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
    return MemoryState(glance.generation, covers, glance.size, glance.table_id)


def versions_held(session: Session, name: str, generation: str) -> tuple[int, ...] | None:
    """Return up to which version of each source a memory has rows; None where that is doubtful."""
    covers = _all_covers(session, name, generation)
    return tuple(version for version, _ in covers[0].held) if covers else None


def _all_covers(session: Session, name: str, generation: str) -> tuple[Cover, ...]:
    """Return ``_covers``, as far back as is needed; () where they are doubtful."""
    covers = _covers(newest_commits(session, name), generation)
    if covers is None:
        covers = _covers(newest_commits(session, name, MANY), generation)
    return covers or ()


def _covers(commits: Sequence[Commit], generation: str) -> tuple[Cover, ...] | None:
    """Return the covers of the commits back to the one that built the memory.

    () where one is foreign, None where the commit that built it is not among them.
    """
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
    """Return the cover of a commit of this generation; None for any other commit."""
    if commit.generation != generation or commit.n is None:
        return None
    said = generation.rpartition(":")[0] if commit.n == 1 else commit.until
    held = _covered_in(said)
    return None if held is None else Cover(commit.n, commit.version, held)
