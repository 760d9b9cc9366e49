"""Writes a mailbox to one parquet file, and counts what it held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tapestry.mail.decode import one_line
from tapestry.mail.doubts import Doubts
from tapestry.mail.limits import Limits, MailboxReading, Skipped
from tapestry.mail.parse import Parsed, Row, parse_message
from tapestry.mail.read import mailbox_name, read_mailbox

_INSTANT = pa.timestamp("us", tz="UTC")
COLUMNS = pa.schema(
    [
        ("msgid", pa.string()),
        ("inreplyto", pa.string()),
        ("author", pa.string()),
        ("subject", pa.string()),
        ("date", _INSTANT),
        ("ts", _INSTANT),
        ("newsgroup", pa.string()),
        ("n_refs", pa.int32()),
        ("body_bytes", pa.int32()),
        ("archive_seq", pa.int64()),
    ]
)
_BATCH_ROWS, _BATCH_CHARACTERS = 20_000, 2**24


@dataclass
class Counts:
    """Counts of a mailbox; every message is in exactly one of ``staged`` and ``repeated``."""

    read: int = 0
    staged: int = 0
    repeated: int = 0  # same message id and list as an earlier message of this mailbox
    id_made_up: int = 0
    broken: int = 0
    cut: int = 0  # headers longer than what is kept of them
    long: int = 0  # longer than what is read of a message
    clocks: dict[str, int] = field(
        default_factory=lambda: {"Received": 0, "From_": 0, "Date": 0, "none": 0}
    )
    skipped: Skipped = field(default_factory=Skipped)
    doubts: Doubts = field(default_factory=Doubts)


def stage_mailbox(
    path: Path, target: Path, newsgroup: str | None = None, limits: Limits | None = None
) -> Counts:
    """Write the rows of a mailbox, each (message id, list) once, to a parquet file.

    Raises MailboxUnreadable for a mailbox that is not to be loaded at all: see `read_mailbox`.
    """
    reading = MailboxReading(limits or Limits())
    counts = Counts(skipped=reading.skipped)
    name = mailbox_name(path)
    newsgroup = one_line(newsgroup) if newsgroup else None
    parsed = (
        _in_list(parse_message(content, name, place), newsgroup)
        for place, content in enumerate(read_mailbox(path, reading))
    )
    rows = _count(parsed, counts, reading)
    with pq.ParquetWriter(target, COLUMNS, compression="zstd") as writer:
        for batch in _batches(rows):
            writer.write_table(pa.Table.from_pylist([asdict(row) for row in batch], COLUMNS))
    return counts


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows that fit into memory together, however long their texts are."""
    batch: list[Row] = []
    characters = 0
    for row in rows:
        batch.append(row)
        texts = (row.msgid, row.inreplyto, row.author, row.subject, row.newsgroup)
        characters += sum(len(text) for text in texts if text)
        if len(batch) == _BATCH_ROWS or characters > _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _in_list(parsed: Parsed, newsgroup: str | None) -> Parsed:
    if newsgroup is None:
        return parsed
    return replace(parsed, row=replace(parsed.row, newsgroup=newsgroup))


def _count(parsed: Iterable[Parsed], counts: Counts, reading: MailboxReading) -> Iterator[Row]:
    """The rows that are new within this mailbox, counted as they pass."""
    seen: set[bytes] = set()
    for one in parsed:
        counts.read += 1
        reading.check_messages(counts.read)
        counts.clocks[one.clock] += 1
        counts.id_made_up += one.id_made_up
        counts.broken += one.broken
        counts.cut += one.cut
        counts.long += one.long
        counts.doubts.add(one.row.msgid, one.row.archive_seq, one.doubts)
        identity = _identity(one.row)
        if identity in seen:
            counts.repeated += 1
            continue
        seen.add(identity)
        counts.staged += 1
        yield one.row


def _identity(row: Row) -> bytes:
    """Return a hash of 16 bytes, as there are millions; collisions do not occur in practice."""
    return blake2b(f"{row.msgid}\0{row.newsgroup}".encode(), digest_size=16).digest()
