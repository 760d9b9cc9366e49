"""The numbers of a generated message archive: who replies to whom, where, and when.

All arrays are numpy, one entry a row: thirty million rows take a minute and some gigabytes.
The shares below are those of twelve real mailing lists, 2019 to 2026.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

REPLIES = 0.87
PARENT_MISSING = 0.026
ANSWERS_THE_FIRST = 0.35  # a reply to the message that began the thread
BEFORE_PARENT = 0.045
CROSS_POSTED = 0.10
SURPLUS_COPIES = 0.002  # the same message twice in the same list
WRONG_CLOCK = 0.011
LATE = 0.01  # readable hours or days after ts
OUT_OF_ORDER = 0.09  # readable minutes after ts
NULL_TS = 0.0005
DELAY_MEDIAN, DELAY_SPREAD = 5_200.0, 3.1  # of a reply, seconds; log-normal, a heavy tail
LISTS = 12


@dataclass(frozen=True)
class Skeleton:
    """One entry a row; times are whole seconds since 1970. Rows are in no particular order."""

    message: Ints  # number of the message: rows of one message share it
    parent: Ints  # number of the message that it answers; -1: none; -2: one that is not there
    root: Ints  # number of the message that began the thread
    depth: Ints
    newsgroup: Ints
    sent: Ints
    ts: Ints
    ts_is_null: Flags
    readable: Ints  # when the row can be read: its place in the archive

    def __len__(self) -> int:
        return len(self.message)

    def take(self, rows: Any) -> Skeleton:
        """Return a skeleton of some rows, or of all of them in another order."""
        return Skeleton(**{name: values[rows] for name, values in vars(self).items()})


def make_skeleton(rows: int, seed: int, start: int, end: int, late: float = LATE) -> Skeleton:
    """About as many rows as asked for; the same seed gives the same rows."""
    rng = np.random.default_rng(seed)
    messages = max(2, int(rows / (1 + CROSS_POSTED * 1.2 + SURPLUS_COPIES)))
    sent = np.sort(rng.integers(start, end, messages))
    parent = _choose_parents(rng, sent)
    root, depth = _follow_to_roots(parent)
    newsgroup = _choose_lists(rng, messages)[root]
    moved = rng.random(messages) < 0.03
    newsgroup[moved] = _choose_lists(rng, int(moved.sum()))
    ts = _arrive(rng, sent, parent)
    gone = (parent >= 0) & (rng.random(messages) < PARENT_MISSING)
    wrong = rng.random(messages) < WRONG_CLOCK
    sent = np.minimum(sent, ts) + np.where(
        wrong, rng.integers(-30 * 86400, 60 * 86400, messages), 0
    )
    message, copy_list, copy_ts = _copy(rng, newsgroup, ts)
    lateness = _lateness(rng, len(message), late)
    return Skeleton(
        message=message,
        parent=np.where(gone, -2, parent)[message],
        root=root[message],
        depth=depth[message],
        newsgroup=copy_list,
        sent=sent[message],
        ts=copy_ts,
        ts_is_null=rng.random(len(message)) < NULL_TS,
        readable=copy_ts + lateness,
    )


def _choose_parents(rng: np.random.Generator, sent: Ints) -> Ints:
    """A reply answers the message, or thread, that was new when its (heavy-tailed) delay began."""
    count = len(sent)
    is_reply = rng.random(count) < REPLIES
    is_reply[0] = False
    delay = rng.lognormal(np.log(DELAY_MEDIAN), DELAY_SPREAD, count)
    began = sent - np.minimum(delay, 1e9).astype(np.int64) - 1
    roots = np.flatnonzero(~is_reply)
    to_root = roots[np.maximum(np.searchsorted(sent[roots], began, side="right") - 1, 0)]
    to_any = np.maximum(np.searchsorted(sent, began, side="right") - 1, 0)
    chosen = np.where(rng.random(count) < ANSWERS_THE_FIRST, to_root, to_any)
    return np.where(is_reply & (chosen < np.arange(count)), chosen, -1)


def _follow_to_roots(parent: Ints) -> tuple[Ints, Ints]:
    """Root and depth of every message, by doubling the step: deep threads cost only log(depth)."""
    ancestor = np.where(parent >= 0, parent, np.arange(len(parent)))
    depth = (parent >= 0).astype(np.int64)
    while True:
        further = depth[ancestor]
        if not further.any():
            return ancestor, depth
        depth = depth + further
        ancestor = ancestor[ancestor]


def _choose_lists(rng: np.random.Generator, count: int) -> Ints:
    """A few busy lists and many quiet ones."""
    weights = 1 / np.arange(1, LISTS + 1) ** 0.9
    edges = np.cumsum(weights / weights.sum())
    return np.minimum(np.searchsorted(edges, rng.random(count)), LISTS - 1).astype(np.int64)


def _arrive(rng: np.random.Generator, sent: Ints, parent: Ints) -> Ints:
    """Most mail takes seconds; some replies overtake the message that they answer."""
    ts = sent + rng.exponential(20, len(sent)).astype(np.int64)
    slow = rng.random(len(sent)) < 0.02
    ts = ts + np.where(slow, rng.lognormal(7, 1.5, len(sent)).astype(np.int64), 0)
    overtakes = (parent >= 0) & (rng.random(len(sent)) < BEFORE_PARENT)
    lead = rng.exponential(90, len(sent)).astype(np.int64) + 1
    return np.where(overtakes, ts[np.maximum(parent, 0)] - lead, ts)


def _copy(rng: np.random.Generator, newsgroup: Ints, ts: Ints) -> tuple[Ints, Ints, Ints]:
    """Cross-posts go to two to eight lists; now and then a list holds a message twice."""
    count = len(ts)
    crossed = rng.random(count) < CROSS_POSTED
    extra = np.where(crossed, np.minimum(rng.geometric(0.83, count), 7), 0)
    surplus = rng.random(count) < SURPLUS_COPIES
    message = np.repeat(np.arange(count), 1 + extra + surplus)
    first = np.concatenate(([0], np.cumsum(1 + extra + surplus)[:-1]))
    nth = np.arange(len(message)) - first[message]
    same_list = surplus[message] & (nth > extra[message])
    step = np.where(same_list, 0, nth)
    later = np.where(step > 0, rng.exponential(60, len(message)).astype(np.int64), 0)
    return message, (newsgroup[message] + step) % LISTS, ts[message] + later


def _lateness(rng: np.random.Generator, count: int, late: float) -> Ints:
    """Return how long after ts a row can be read: mostly 0, sometimes minutes, seldom days."""
    kind = rng.random(count)
    minutes = rng.exponential(300, count)
    days = rng.lognormal(np.log(100_000), 1.0, count)
    return np.where(kind < late, days, np.where(kind < late + OUT_OF_ORDER, minutes, 0)).astype(
        np.int64
    )
