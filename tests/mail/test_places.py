"""Only regular files of the mailbox itself are read; what is skipped is counted; limits hold."""

from __future__ import annotations

import gzip
import os
import random
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tapestry.errors import MailboxUnreadable
from tapestry.mail import files
from tapestry.mail import stage_parquet as parquet_stage
from tapestry.mail.limits import Limits, MailboxReading
from tapestry.mail.read import read_mailbox
from tapestry.mail.stage import stage_mailbox
from tapestry.mail.stage_parquet import stage_parquet

MAIL = b"From: a@b.example\nMessage-ID: <%d@b.example>\n\nhello\n"
FROM = b"From a@b.example Thu Jan  3 05:06:07 1991\n"


def _read(path: Path, **limits: int) -> tuple[int, dict[str, int]]:
    """How many messages, and what was skipped: reasons with a count."""
    reading = MailboxReading(Limits(**limits))
    count = len(list(read_mailbox(path, reading)))
    return count, {reason: count for reason, count in vars(reading.skipped).items() if count}


@pytest.fixture
def maildir(tmp_path: Path) -> Path:
    for name in ("cur", "new", "tmp"):
        (tmp_path / "box" / name).mkdir(parents=True)
    for number in range(3):
        (tmp_path / f"box/cur/{number}:2,S").write_bytes(MAIL % number)
    (tmp_path / "secret").write_bytes(MAIL % 99)
    return tmp_path / "box"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "emls" / "a" / "b").mkdir(parents=True)
    for number, name in enumerate(("1.eml", "a/2.EML", "a/b/3.eml")):
        (tmp_path / "emls" / name).write_bytes(MAIL % number)
    (tmp_path / "secret").write_bytes(MAIL % 99)
    return tmp_path / "emls"


def _socket(path: Path) -> None:
    # The path of a socket has at most 108 bytes.
    here = os.open(".", os.O_RDONLY)
    os.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path.name)
    os.fchdir(here)
    os.close(here)


ODD: list[tuple[Callable[[Path], Any], str]] = [
    (os.mkfifo, "special"),
    (_socket, "special"),
    (lambda path: path.symlink_to("/dev/zero"), "links"),
    (lambda path: path.symlink_to("/no/such/file"), "links"),
    (lambda path: path.symlink_to("../../secret"), "links"),
    (lambda path: path.symlink_to(path.name), "links"),
    (lambda path: path.symlink_to(".."), "links"),
]


@pytest.mark.parametrize(("make", "reason"), ODD)
@pytest.mark.parametrize("name", ["x.eml", "\udcff\n`${env:HOME}`*?.eml", "-rf.eml"])
def test_what_is_no_regular_file_is_skipped(
    make: Callable[[Path], Any], reason: str, name: str, maildir: Path
) -> None:
    make(maildir / "new" / name)
    assert _read(maildir) == (3, {reason: 1})


@pytest.mark.parametrize(("make", "reason"), ODD)
def test_also_in_a_folder(make: Callable[[Path], Any], reason: str, folder: Path) -> None:
    make(folder / "a" / "x.eml")
    assert _read(folder) == (3, {reason: 1})


def test_a_folder_where_a_message_belongs(maildir: Path) -> None:
    (maildir / "new" / "deep").mkdir()
    assert _read(maildir) == (3, {"special": 1})


def test_links_to_folders_are_not_followed(maildir: Path, folder: Path) -> None:
    (folder / "out").symlink_to(maildir.parent)
    (folder / "notes").write_text("no mail")
    assert _read(folder)[1] == {"links": 1, "other": 1}
    (maildir / "new").rmdir()
    (maildir / "new").symlink_to(maildir.parent)
    assert _read(maildir) == (3, {"links": 1})


EXCHANGED: list[Callable[[Path], Any]] = [
    os.mkfifo,
    lambda path: path.symlink_to("/dev/zero"),
    lambda path: path.symlink_to("../../secret"),
]


