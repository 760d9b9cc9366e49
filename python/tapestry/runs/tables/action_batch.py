"""A batch of an action with its events, and the life of an action to which it belongs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import NAMESPACE_URL, uuid5

BORN, CLAIMED, DONE, FAILED, DEAD = "born", "claimed", "done", "failed", "dead"
WAITS = "waits"
"""A batch that was claimed and not executed: an earlier one of its key has failed, or the time of
the round was over."""
OPEN = (CLAIMED, WAITS, FAILED, DEAD)
"""A batch with one of these as its last event is not over."""
REPLAYED, DROPPED, ABSORBED = "replayed", "dropped", "absorbed"
"""Ends of a dead batch: another one has its rows, none ever will, or the tables that the action
writes hold them already."""
LONGEST_ERROR = 2_000
_REPLAY = "replay of "


@dataclass(frozen=True)
class Cut:
    """The frozen rows of one rule: firings after ``after`` up to ``until``, as of its run n."""

    generation: str
    n: int
    after: int
    until: int
    failed: tuple[int, ...] = ()


@dataclass(frozen=True)
class BatchEvent:
    """An event of a batch: it was claimed, or what came of that.

    lease_until
        Of a claim: when anybody may execute the batch, by the clock; of a failure: when it is
        executed again, by t.
    """

    what: str = CLAIMED
    attempt: int = 1
    claim_id: str = ""
    lease_until: datetime | None = None
    at: datetime | None = None
    seconds: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class ActionBatch:
    """A batch with its last event.

    key
        The values that its rows share, as JSON text; None: it is one firing.
    cut
        By rule.
    wave
        Batches of a round with the same number are executed by one statement; 0: it is alone.
    again
        It was claimed before, and may have been executed.
    """

    m: int
    i: int
    key: str | None
    cut: Mapping[str, Cut]
    firings: int
    rows: int
    first_commit_time: datetime
    release: datetime
    depth: int = 0
    wave: int = 0
    event: BatchEvent = BatchEvent()
    again: bool = False

    @property
    def place(self) -> str:
        """The name of the batch behind that of its action."""
        return f"{self.m}/{self.i}"

    @property
    def replays(self) -> bool:
        """Whether it has the rows of a dead batch again."""
        return self.event.claim_id.startswith(_REPLAY)

    @property
    def first_place(self) -> str:
        """The place under which the rows of the batch were claimed first.

        The transactions of its statements have that name, so that a replay skips those that have
        landed, and one that lands late after all does so once.
        """
        return self.event.claim_id.rpartition(" ")[2] if self.replays else self.place

    @property
    def replay_id(self) -> str:
        """The claim of a batch that has the rows of this one again."""
        return f"{_REPLAY}{self.place}, first {self.first_place}"

    def next_claim_id(self, new: str) -> str:
        """The id of the next claim of the batch: a replay keeps its own, which says of what."""
        return self.event.claim_id if self.replays else new

    def became(
        self,
        what: str,
        at: datetime,
        seconds: float,
        error: str = "",
        again_at: datetime | None = None,
    ) -> ActionBatch:
        """The same after an event; ``again_at``: what has failed is executed again by then."""
        said = error[:LONGEST_ERROR] or None
        event = replace(
            self.event, what=what, at=at, seconds=seconds, error=said, lease_until=again_at
        )
        return replace(self, event=event)


@dataclass(frozen=True)
class ActionLife:
    """An action from its first run, or a --full-refresh, to the next.

    begin
        By rule: the generation, and the firing up to which they are none of this life's; no
        generation where the rule had not run yet.
    unit
        What the rows of its batches have in common (``ActionConfig.unit``); None: nobody knows.
    """

    action: str
    id: str
    number: int
    begin: Mapping[str, tuple[str, int]]
    unit: str | None = None

    def idempotency_key(self, name: str) -> str:
        """A key for services, of what is executed under a name: the same at each attempt."""
        return str(uuid5(NAMESPACE_URL, f"{self.action}:{name}"))


@dataclass(frozen=True)
class ActionStanding:
    """An action as its batches tell it.

    life
        The newest one; None: the action has not run yet.
    rounds
        The number of the last round that was claimed in it.
    last
        When something became of one of its batches last.
    opened
        The batches that are neither done nor over.
    """

    life: ActionLife | None = None
    rounds: int = 0
    last: datetime | None = None
    opened: tuple[ActionBatch, ...] = ()
