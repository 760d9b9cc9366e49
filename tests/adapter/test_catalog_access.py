"""Who may open the catalog: on H2 itself, in JVMs that hold nothing else. (Spark: test_doors.)"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.adapter.test_folders import AS_NOBODY, NOBODY, as_root

from dbt.adapters.tapestry import catalog_access
from dbt.adapters.tapestry.catalog_access import connection_with, error_code, prepared, url_of
from tapestry.errors import ConfigurationError

WRONG = 28000


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    folder = tmp_path / "warehouse"
    folder.mkdir()
    return folder


def run(connection: Any, *statements: str) -> None:
    for sql in statements:
        connection.createStatement().execute(sql)


def rows(connection: Any) -> int:
    found = connection.createStatement().executeQuery("SELECT count(*) FROM t")
    found.next()
    return int(found.getInt(1))


def old_url(warehouse: Path) -> str:
    """As older versions opened it: user sa, no password, in the warehouse itself."""
    return f"jdbc:h2:file:{warehouse / 'catalog'};AUTO_SERVER=TRUE"


def old_catalog(h2: Any, warehouse: Path) -> Any:
    connection = h2.java.sql.DriverManager.getConnection(old_url(warehouse), "sa", "")
    run(connection, "CREATE TABLE t AS SELECT 1 AS a UNION ALL SELECT 2")
    return connection


@contextlib.contextmanager
def opened(h2: Any, warehouse: Path) -> Iterator[Any]:
    with prepared(h2, warehouse) as password:
        connection = connection_with(h2, url_of(warehouse), password)
    try:
        yield connection
    finally:
        connection.close()


def refused(h2: Any, url: str, password: str = "") -> int | None:
    with pytest.raises(Exception, match="Jdbc") as error:
        h2.java.sql.DriverManager.getConnection(url, "sa", password)
    return error_code(error.value)


@pytest.mark.more
def test_a_new_catalog_has_a_password_that_its_owner_alone_can_read(
    h2: Any, warehouse: Path
) -> None:
    before = os.umask(0)
    try:
        with opened(h2, warehouse) as connection:
            run(connection, "CREATE TABLE t (a INT)")
            assert refused(h2, url_of(warehouse)) == WRONG
    finally:
        os.umask(before)
    folder = warehouse / ".catalog"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "password").stat().st_mode & 0o777 == 0o600
    assert re.fullmatch(r"[0-9a-f]{64}", (folder / "password").read_text())
    assert [path.name for path in warehouse.iterdir()] == [".catalog"]
    with opened(h2, warehouse) as connection:
        assert rows(connection) == 0


def test_every_warehouse_has_a_password_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    texts = {catalog_access.password_of(tmp_path / name) for name in ("a", "b", "a")}
    assert len(texts) == 2


def test_first_processes_agree_on_the_password(warehouse: Path) -> None:
    """In the moment in which another makes the file, too."""
    start, said = os.pipe(), os.pipe()
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                os.close(start[1])
                os.read(start[0], 1)  # ends for all of them at once
                with prepared(None, warehouse) as password:
                    os.write(said[1], f"{password}\n".encode())
            os._exit(0)
        children.append(child)
    os.close(start[1])
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    found = os.read(said[0], 65536).decode().split()
    assert [len(password) for password in found] == [64] * 4
    assert len(set(found)) == 1


def test_the_server_listens_for_this_machine_and_wants_the_password(
    h2: Any, warehouse: Path
) -> None:
    with opened(h2, warehouse):
        text = (warehouse / ".catalog" / "catalog.lock.db").read_text()
        port = int(re.search(r"server=localhost\\:(\d+)", text)[1])  # type: ignore[index]
        key = re.search(r"^id=(\w+)", text, re.MULTILINE)[1]  # type: ignore[index]
        server = f"jdbc:h2:tcp://127.0.0.1:{port}/"
        assert refused(h2, server + key) == WRONG  # whoever has seen port and key
        assert refused(h2, server + "mem:x") == WRONG
        assert refused(h2, f"{server}{warehouse}/.catalog/catalog") == WRONG
        assert refused(h2, server + "mem:management_db_" + str(port)) == WRONG
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        if sys.platform == "linux":  # answers where a program listens on all addresses
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.2", port), timeout=5)


@as_root
def test_another_user_finds_the_door_shut(h2: Any, tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):  # pytest's own, closed to others
        folder.chmod(0o755)
    warehouse = tmp_path / "warehouse"
    warehouse.mkdir()
    with opened(h2, warehouse):
        catalog = warehouse / ".catalog"
        assert subprocess.run([*AS_NOBODY, "ls", warehouse], check=True, cwd="/")
        for path in (catalog, *catalog.iterdir()):
            tried = subprocess.run([*AS_NOBODY, "cat", path], capture_output=True, cwd="/")
            assert b"Permission denied" in tried.stderr


def test_an_old_catalog_is_moved_over_without_loss(h2: Any, warehouse: Path) -> None:
    old_catalog(h2, warehouse).close()
    with opened(h2, warehouse) as connection:
        assert rows(connection) == 2
        assert refused(h2, url_of(warehouse)) == WRONG
    refused(h2, old_url(warehouse))  # an older version says so, and starts no empty one
    assert (warehouse / "catalog.mv.db" / "README").is_file()
    with opened(h2, warehouse) as connection:
        assert rows(connection) == 2


@pytest.mark.more
@pytest.mark.parametrize("killed", ["written", "told", "moved"])
def test_a_move_that_was_killed_is_finished(
    h2: Any, warehouse: Path, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    """After the password was written; after the database was told it; after it was moved."""
    old_catalog(h2, warehouse).close()

    def die(*given: object) -> Any:
        raise KeyboardInterrupt

    steps = {"written": ("connection_with", catalog_access), "told": ("replace", Path)}
    name, where = steps.get(killed, ("mkdir", Path))
    if killed == "moved":
        (warehouse / ".catalog").mkdir(0o700)
    with monkeypatch.context() as patch:
        patch.setattr(where, name, die)
        with pytest.raises(KeyboardInterrupt), prepared(h2, warehouse):
            pass
    assert (warehouse / ".catalog" / "password").exists()
    assert (warehouse / ".catalog" / "catalog.mv.db").exists() is (killed == "moved")
    with opened(h2, warehouse) as connection:
        assert rows(connection) == 2


@pytest.mark.more
def test_an_old_version_that_has_it_open_is_named(h2: Any, other_h2: Any, warehouse: Path) -> None:
    held = old_catalog(other_h2, warehouse)
    with (
        pytest.raises(ConfigurationError, match=r"older version .* has the catalog open") as error,
        prepared(h2, warehouse),
    ):
        pass
    assert "keep_warm" in error.value.hint
    assert rows(held) == 2
    run(held, "INSERT INTO t VALUES (3)")
    held.close()
    with opened(h2, warehouse) as connection:
        assert rows(connection) == 3


def test_two_catalogs_are_refused(h2: Any, warehouse: Path) -> None:
    with opened(h2, warehouse) as connection:
        run(connection, "CREATE TABLE t (a INT)")
    old_catalog(h2, warehouse).close()
    with pytest.raises(ConfigurationError, match="two catalogs"), prepared(h2, warehouse):
        pass


def test_an_old_catalog_behind_a_link_is_refused(h2: Any, warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    old_catalog(h2, tmp_path / "elsewhere").close()
    (warehouse / "catalog.mv.db").symlink_to(tmp_path / "elsewhere" / "catalog.mv.db")
    with pytest.raises(ConfigurationError, match="link"), prepared(h2, warehouse):
        pass


@pytest.mark.more
def test_a_lost_or_broken_password_is_said(h2: Any, warehouse: Path) -> None:
    with opened(h2, warehouse) as connection:
        run(connection, "CREATE TABLE t (a INT)")
    password = warehouse / ".catalog" / "password"
    kept = password.read_text()
    for other, said in (("", "does not hold"), ("x';--", "does not hold"), (None, "is not the")):
        password.unlink()
        if other is not None:
            password.write_text(other)
        with pytest.raises(ConfigurationError, match=said), opened(h2, warehouse):
            pass
    password.write_text(kept)
    with opened(h2, warehouse) as connection:
        assert rows(connection) == 0
    assert password.stat().st_mode & 0o777 == 0o600


def test_a_server_that_was_killed_is_not_gone_to(h2: Any, other_h2: Any, warehouse: Path) -> None:
    """Its port may be somebody else's by now: H2 would tell him the key, and believe him."""
    address = warehouse / ".catalog" / "catalog.lock.db"
    with opened(other_h2, warehouse) as connection:
        left = address.read_text()
        with opened(h2, warehouse) as second:  # it lives, and lets others in
            assert address.read_text() == left
            run(second, "CREATE TABLE t (a INT)")
        assert rows(connection) == 0
    reached = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as other:

        def answer() -> None:
            with contextlib.suppress(OSError):
                other.accept()[0].close()
                reached.set()

        threading.Thread(target=answer, daemon=True).start()
        port = other.getsockname()[1]
        address.write_text(re.sub(r"server=.*", f"server=localhost\\\\:{port}", left))
        with opened(h2, warehouse) as connection:
            assert connection.isValid(5)
        time.sleep(0.1)
        assert not reached.is_set()


