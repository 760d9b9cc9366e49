"""A mailbox written to one parquet file, and counts of what was met on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

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
_BATCH = 20_000


@dataclass
class Counts:
    """What a mailbox held; every message is in exactly one of ``staged`` and ``repeated``."""

    read: int = 0
    staged: int = 0
    repeated: int = 0  # same message id and list as an earlier message of this mailbox
    id_made_up: int = 0
    broken: int = 0
    clocks: dict[str, int] = field(
        default_factory=lambda: {"Received": 0, "From_": 0, "Date": 0, "none": 0}
    )


def stage_mailbox(path: Path, target: Path, newsgroup: str | None = None) -> Counts:
    """Write the rows of a mailbox, each (message id, list) once, to a parquet file."""
    counts = Counts()
    name = mailbox_name(path)
    parsed = (
        _in_list(parse_message(content, from_line, name, place), newsgroup)
        for place, (content, from_line) in enumerate(read_mailbox(path))
    )
    rows = _count(parsed, counts)
    with pq.ParquetWriter(target, COLUMNS, compression="zstd") as writer:
        while batch := list(islice(rows, _BATCH)):
            writer.write_table(pa.Table.from_pylist([asdict(row) for row in batch], COLUMNS))
    return counts


def _in_list(parsed: Parsed, newsgroup: str | None) -> Parsed:
    if newsgroup is None:
        return parsed
    row = Row(**{**asdict(parsed.row), "newsgroup": newsgroup})
    return Parsed(row, parsed.clock, parsed.id_made_up, parsed.broken)


def _count(parsed: Iterable[Parsed], counts: Counts) -> Iterator[Row]:
    """The rows that are new within this mailbox, counted as they pass."""
    seen: set[tuple[str, str]] = set()
    for one in parsed:
        counts.read += 1
        counts.clocks[one.clock] += 1
        counts.id_made_up += one.id_made_up
        counts.broken += one.broken
        identity = (one.row.msgid, one.row.newsgroup)
        if identity in seen:
            counts.repeated += 1
            continue
        seen.add(identity)
        counts.staged += 1
        yield one.row
