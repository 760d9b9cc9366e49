"""The columns of generated messages: text is derived from a skeleton's numbers, in bulk."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tapestry.demo.skeleton import Ints, Skeleton

NEWSGROUPS = (
    "comp.databases",
    "comp.sys.mac",
    "comp.sys.sun",
    "comp.lang.sql",
    "rec.bicycles",
    "comp.sys.ibm",
    "sci.space",
    "misc.jobs",
    "news.announce",
    "rec.gardens",
    "soc.libraries",
    "alt.gourmand",
)
SOMEBODY, JONES = "joe@parc.example", "jones@parc.example"
DOMAINS = ("parc.example", "lists.example", "mail.example", "univ.example", "corp.example")
VERBS = ("Speed up", "Fix", "Document", "Question about", "Remove", "Rewrite", "Announcing", "Test")
NOUNS = (
    "the query optimizer",
    "a deadlock in the lock manager",
    "database",
    "index scans",
    "the mail gateway",
    "clustered indexes",
    "stored procedures",
    "the news feed",
    "backup tapes",
    "the new printer",
    "my database",
)

TIMESTAMP = pa.timestamp("us", tz="UTC")
MESSAGES = pa.schema(
    [
        ("msgid", pa.string()),
        ("inreplyto", pa.string()),
        ("author", pa.string()),
        ("subject", pa.string()),
        ("date", TIMESTAMP),
        ("ts", TIMESTAMP),
        ("newsgroup", pa.string()),
        ("n_refs", pa.int32()),
        ("body_bytes", pa.int32()),
        ("archive_seq", pa.int64()),
    ]
)

_PAIRS = np.array([f"{value:04x}" for value in range(65536)], dtype="S4")


def make_columns(rows: Skeleton, archive_seq: Ints, seed: int) -> pa.Table:
    """The messages of these rows; what a message says depends on its number and the seed only."""
    noise = mix(rows.message, seed)
    return pa.table(
        [
            hex_ids(rows.message, seed),
            _parent_ids(rows, seed),
            _authors(noise),
            _subjects(mix(rows.root, seed + 1), rows.depth, noise),
            instants(rows.sent),
            instants(rows.ts, rows.ts_is_null),
            pa.array(NEWSGROUPS).take(pa.array(rows.newsgroup)),
            pa.array(rows.depth.astype(np.int32)),
            pa.array(_body_bytes(noise)),
            pa.array(archive_seq),
        ],
        schema=MESSAGES,
    )


def mix(values: Ints, seed: int) -> NDArray[np.uint64]:
    """A hash (splitmix64): 64 well mixed bits of each number."""
    offset = np.uint64((seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) % 2**64)
    with np.errstate(over="ignore"):
        bits = values.astype(np.uint64) * np.uint64(0xD1342543DE82EF95) + offset
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(bits ^ (bits >> np.uint64(31)), dtype=np.uint64)


def hex_ids(numbers: Ints, seed: int) -> pa.Array:
    """Sixteen hex digits for each number, as one string array."""
    text = _PAIRS[mix(numbers, seed).view(np.uint16)]
    offsets = np.arange(len(numbers) + 1, dtype=np.int32) * 16
    return pa.StringArray.from_buffers(
        len(numbers), pa.py_buffer(offsets), pa.py_buffer(text.tobytes())
    )


def instants(seconds: Ints, missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """Timestamps from whole seconds since 1970."""
    return pa.array(seconds * 1_000_000, mask=missing).cast(pa.int64()).cast(TIMESTAMP)


def _parent_ids(rows: Skeleton, seed: int) -> pa.Array:
    # a parent that is not in the archive has an id all the same: that of a number never given out
    known = np.where(rows.parent >= 0, rows.parent, rows.message + 2**40)
    ids = hex_ids(known, seed)
    return pc.if_else(pa.array(rows.parent == -1), pa.scalar(None, pa.string()), ids)


def _authors(noise: NDArray[np.uint64]) -> pa.Array:
    """A few write most; one in five hundred has no address."""
    share = (noise >> np.uint64(11)).astype(np.float64) / 2**53
    number = np.minimum(8 * ((1 - share) ** -1.1 - 1), 9_999).astype(np.int64)
    people = [f"user{n}@{DOMAINS[n % len(DOMAINS)]}" for n in range(10_000)]
    people[:2] = [SOMEBODY, JONES]
    nobody = pa.array(noise % np.uint64(500) == 0)
    return pc.if_else(nobody, pa.scalar(None, pa.string()), _pick(people, number))


def _subjects(root: NDArray[np.uint64], depth: Ints, noise: NDArray[np.uint64]) -> pa.Array:
    """A thread keeps its subject; its replies say Re: before it; a few have none."""
    phrases = [f"{verb} {noun}" for verb in VERBS for noun in NOUNS] + list(NOUNS)
    subject = _pick(phrases, (root % np.uint64(len(phrases))).astype(np.int64))
    start = pc.if_else(pa.array(depth > 0), pa.scalar("Re: "), pa.scalar(""))
    text = pc.binary_join_element_wise(start, subject, "")
    nothing = pa.array(noise % np.uint64(997) == 0)
    return pc.if_else(nothing, pa.scalar(None, pa.string()), text)


def _body_bytes(noise: NDArray[np.uint64]) -> NDArray[np.int32]:
    share = ((noise * np.uint64(3)) >> np.uint64(11)).astype(np.float64) / 2**53
    return np.minimum(1_400 * (1 - share) ** -0.7, 2_000_000).astype(np.int32)


def _pick(texts: Any, number: Ints) -> pa.Array:
    return pa.array(texts).take(pa.array(number))
