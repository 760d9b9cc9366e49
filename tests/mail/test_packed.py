"""Parquet files made to harm: what they hold is more than they are long, or no text at all."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tapestry.errors import MailboxUnreadable
from tapestry.mail.limits import MIB, Limits
from tapestry.mail.stage_parquet import stage_parquet


@pytest.mark.parametrize("compression", ["zstd", "gzip", "none"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_a_text_that_all_rows_share_counts_in_each(
    tmp_path: Path, compression: str, dictionary: bool
) -> None:
    """As much as Spark would sort and write."""
    rows, text = 1_000 if dictionary else 20, "x" * 2**20
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))
    table = pa.table({"msgid": [str(row) for row in range(rows)], "subject": texts})
    pq.write_table(
        table if dictionary else table.cast(pa.schema([("msgid", "str"), ("subject", "str")])),
        tmp_path / "m.parquet",
        compression=compression,
        use_dictionary=dictionary,
        dictionary_pagesize_limit=4 * MIB,
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(MailboxUnreadable, match=r"more than 19\.0 MiB"):
        stage_parquet(tmp_path / "m.parquet", tmp_path / "rows", Limits(total=19 * MIB))
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    unit = 1 if sys.platform == "darwin" else 1024
    assert used * unit < 200 * MIB  # a copy for each row would be a gibibyte
    stage_parquet(tmp_path / "m.parquet", tmp_path / "rows", Limits(total=1001 * MIB))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([["x"] * 3]),
        pa.array([{"a": "x"}]),
        pa.array([[("a", "x")]], pa.map_(pa.string(), pa.string())),
        pa.array([b"x" * 100], pa.binary(100)),
    ],
    ids=["list", "struct", "map", "fixed"],
)
def test_values_of_other_kinds_are_refused(tmp_path: Path, column: pa.Array) -> None:
    """A list of a billion zeros takes no room in a file."""
    pq.write_table(pa.table({"msgid": ["1"], "Subject": column}), tmp_path / "m.parquet")
    with pytest.raises(MailboxUnreadable, match="its column Subject holds lists"):
        stage_parquet(tmp_path / "m.parquet", tmp_path / "rows")
    # in a column that is not loaded, it does nothing
    pq.write_table(pa.table({"msgid": ["1"], "more": column}), tmp_path / "m.parquet")
    stage_parquet(tmp_path / "m.parquet", tmp_path / "rows")


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "binary", "dictionary"])
def test_texts_of_every_kind_are_taken(tmp_path: Path, kind: str) -> None:
    types = {
        "large_string": pa.large_string(),
        "string_view": pa.string_view(),
        "binary": pa.binary(),
        "dictionary": pa.dictionary(pa.int32(), pa.string()),
    }
    texts = pa.array(["a", None, "ü" * 9], types.get(kind, pa.string()))
    pq.write_table(pa.table({"msgid": texts, "n_refs": [1, 2, 3]}), tmp_path / "m.parquet")
    stage_parquet(tmp_path / "m.parquet", tmp_path / "rows", Limits(total=10_000))
    assert (tmp_path / "rows").read_bytes() == (tmp_path / "m.parquet").read_bytes()


def test_a_file_without_texts_or_rows_is_taken(tmp_path: Path) -> None:
    for table in (pa.table({"n_refs": [1]}), pa.table({"msgid": pa.array([], pa.string())})):
        pq.write_table(table, tmp_path / "m.parquet")
        stage_parquet(tmp_path / "m.parquet", tmp_path / "rows")


@pytest.mark.parametrize("column", ["msgid", "subject"])
def test_one_text_is_no_longer_than_a_message(tmp_path: Path, column: str) -> None:
    pq.write_table(pa.table({column: ["a", None, "x" * 2_000]}), tmp_path / "m.parquet")
    with pytest.raises(MailboxUnreadable, match="--max-message"):
        stage_parquet(tmp_path / "m.parquet", tmp_path / "rows", Limits(message=1_999))
    stage_parquet(tmp_path / "m.parquet", tmp_path / "rows", Limits(message=2_000))
