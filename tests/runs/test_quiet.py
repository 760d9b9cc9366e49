"""What is kept between processes: up to when nothing happens to a model."""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone
from pathlib import Path

import pytest

from tapestry.errors import ConfigurationError
from tapestry.instants import LAST, micros
from tapestry.runs.context import quiet
from tapestry.runs.context.quiet import NAME, QuietTimes

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def _process(folder: Path, **notes: datetime | None) -> QuietTimes:
    """A process that learns what is kept, notes more, and ends."""
    times = QuietTimes()
    times.read(folder)
    for key, until in notes.items():
        times.note(key, until)
    times.write(folder)
    return times


def _kept(folder: Path, *keys: str) -> list[datetime | str | None]:
    times = QuietTimes()
    times.read(folder)
    return [times.until(key) if times.known(key) else "unknown" for key in keys]


def test_a_later_process_knows_what_earlier_ones_found(tmp_path: Path) -> None:
    _process(tmp_path, one=NOON, two=None)
    _process(tmp_path, three=LAST)
    assert _kept(tmp_path, "one", "two", "three", "four") == [NOON, None, LAST, "unknown"]
    assert os.stat(tmp_path / NAME).st_mode & 0o777 == 0o600


def test_a_process_that_notes_nothing_writes_nothing(tmp_path: Path) -> None:
    _process(tmp_path)
    assert not list(tmp_path.iterdir())
    _process(tmp_path, one=NOON)
    before = os.stat(tmp_path / NAME).st_mtime_ns
    _process(tmp_path)
    assert os.stat(tmp_path / NAME).st_mtime_ns == before


def test_the_newest_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiet, "SIZE", 3)
    _process(tmp_path, one=NOON, two=NOON, three=NOON)
    _process(tmp_path, one=None, four=NOON)  # known anew: newer than two and three
    assert _kept(tmp_path, "one", "two", "three", "four") == [None, "unknown", NOON, NOON]


def test_other_code_finds_out_for_itself(tmp_path: Path) -> None:
    _process(tmp_path, one=NOON)
    file = tmp_path / NAME
    file.write_text(json.dumps({**json.loads(file.read_text()), "code": "other"}))
    assert _kept(tmp_path, "one") == ["unknown"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        '{"code": %s, "until": []}',
        '{"code": %s}',
        '{"code": ["%s"], "until": {}}',
    ],
)
def test_what_is_no_such_file_counts_as_not_there(tmp_path: Path, content: str) -> None:
    (tmp_path / NAME).write_text(content.replace("%s", json.dumps(quiet._code())))
    assert _kept(tmp_path, "one") == ["unknown"]
    _process(tmp_path, one=NOON)
    assert _kept(tmp_path, "one") == [NOON]


@pytest.mark.parametrize(
    "value", ["soon", 1.5, True, [], {}, micros(LAST) + 1, -(10**40), "2026-01-01"]
)
def test_an_odd_value_does_not_harm_the_others(tmp_path: Path, value: object) -> None:
    _process(tmp_path, one=NOON, two=NOON)
    content = json.loads((tmp_path / NAME).read_text())
    first = next(iter(content["until"]))
    content["until"][first] = value
    (tmp_path / NAME).write_text(json.dumps(content))
    assert _kept(tmp_path, "one", "two") == ["unknown", NOON]


def test_a_file_that_others_could_have_written_is_not_believed(tmp_path: Path) -> None:
    _process(tmp_path, one=NOON)
    (tmp_path / NAME).chmod(0o666)
    assert _kept(tmp_path, "one") == ["unknown"]


def test_a_link_or_a_pipe_is_not_followed_or_waited_for(tmp_path: Path) -> None:
    kept, linked, piped = tmp_path / "kept", tmp_path / "linked", tmp_path / "piped"
    for folder in (kept, linked, piped):
        folder.mkdir()
    _process(kept, one=NOON)
    (linked / NAME).symlink_to(kept / NAME)
    os.mkfifo(piped / NAME)
    for folder in (linked, piped):
        assert _kept(folder, "one") == ["unknown"]
        _process(folder, two=NOON)
        assert _kept(folder, "one", "two") == ["unknown", NOON]
    assert _kept(kept, "one", "two") == [NOON, "unknown"]


def test_a_folder_that_cannot_be_written_loses_nothing(tmp_path: Path) -> None:
    times = QuietTimes()
    times.note("one", NOON)
    with pytest.raises((OSError, ConfigurationError)):
        times.write(tmp_path / "missing")
    times.write(tmp_path)
    assert _kept(tmp_path, "one") == [NOON]