@pytest.mark.parametrize("name", ["a;INIT=RUNSCRIPT FROM 'x'", "${env.HOME}", "a\nb"])
def test_a_path_that_means_more_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="path holds"):
        url_of(tmp_path / name)


@pytest.mark.parametrize("name", ["a b", "ü", "日本\u3000語", "a%20b", "a#b?c", "a'b\"c", "-a=b,c"])
def test_every_other_path_is_only_a_path(tmp_path: Path, name: str) -> None:
    assert (
        url_of(tmp_path / name)
        == f"jdbc:h2:file:{tmp_path / name}/.catalog/catalog;AUTO_SERVER=TRUE"
    )


def _of_another(warehouse: Path) -> None:
    os.chown(warehouse / ".catalog", NOBODY, NOBODY)


def _password_open(warehouse: Path) -> None:
    (warehouse / ".catalog" / "password").chmod(0o666)


def _lock_a_folder(warehouse: Path) -> None:
    (warehouse / ".catalog" / "lock").unlink()
    (warehouse / ".catalog" / "lock").mkdir()


def _catalog_a_link(warehouse: Path) -> None:
    (warehouse / ".catalog" / "catalog.mv.db").symlink_to("/dev/null")


def _a_file(warehouse: Path) -> None:
    shutil.rmtree(warehouse)
    warehouse.touch()


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(_of_another, marks=as_root),
        _password_open,
        _lock_a_folder,
        _catalog_a_link,
        _a_file,
    ],
)
def test_what_keeps_a_catalog_from_opening_is_said(
    warehouse: Path, spoil: Callable[[Path], None]
) -> None:
    """And nobody is told to remove it: the tables would be unknown to Spark."""
    with prepared(None, warehouse):
        pass
    spoil(warehouse)
    with (
        pytest.raises(ConfigurationError, match="do not remove it") as error,
        prepared(None, warehouse),
    ):
        pass
    assert str(warehouse) in str(error.value)
    assert "spark.tapestry.catalog.dir" in error.value.hint


def test_a_disk_without_modes_or_locks_is_refused_in_words(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mount of Windows' or of a network's, and one that is read-only."""

    def fail(number: int) -> Callable[..., None]:
        def failing(*args: object, **options: object) -> None:
            raise OSError(number, os.strerror(number))

        return failing

    (warehouse / ".catalog").mkdir(mode=0o755)
    for module, name, number in (
        (os, "fchmod", errno.EPERM),
        (fcntl, "flock", errno.ENOLCK),
        (tempfile, "mkstemp", errno.EROFS),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, fail(number))
            refused = pytest.raises(ConfigurationError, match="keeps no owners and modes")
            with refused as error, prepared(None, warehouse):
                pass
            assert os.strerror(number) in str(error.value)
    with pytest.raises(OSError, match="the caller's"), prepared(None, warehouse):
        raise OSError("the caller's")
