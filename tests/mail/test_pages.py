"""Pages of parquet files: the headers are read as readers read them, and none unpacks to much."""

from __future__ import annotations

import contextlib
import io
import random
import resource
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapestry.errors import MailboxUnreadable
from tapestry.mail import pages
from tapestry.mail.limits import MIB, Limits
from tapestry.mail.pages import check_pages
from tapestry.mail.stage_parquet import stage_parquet

COLUMNS = {"msgid", "subject", "n_refs", "date"}
WRITTEN: dict[str, dict[str, Any]] = {
    "as usual": {},
    "small pages": {"data_page_size": 200, "write_batch_size": 10},
    "version 2": {"data_page_version": "2.0", "version": "2.6"},
    "groups": {"row_group_size": 100},
    "no dictionary": {"use_dictionary": False},
    "delta": {
        "use_dictionary": False,
        "column_encoding": {"n_refs": "DELTA_BINARY_PACKED", "subject": "DELTA_LENGTH_BYTE_ARRAY"},
    },
    "checksums": {"write_page_checksum": True},
    "an index": {"write_page_index": True},
    "no statistics": {"write_statistics": False, "compression": "none"},
    "bloom": {"sorting_columns": [pq.SortingColumn(0)], "compression": "gzip"},
}


def table() -> pa.Table:
    return pa.table(
        {
            "msgid": [str(n) for n in range(500)],
            "Subject": [None if n % 3 else "ü" * (n % 50) for n in range(500)],
            "n_refs": [None if n % 7 == 0 else n for n in range(500)],
            "date": pa.array([n * 10**6 for n in range(500)], pa.timestamp("us", tz="UTC")),
            "more": [[n] for n in range(500)],
        }
    )


def checked(content: bytes) -> None:
    metadata = pq.ParquetFile(io.BytesIO(content)).metadata
    check_pages(io.BytesIO(content), metadata, COLUMNS)


def written(data: pa.Table, **how: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(data, out, **how)
    return out.getvalue()


@pytest.mark.parametrize("how", WRITTEN)
def test_every_page_is_found(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them: with a limit of their greatest size they pass, below that they do not."""
    content = written(table(), **WRITTEN[how])
    checked(content)
    seen: list[int] = []
    real = pages._Header.struct

    def struct(self: Any, depth: int = 0) -> dict[int, Any]:
        found = real(self, depth)
        if depth == 0:
            seen.append(found[2])
        return found

    monkeypatch.setattr(pages._Header, "struct", struct)
    checked(content)
    monkeypatch.undo()
    metadata = pq.ParquetFile(io.BytesIO(content)).metadata
    groups = [metadata.row_group(n) for n in range(metadata.num_row_groups)]
    whole = sum(group.column(n).total_uncompressed_size for group in groups for n in range(4))
    assert whole * 0.5 < sum(seen) <= whole  # what is missing are the headers
    monkeypatch.setattr(pages, "PAGE", max(seen) - 1)
    with pytest.raises(MailboxUnreadable, match="a page of it unpacks to"):
        checked(content)
    monkeypatch.setattr(pages, "PAGE", max(seen))
    monkeypatch.setattr(pages, "PAGES", len(seen) - 1)
    with pytest.raises(MailboxUnreadable, match=r"more than .* pages"):
        checked(content)


@pytest.mark.parametrize("column", ["subject", "n_refs"])
def test_a_page_that_unpacks_to_much_is_not_unpacked(tmp_path: Path, column: str) -> None:
    count = 20 * MIB if column == "n_refs" else 160
    values = pa.array([0], pa.int64()).take(pa.array([0] * 16)) if column == "n_refs" else None
    if values is not None:
        values = pa.concat_arrays([values] * (count // 16))
    data = pa.table({column: values if values is not None else ["x" * MIB] * count})
    path = tmp_path / "m.parquet"
    pq.write_table(
        data,
        path,
        compression="zstd",
        use_dictionary=False,
        data_page_size=2**31 - 1,
        write_batch_size=count,
        row_group_size=count,
        max_rows_per_page=count,
    )
    del data, values
    assert path.stat().st_size < MIB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(MailboxUnreadable, match=r"a page of it unpacks to 160\.0 MiB"):
        stage_parquet(path, tmp_path / "rows", Limits(messages=2**40))
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert used * (1 if sys.platform == "darwin" else 1024) < 50 * MIB
    pq.write_table(pa.table({"more": ["x" * MIB] * 160}), path)  # a column that is not loaded
    stage_parquet(path, tmp_path / "rows")


def test_texts_that_repeat_the_one_before_are_refused(tmp_path: Path) -> None:
    """Ten thousand texts of a mebibyte in a page of three."""
    how = {"use_dictionary": False, "column_encoding": {"subject": "DELTA_BYTE_ARRAY"}}
    for version in ("1.0", "2.0"):
        path = tmp_path / "m.parquet"
        pq.write_table(pa.table({"subject": ["ab", "abc"]}), path, data_page_version=version, **how)
        with pytest.raises(MailboxUnreadable, match="DELTA_BYTE_ARRAY"):
            stage_parquet(path, tmp_path / "rows")


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_damaged_headers_end_soon(seed: int) -> None:
    rng = random.Random(seed)
    good = written(table(), **WRITTEN[rng.choice(sorted(WRITTEN))])
    metadata = pq.ParquetFile(io.BytesIO(good)).metadata
    content = bytearray(good)
    for _ in range(rng.randrange(1, 200)):
        content[rng.randrange(len(content))] = rng.randrange(256)
    with contextlib.suppress(MailboxUnreadable):
        check_pages(io.BytesIO(bytes(content)), metadata, COLUMNS)
