"""Folders and files of the user's own, for all that lies outside the project.

On a machine with several users somebody else can make a folder in the temporary directory first, or
put a link where a file is expected; what is read from there, or run, is then his. Every such place
of this package goes through this module (docs/reference/adapter.md lists them). A place is believed
where nobody but its owner and root could have written it: each folder on the way to it belongs to
this user or to root, and nobody else may write there. The temporary directory itself is open to
all, but its sticky bit keeps everyone from renaming what is another's."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import grp
import os
import platform
import pwd
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tapestry.errors import ConfigurationError

PREFIX = "dbt-tapestry-"
LOCK = "lock"
_held: list[int] = []
_instead: list[Path] = []
_LIMIT = 1 << 20
"""Bytes: no file of ours is larger that is read at once."""
_LINKS = 40
"""The maximum number of links on one path, as in Linux."""
_HOLDER = re.compile(rb"process [0-9]{1,20} of [A-Za-z0-9. -]{1,255}")


class NotOurs(ConfigurationError):
    """A path whose content others could have written, or that is no file or folder."""


def cache_folder(*parts: str) -> Path:
    """`~/.cache/dbt-tapestry/<parts>` (`XDG_CACHE_HOME`), there afterwards and this user's alone.

    Whatever is missing there is made again. Raises ConfigurationError where somebody else could
    have written it, and OSError where it cannot be made.
    """
    given = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(given) if os.path.isabs(given) else _home() / ".cache"
    folder = cache / "dbt-tapestry"
    _own_on_own_way(folder)
    for part in parts:
        folder = own_folder(folder / part)
    return folder


def ivy_folder() -> Path:
    """Return Spark's folder of fetched jars: in the home that Java takes for the user's.

    A new one is for this user alone. Raises ConfigurationError where others could have put jars
    there, and OSError where this user cannot.
    """
    try:
        home = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        home = _home()
    folder = home / ".ivy2.5.2"
    check_way(folder)
    if not os.path.lexists(folder):
        _own_on_own_way(folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    return folder


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise ConfigurationError(
            f"{_name(os.geteuid())} has no home folder",
            hint="set HOME or XDG_CACHE_HOME to a folder of that user's own",
        ) from None


def dbt_folder() -> Path:
    """`~/.dbt`, where dbt looks for profiles: the user's own, and dbt's, who reads them."""
    return Path.home() / ".dbt"


def shared_temporary(name: str) -> Path:
    """A folder of a fixed name in the temporary directory, this user's alone: large data that is
    made once. Raises ConfigurationError where somebody else made it first."""
    folder = Path(tempfile.gettempdir()) / f"{name}-{os.geteuid()}"
    return _own_on_own_way(folder)


def new_temporary() -> Path:
    """A new folder in the temporary directory, of a name that nobody can foresee, for its maker.

    Raises ConfigurationError where others may rename what is in the temporary directory.
    """
    if not _instead:
        check_way(Path(tempfile.gettempdir()) / PREFIX)
    return Path(tempfile.mkdtemp(prefix=PREFIX, dir=_temporary()))


def temporary_instead(folder: Path) -> str:
    """Use the folder for temporary files from now on, if others may write to the usual one.

    So it is where a volume of Kubernetes is mounted: all may rename what is in it. Why, or "".
    Raises ConfigurationError or OSError where that folder is not to be used either.
    """
    try:
        check_way(Path(tempfile.gettempdir()) / PREFIX)
    except ConfigurationError as error:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _instead[:] = [own_folder(folder)]
        return error.reason
    _instead.clear()
    return ""


def _temporary() -> Path:
    return _instead[0] if _instead else Path(tempfile.gettempdir())


@contextlib.contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """Make this process's libraries create their temporary files in the folder."""
    before, tempfile.tempdir = tempfile.gettempdir(), str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def held_temporary() -> Path:
    """Such a folder, with a lock in it that this process holds as long as it lives.

    By the lock a later process tells what was left over.
    """
    folder, lock = _locked_temporary()
    _held.append(lock)
    return folder


def _locked_temporary() -> tuple[Path, int]:
    folder = new_temporary()
    lock = open_lock(folder / LOCK)
    fcntl.flock(lock, fcntl.LOCK_SH)  # nobody but a sweep looks at a new folder, for a moment
    return folder, lock


