"""A seeded archive of made-up messages: threads, cross-posts, late rows, duplicates, NULLs.

>>> table = messages(1_000, seed=7)
>>> messages(1_000, seed=7).equals(table)
True

For benchmarks ``write_messages`` writes tens of millions of rows in chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tapestry.demo.columns import JONES, MESSAGES, SOMEBODY, TIMESTAMP, make_columns
from tapestry.demo.skeleton import LATE, Ints, Skeleton, make_skeleton

START = datetime(1991, 1, 1, tzinfo=timezone.utc)
Order = Literal["archive", "arrival", "shuffled"]

REMINDERS = pa.schema(
    [
        ("reminder_id", pa.int64()),
        ("owner", pa.string()),
        ("note", pa.string()),
        ("when_to_remind", TIMESTAMP),
        ("ts", TIMESTAMP),
    ]
)
VOTES = pa.schema(
    [("msgid", pa.string()), ("voter", pa.string()), ("vote", pa.int32()), ("ts", TIMESTAMP)]
)


def messages(
    rows: int,
    *,
    seed: int = 0,
    start: datetime = START,
    days: float = 120,
    order: Order = "archive",
    late: float = LATE,
) -> pa.Table:
    """About ``rows`` messages in one table, a share of them late; in memory, so for small sets."""
    chunks = _chunks(rows, 1_000_000, ArchivePlan(seed, start, days, order, late))
    return pa.concat_tables(chunks).combine_chunks()


def write_messages(
    path: Path,
    rows: int,
    *,
    seed: int = 0,
    days: float = 2_600,
    order: Order = "arrival",
    chunk: int = 1_000_000,
) -> int:
    """Write about ``rows`` messages to one parquet file, ``chunk`` at a time; their number."""
    written = 0
    with pq.ParquetWriter(path, MESSAGES, compression="zstd") as writer:
        for table in _chunks(rows, chunk, ArchivePlan(seed, START, days, order)):
            writer.write_table(table)
            written += len(table)
    return written


def reminders(rows: int, *, seed: int = 0, start: datetime = START, days: float = 120) -> pa.Table:
    """Reminders that fall due between at once and sixty days after they are set."""
    rng = np.random.default_rng(seed + 1)
    ts = np.sort(rng.integers(0, int(days * 86_400), rows))
    due = ts + rng.integers(-86_400, 60 * 86_400, rows)  # a few are set too late
    owners = np.array([SOMEBODY, JONES, None], dtype=object)[rng.integers(0, 3, rows)]
    return pa.table(
        [
            pa.array(np.arange(rows, dtype=np.int64)),
            pa.array(owners, pa.string()),
            pa.array([f"look at number {number}" for number in range(rows)]),
            _after(start, due),
            _after(start, ts),
        ],
        schema=REMINDERS,
    )


def votes(rows: int, voted: pa.Table, *, seed: int = 0) -> pa.Table:
    """Votes on some of these messages; a vote may even arrive before its message."""
    rng = np.random.default_rng(seed + 2)
    chosen = voted.filter(pa.compute.is_valid(voted["ts"]))
    chosen = chosen.take(pa.array(rng.integers(0, len(chosen), rows)))
    delay = (rng.lognormal(9, 2.5, rows) - 600).clip(max=3e7).astype("timedelta64[s]")
    at = chosen["ts"].to_numpy().astype("datetime64[us]") + delay
    order = np.argsort(at, kind="stable")
    voters = np.array([SOMEBODY, JONES, "ann@parc.example"], dtype=object)
    return pa.table(
        [
            chosen["msgid"].combine_chunks(),
            pa.array(voters[rng.integers(0, 3, rows)], pa.string()),
            pa.array(rng.choice([-1, 1], rows).astype(np.int32)),
            pa.array(at).cast(pa.timestamp("us")).cast(TIMESTAMP),
        ],
        schema=VOTES,
    ).take(pa.array(order))


@dataclass(frozen=True)
class ArchivePlan:
    """The plan of generated messages: times of sending, order, share of late ones."""

    seed: int
    start: datetime
    days: float
    order: Order
    late: float = LATE


def _chunks(rows: int, chunk: int, archive: ArchivePlan) -> Iterator[pa.Table]:
    first = int(archive.start.timestamp())
    end = first + int(timedelta(days=archive.days).total_seconds())
    skeleton = make_skeleton(rows, archive.seed, first, end, archive.late)
    skeleton, archive_seq = _in_order(skeleton, archive.order, archive.seed)
    for begin in range(0, len(skeleton), chunk):
        part = slice(begin, begin + chunk)
        yield make_columns(skeleton.take(part), archive_seq[part], archive.seed)


def _in_order(skeleton: Skeleton, order: Order, seed: int) -> tuple[Skeleton, Ints]:
    """The rows in the order asked for, and the place of each in the archive."""
    by_archive = np.argsort(skeleton.readable, kind="stable")
    place = np.empty(len(skeleton), dtype=np.int64)
    place[by_archive] = np.arange(len(skeleton))
    if order == "archive":
        rows = by_archive
    elif order == "arrival":
        rows = np.argsort(skeleton.ts, kind="stable")
    else:
        rows = np.random.default_rng(seed + 3).permutation(len(skeleton))
    place = _repeat_some_places(skeleton, place)
    return skeleton.take(rows), place[rows]


def _repeat_some_places(skeleton: Skeleton, place: Ints) -> Ints:
    """Surplus copies of a message that are read at the same time are exact duplicates."""
    same = np.zeros(len(skeleton), dtype=np.bool_)
    for column in (skeleton.message, skeleton.newsgroup, skeleton.readable, skeleton.ts_is_null):
        equal = column[1:] == column[:-1]
        same[1:] = equal if column is skeleton.message else same[1:] & equal
    place[1:] = np.where(same[1:], place[:-1], place[1:])
    return place


def _after(start: datetime, seconds: Ints) -> pa.Array:
    since = int(start.timestamp())
    return pa.array((seconds + since) * 1_000_000).cast(pa.int64()).cast(TIMESTAMP)
