"""Files as sinks."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from tests.delivery.world import World

FILE = {"name": "a", "to": "file", "path": "out"}


def test_formats_of_files(world: World) -> None:
    world.create(
        {"name": "c", "to": "file", "path": "out", "format": "csv"},
        {"name": "p", "to": "file", "path": "out"},
    ).deliver()
    world.run(20, (2, 12.5))
    world.deliver()
    (made,) = (world.root / "out").glob("model-c-*.csv")
    ((header, row)) = list(csv.reader(io.StringIO(made.read_text(), newline="")))
    assert header == ["id", "who", "_matched_at"]
    assert row[:2] == ["2", "w2"]
    assert len(list((world.root / "out").iterdir())) == 2  # and nothing half-written


def test_a_folder_that_is_none(world: World, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    world.create(FILE).deliver()
    world.run(20, (2, 12))
    assert "was not written" in world.one().error
    (tmp_path / "out").unlink()
    assert world.one().rows == 1