def old_temporary() -> list[Path]:
    """The folders that `new_temporary` made for this user, of this process and of others."""
    mine = []
    for folder in _temporary().glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # gone meanwhile
            found = folder.lstat()
            if found.st_uid == os.geteuid() and stat.S_ISDIR(found.st_mode):
                mine.append(folder)
    return mine


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a new temporary folder; remove it afterwards with its content and its lock."""
    folder, lock = _locked_temporary()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def own_folder(path: Path) -> Path:
    """The folder, made if it is missing, with access for this user alone.

    One that others may only look into is closed to them. Raises ConfigurationError where it is a
    link or somebody else's, or where others may write: what stands in it need not be ours.
    """
    for missing in reversed([each for each in (path, *path.parents) if not os.path.lexists(each)]):
        missing.mkdir(mode=0o700, exist_ok=True)  # another process of ours may be first
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode):
            raise _refusal(path, "is a link or a file, not a folder") from None
        _check_owner(path, found)
        raise
    try:
        found = os.fstat(descriptor)
        _check_owner(path, found)
        if found.st_mode & 0o077:
            os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)
    return path


def _own_on_own_way(path: Path) -> Path:
    """Such a folder on a way that is checked, also where parts of it are new.

    In a folder with a sticky bit somebody else may have made them in the moment in between.
    """
    check_way(path)
    own_folder(path)
    check_way(path)
    return path


def read_own(path: Path, limit: int = _LIMIT) -> bytes:
    """A file of this user's, which no other can have written.

    Raises ConfigurationError where that is not so, or where it is longer than the limit (bytes);
    FileNotFoundError where there is none.
    """
    with open(open_own(path), "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise _refusal(path, f"is longer than {limit} bytes")
    return content


def open_own(path: Path) -> int:
    """A descriptor to read such a file from; errors as above."""
    try:
        # not blocking: the other end of a pipe may never come
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _refusal(path, f"cannot be read ({error.strerror}; is it a link?)") from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _refusal(path, "is no file")
        _check_owner(path, found)
    except ConfigurationError:
        os.close(descriptor)
        raise
    return descriptor


def _check_owner(path: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise _refusal(path, f"belongs to {_name(found.st_uid)}")
    if _others_write(found):
        raise _refusal(path, "can be written by other users")


def write_own(path: Path, content: bytes) -> None:
    """Put a file of mode 0600 in its place, whole or not at all; a link there is replaced."""
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.replace(partial, path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def open_lock(path: Path) -> int:
    """A descriptor of a file to hold locks on, made if it is missing; no link is followed."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def take_lock(lock: int, seconds: float, *, alone: bool = True) -> str:
    """Take a lock when others release it; return "", or the holder if it is not released in time.

    Who holds it alone writes its process into the file: a lock says of nobody who has it. Raises
    OSError where the file system has no locks.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(lock, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                found = _HOLDER.fullmatch(os.pread(lock, _LIMIT, 0))
                return found[0].decode() if found else "another process"
            time.sleep(0.1)
        else:
            if alone:
                os.ftruncate(lock, 0)
                host = re.sub(r"[^A-Za-z0-9.-]", "", platform.node()) or "this machine"
                os.pwrite(lock, f"process {os.getpid()} of {host}".encode(), 0)
            return ""


def check_way(path: Path) -> None:
    """Raise ConfigurationError if others than this user and root may change where a path leads.

    Each folder and link on the way is looked at, wherever links lead, and what the path names where
    it is there. Raises ConfigurationError with the first that others may change.
    """
    ahead = list(reversed(path.absolute().parts))
    # The folders that lead to where we are, and whether nobody else can enter what is in them.
    way: list[tuple[Path, bool]] = []
    links = 0
    while ahead:
        part = ahead.pop()
        if part == os.sep:
            way, each, closed = [], Path(part), False
        elif part == os.pardir:
            way = way[:-1] or way
            continue
        else:
            each, closed = way[-1][0] / part, way[-1][1]
        try:
            found = each.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return
        _check_step(each, found, closed)
        if stat.S_ISLNK(found.st_mode):
            links += 1
            if links > _LINKS:
                raise _refusal(each, "is a link that leads to itself")
            ahead += reversed(Path(os.readlink(each)).parts)
        else:
            way.append((each, closed or not found.st_mode & 0o011))


def _check_step(each: Path, found: os.stat_result, closed: bool) -> None:
    trusted = {os.geteuid(), 0, os.lstat("/").st_uid}  # who owns / owns the machine
    if found.st_uid not in trusted:
        raise _refusal(each, f"belongs to {_name(found.st_uid)}")
    sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    if closed or sticky or stat.S_ISLNK(found.st_mode):
        return
    if _others_write(found):
        raise _refusal(each, "can be written by other users")


def _others_write(found: os.stat_result) -> bool:
    """Return whether a user who is neither the owner nor root may write there."""
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and not _own_group(found.st_gid)


def _own_group(group: int) -> bool:
    """Root's group, or the one that many systems make for each user, with nobody else in it.

    With such groups the usual umask is 002, and all that a user makes can be written by his group.
    """
    if group == 0:
        return True
    try:
        user, members = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    alike = group == user.pw_gid and members.gr_name == user.pw_name
    return alike and not set(members.gr_mem) - {user.pw_name}


def _name(user: int) -> str:
    try:
        return f"the user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"the user {user}"


def _refusal(path: Path, what: str) -> NotOurs:
    return NotOurs(
        f"{path} {what}: what stands there need not be yours, and is not used",
        hint="give it to yourself alone (chown, chmod go-w), or name another place:"
        " XDG_CACHE_HOME for the cache, TMPDIR for temporary files",
    )
