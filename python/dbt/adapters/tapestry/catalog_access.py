"""Access to the catalog: its folder, its password, and catalogs that older versions made.

Whoever can log in to H2 can run programs as the user whose process has the file open. So the
catalog lies in a folder that its owner alone can enter, whatever the umask is when H2 makes one of
its files anew, and its password is random, in a file of that folder. The password is first written
and then set in the database, so that a process killed in between leaves a catalog that can be
opened in either case: with the password, or with the earlier empty one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tapestry.errors import ConfigurationError
from tapestry.folders import (
    NotOurs,
    open_lock,
    open_own,
    own_folder,
    read_own,
    take_lock,
    write_own,
)
from tapestry.runs.engine.locations import CATALOG_FOLDER

FOLDER = ".catalog"
"""In the warehouse; Spark takes no folder with such a name for a schema or a table."""
USER = "sa"
_FILE = "catalog.mv.db"
_PASSWORD = "password"
_BYTES = 32
_WAIT = 120.0
"""Seconds for another process that is just opening the catalog."""
_WRONG_PASSWORD, _HELD = 28000, 90020
"""H2's numbers for these errors."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_WAYS_OUT = (
    "give it to the user who runs dbt, alone (chown -R, chmod go-w), and do not remove it. Where"
    " the disk is read-only, or keeps no owners and modes, name a folder on another one:"
    f" {CATALOG_FOLDER}. Several users need a catalog in a database (docs/how-to/cluster.md)"
)
_MOVED = """\
The catalog of this warehouse is in the folder .catalog beside this one, with a password.
This folder keeps older versions of dbt-tapestry from starting an empty one in its place.
"""


def url_of(warehouse: Path) -> str:
    """Return the catalog's JDBC address.

    Raises ConfigurationError for characters in the path that H2 or Hadoop would interpret.
    """
    path = str(warehouse.absolute() / FOLDER / _FILE.removesuffix(".mv.db"))
    if ";" in path or "${" in path or _CONTROL.search(path):
        raise ConfigurationError(
            f"the warehouse's path holds ';', '${{' or a control character: {path!r}",
            hint="move the project, or set spark.sql.warehouse.dir to a path without it",
        )
    return f"jdbc:h2:file:{path};AUTO_SERVER=TRUE"


@contextlib.contextmanager
def prepared(jvm: Any, warehouse: Path) -> Iterator[str]:
    """Yield the password of a warehouse's catalog, which may be opened with it inside this block.

    One process at a time is in the block, so that two processes that start first agree on a
    password. Raises ConfigurationError where others than this user can reach the catalog, or where
    an older version's catalog cannot be moved.
    """
    folder = warehouse / FOLDER
    with _said_of(warehouse):
        own_folder(folder)
        lock = open_lock(folder / "lock")
    try:
        with _said_of(warehouse):
            _alone(lock, folder / "lock")
            password = password_of(folder)
            _move_over(jvm, warehouse, folder, password)
            _forget_the_dead(folder)
        yield password
    finally:
        os.close(lock)


@contextlib.contextmanager
def _said_of(warehouse: Path) -> Iterator[None]:
    """Raise errors of files as ConfigurationErrors whose hint fits a catalog: never remove it."""
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"Spark's catalog cannot be kept there: {error.strerror or error}",
            str(error.filename or warehouse),
            _WAYS_OUT,
        ) from error
    except NotOurs as error:
        raise ConfigurationError(error.reason, hint=_WAYS_OUT) from error


def password_of(folder: Path) -> str:
    """Return the catalog's password; the first process makes it. The caller holds the lock."""
    path = folder / _PASSWORD
    try:
        descriptor = open_own(path)
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)
    except FileNotFoundError:
        write_own(path, secrets.token_hex(_BYTES).encode())
    found = read_own(path).decode("ascii", "replace").strip()
    if len(found) != 2 * _BYTES or set(found) - set("0123456789abcdef"):
        raise ConfigurationError(
            f"{path} does not hold the catalog's password",
            hint="put the file back from a backup of the warehouse",
        )
    return found


def connection_with(jvm: Any, url: str, password: str) -> Any:
    """Return a connection as the catalog's user; set the password if it is still empty.

    Raises ConfigurationError where neither opens it, Py4JJavaError for everything else.
    """
    manager = jvm.java.sql.DriverManager
    try:
        return manager.getConnection(url, USER, password)
    except Exception as error:
        if error_code(error) != _WRONG_PASSWORD:
            raise
    try:
        connection = manager.getConnection(url, USER, "")
    except Exception as error:
        if error_code(error) != _WRONG_PASSWORD:
            raise
        folder = url.removeprefix("jdbc:h2:file:").partition(";")[0].rpartition("/")[0]
        raise ConfigurationError(
            "the password in the catalog's folder is not the catalog's",
            folder,
            "put password and catalog.mv.db back from one backup of the warehouse",
        ) from None
    connection.createStatement().execute(f"ALTER USER {USER} SET PASSWORD '{password}'")
    return connection


def error_code(error: Exception) -> int | None:
    """Return H2's number of an error, None for another kind of error."""
    java = getattr(error, "java_exception", None)
    try:
        return int(java.getErrorCode())  # type: ignore[union-attr]
    except Exception:
        return None


def _move_over(jvm: Any, warehouse: Path, folder: Path, password: str) -> None:
    """Move a catalog as older versions made it, open to everyone and without a password, to ours.

    It is opened without letting others in, which tells whether an older version still has it open;
    the password is set before it is moved, so that none can open it meanwhile.
    """
    old, new = warehouse / _FILE, folder / _FILE
    if not os.path.lexists(old) or old.is_dir():
        return
    if new.exists():
        raise ConfigurationError(
            "the warehouse has two catalogs: an older version of dbt-tapestry made another one",
            f"{old} beside {new}",
            "move the first away; what the older version created meanwhile has to be built again",
        )
    os.close(open_own(old))
    url = f"jdbc:h2:file:{warehouse.absolute() / 'catalog'};IFEXISTS=TRUE;TRACE_LEVEL_FILE=0"
    try:
        connection = connection_with(jvm, url, password)
    except Exception as error:
        if error_code(error) != _HELD:
            raise
        raise ConfigurationError(
            "an older version of dbt-tapestry has the catalog open, without a password",
            str(old),
            "end it (dbt run, tapestry watch, a Spark that keep_warm left), then run this again:"
            " the catalog is moved over once",
        ) from None
    connection.createStatement().execute("SHUTDOWN")
    old.replace(new)
    old.mkdir()
    (old / "README").write_text(_MOVED)
    for left in ("catalog.trace.db", "catalog.lock.db"):
        (warehouse / left).unlink(missing_ok=True)


def _forget_the_dead(folder: Path) -> None:
    """Remove the address of a catalog's server that was killed.

    A port that became free can be taken by any user of the machine; H2 would send that user the
    (hashed) password and trust the answers. A process that has the file open holds a lock on it.
    """
    address = folder / "catalog.lock.db"
    try:
        descriptor = os.open(folder / _FILE, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        address.unlink(missing_ok=True)
        return
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        address.unlink(missing_ok=True)
    except BlockingIOError:
        pass
    finally:
        os.close(descriptor)


def _alone(lock: int, path: Path) -> None:
    """Wait until no other process is just opening the catalog."""
    holder = take_lock(lock, _WAIT)
    if holder:
        raise ConfigurationError(
            f"{holder} has been opening the catalog for {_WAIT:.0f} seconds",
            str(path),
            "end it, if it hangs",
        )