@pytest.mark.parametrize("make", EXCHANGED)
def test_a_file_exchanged_between_look_and_open(
    make: Callable[[Path], Any], maildir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write to the mailbox wins nothing by being fast."""
    opened = os.open

    def exchange(name: Any, flags: int, **options: Any) -> int:
        if str(name).startswith("1:"):
            (maildir / "cur" / name).unlink()
            make(maildir / "cur" / name)
        return opened(name, flags, **options)

    monkeypatch.setattr(files.os, "open", exchange)
    count, skipped = _read(maildir)
    assert count == 2
    assert sum(skipped.values()) == 1


def test_a_folder_exchanged_between_look_and_open(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open
    (folder.parent / "elsewhere").mkdir()
    (folder.parent / "elsewhere" / "secret.eml").write_bytes(MAIL % 99)

    def exchange(name: Any, flags: int, **options: Any) -> int:
        if name == "b":
            (folder / "a" / "b").rename(folder.parent / "away")
            (folder / "a" / "b").symlink_to(folder.parent / "elsewhere")
        return opened(name, flags, **options)

    monkeypatch.setattr(files.os, "open", exchange)
    assert _read(folder) == (2, {"links": 1})


def test_a_file_that_is_gone_or_forbidden(maildir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a mail program moves it; another error of the system is no reason to go on."""
    opened = os.open

    def fail(error: OSError) -> Any:
        def once(name: Any, flags: int, **options: Any) -> int:
            if str(name).startswith("1:"):
                raise error
            return opened(name, flags, **options)

        return once

    for error in (FileNotFoundError(2, "gone"), PermissionError(13, "forbidden")):
        monkeypatch.setattr(files.os, "open", fail(error))
        assert _read(maildir) == (2, {"unreadable": 1})
    monkeypatch.setattr(files.os, "open", fail(OSError(24, "Too many open files")))
    with pytest.raises(OSError, match="Too many"):
        _read(maildir)


class _Writing(MailboxReading):
    """Somebody appends to a file while it is read."""

    file: Path

    def read(self, stream: Any) -> bytes:
        piece = super().read(stream)
        if piece:
            with self.file.open("ab") as end:
                end.write(b"x" if self.size < 1_000 else b"")
        return piece


def test_files_that_change_while_they_are_read(maildir: Path, tmp_path: Path) -> None:
    reading = _Writing()
    reading.file = maildir / "cur" / "1:2,S"
    assert len(list(read_mailbox(maildir, reading))) == 2
    assert reading.skipped.changed == 1
    for name in ("one.mbox", "one.eml", "one.mbox.gz"):
        reading = _Writing()
        reading.file = tmp_path / name
        whole = FROM + MAIL % 1
        reading.file.write_bytes(gzip.compress(whole) if name.endswith(".gz") else whole)
        with pytest.raises(MailboxUnreadable, match=r"wrote to it|no whole gzip"):
            list(read_mailbox(reading.file, reading))


def test_a_parquet_file_that_changes_while_it_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "m.parquet"
    pq.write_table(pa.table({"msgid": ["x"]}), file)
    monkeypatch.setattr(_Writing, "file", file, raising=False)
    monkeypatch.setattr(parquet_stage, "MailboxReading", _Writing)
    with pytest.raises(MailboxUnreadable, match="wrote to it"):
        stage_parquet(file, tmp_path / "rows")


def test_folders_within_folders_have_an_end(tmp_path: Path) -> None:
    place = tmp_path / "box"
    for _ in range(files.DEEPEST + 5):
        place.mkdir()
        (place / "m.eml").write_bytes(MAIL % 1)
        place /= "d"
    assert _read(tmp_path / "box") == (files.DEEPEST + 1, {"deep": 1})


@pytest.mark.parametrize("make", [os.mkfifo, _socket, lambda path: path.symlink_to("/dev/zero")])
@pytest.mark.parametrize("name", ["box", "box.gz", "m.eml", "m.parquet"])
def test_the_file_that_is_named_has_to_be_one(
    make: Callable[[Path], Any], name: str, tmp_path: Path
) -> None:
    make(tmp_path / name)
    stage = stage_parquet if name.endswith(".parquet") else stage_mailbox
    with pytest.raises(MailboxUnreadable, match="a pipe, a socket or a device"):
        stage(tmp_path / name, tmp_path / "rows")


def test_a_link_that_is_named_is_followed(maildir: Path) -> None:
    (maildir.parent / "link").symlink_to(maildir)
    assert _read(maildir.parent / "link") == (3, {})


def test_limits_of_a_mailbox(maildir: Path, folder: Path, tmp_path: Path) -> None:
    box = b"".join(FROM + MAIL % number + b"\n" for number in range(50))
    (tmp_path / "m.mbox").write_bytes(box)
    (tmp_path / "m.mbox.gz").write_bytes(gzip.compress(box))
    for path in (tmp_path / "m.mbox", tmp_path / "m.mbox.gz", maildir, folder):
        with pytest.raises(MailboxUnreadable, match="more than 100 B") as raised:
            stage_mailbox(path, tmp_path / "rows", limits=Limits(total=100))
        assert "--max-total" in raised.value.hint
        with pytest.raises(MailboxUnreadable, match=r"more than 2 (messages|files)") as raised:
            stage_mailbox(path, tmp_path / "rows", limits=Limits(messages=2))
        assert "--max-messages" in raised.value.hint
    exact = Limits(total=len(box), messages=50)
    assert stage_mailbox(tmp_path / "m.mbox.gz", tmp_path / "rows", limits=exact).read == 50


def test_a_long_message_is_counted(maildir: Path, tmp_path: Path) -> None:
    with (maildir / "cur" / "1:2,S").open("ab") as file:
        file.truncate(2**40)  # a hole of a tebibyte
    counts = stage_mailbox(maildir, tmp_path / "rows", limits=Limits(message=100_000))
    assert (counts.read, counts.long) == (3, 1)
    sizes = [row["body_bytes"] for row in pq.read_table(tmp_path / "rows").to_pylist()]
    assert sizes == [6, 100_000 - len(MAIL % 1) + 6, 6]


@pytest.mark.parametrize("seed", range(8))
def test_damaged_gzip_is_loaded_whole_or_not_at_all(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    box = b"".join(FROM + MAIL % chance.randrange(10**9) for _ in range(200))
    packed = bytearray(gzip.compress(box))
    place = chance.randrange(12, len(packed))
    if seed % 2:
        packed[place] ^= 1 + chance.randrange(255)
    else:
        del packed[place:]
    (tmp_path / "m.gz").write_bytes(packed)
    with pytest.raises(MailboxUnreadable, match="no whole gzip file"):
        stage_mailbox(tmp_path / "m.gz", tmp_path / "rows")


def test_names_of_mailboxes_are_text(tmp_path: Path) -> None:
    """The name of a list is that of its mailbox, where the messages name none."""
    name = b"\xff\n a\x00"[:-1] + b" `${env:HOME}`.mbox"
    path = tmp_path / os.fsdecode(name)
    path.write_bytes(FROM + b"From: a@b.example\n\nhello\n")
    stage_mailbox(path, tmp_path / "rows")
    assert pq.read_table(tmp_path / "rows")["newsgroup"].to_pylist() == ["\ufffd a `${env:HOME}`"]
    stage_mailbox(path, tmp_path / "rows", newsgroup="x\udcff\ny")
    assert pq.read_table(tmp_path / "rows")["newsgroup"].to_pylist() == ["x? y"]


def test_parquet_files_are_copied_within_limits(tmp_path: Path) -> None:
    file, copy = tmp_path / "`${env:HOME}`\n*?[a]{b}.parquet", tmp_path / "copy"
    pq.write_table(pa.table({"msgid": ["x"] * 100_000}), file)
    stage_parquet(file, copy)
    assert copy.read_bytes() == file.read_bytes()
    size = file.stat().st_size
    assert size < 10_000
    for limits in (Limits(total=size - 1), Limits(messages=99_999)):
        with pytest.raises(MailboxUnreadable, match="nothing of it is loaded"):
            stage_parquet(file, copy, limits)
    for content in (b"", b"PAR1", b"PAR1" + b"\xff" * 50 + b"PAR1", FROM + MAIL % 1):
        file.write_bytes(content)
        with pytest.raises(MailboxUnreadable, match="no parquet file"):
            stage_parquet(file, copy)
    with pytest.raises(MailboxUnreadable, match="it is a folder"):
        stage_parquet(tmp_path, copy)


def test_nothing_that_is_opened_stays_open(maildir: Path, folder: Path) -> None:
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    for path in (maildir, folder):
        next(iter(read_mailbox(path, MailboxReading())))
        with pytest.raises(MailboxUnreadable):
            list(read_mailbox(path, MailboxReading(Limits(total=1))))
    after = set(os.listdir("/proc/self/fd")) if before else set()
    assert len(after) == len(before)
    assert stat.S_ISDIR(os.stat(maildir).st_mode)
