"""What is kept between starts, and a start that finds no place to keep anything."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.adapter.test_folders import NOBODY, as_root

from dbt.adapters.tapestry import cache_folders, embedded, engine, jars
from tapestry import folders
from tapestry.errors import ConfigurationError


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """The warnings; whatever is made meanwhile goes with the test."""
    said: list[str] = []
    monkeypatch.setattr(cache_folders.logger, "warning", said.append)
    monkeypatch.setattr(folders, "_held", [])
    monkeypatch.setattr(folders, "_instead", [])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for memory in (cache_folders._warn, cache_folders._of_this_process):
        memory.cache_clear()
    yield said
    for memory in (cache_folders._warn, cache_folders._of_this_process):
        memory.cache_clear()


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home on a way that other users can follow."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        path = Path(folder)
        path.chmod(0o755)
        monkeypatch.setenv("HOME", folder)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        user = folders.pwd.getpwuid(os.geteuid())
        mine = [*tuple(user)[:5], folder, user.pw_shell]
        monkeypatch.setattr(folders.pwd, "getpwuid", lambda _: type(user)(mine))
        yield path


def test_a_home_of_ones_own_keeps_all(home: Path, told: list[str]) -> None:
    assert cache_folders.cache_or_new("engines") == home / ".cache" / "dbt-tapestry" / "engines"
    assert cache_folders.ivy_or_new() == home / ".ivy2.5.2"
    assert (home / ".ivy2.5.2").stat().st_mode & 0o777 == 0o700
    assert cache_folders.cache_is_kept()
    assert told == []


def _others(home: Path) -> None:
    os.chown(home, NOBODY, NOBODY)


def _open(home: Path) -> None:
    home.chmod(0o777)


def _file(home: Path) -> None:
    home.rmdir()
    home.touch()


@pytest.mark.parametrize("spoil", [pytest.param(_others, marks=as_root), _open, _file])
def test_where_nothing_can_be_kept_a_new_folder_takes_its_place(
    spoil: Callable[[Path], None], home: Path, tmp_path: Path, told: list[str]
) -> None:
    """As in a container whose HOME belongs to the user of the machine outside."""
    spoil(home)
    try:
        folder, fetched = cache_folders.cache_or_new("engines"), cache_folders.ivy_or_new()
        assert (folder.name, fetched.name) == ("engines", "ivy")
        assert folder.parent == fetched.parent
        assert folder.parents[2] == tmp_path
        assert cache_folders.cache_or_new("engines") == folder
        assert {path.stat().st_mode & 0o777 for path in (folder, fetched)} == {0o700}
        assert not cache_folders.cache_is_kept()
        assert len(set(told)) == len(told)
        assert str(home) in told[0]
        assert engine._offers("x") == []
    finally:
        if home.is_file():
            home.unlink()
            home.mkdir()


def test_a_spark_that_nobody_would_find_is_not_left_behind(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(engine.VARIABLE, raising=False)
    assert embedded._can_keep_warm()
    home.chmod(0o777)
    assert not embedded._can_keep_warm()


def test_jars_that_others_can_write_are_fetched_anew(home: Path, told: list[str]) -> None:
    """Neither they nor the rest of the folder that they lie in are used; the cache is."""
    jar = home / ".ivy2.5.2" / "jars" / "delta.jar"
    jar.parent.mkdir(parents=True)
    jar.touch()
    jars.remember(jars.packages(), jar.as_uri())
    assert jars.jar_settings({})["spark.jars"] == str(jar)
    jar.chmod(0o666)
    settings = jars.jar_settings({})
    assert "spark.jars" not in settings
    assert settings["spark.jars.ivy"] == str(home / ".cache" / "dbt-tapestry" / "ivy")
    assert jars.jar_settings({"spark.jars.ivy": "/mine"})["spark.jars.ivy"] == "/mine"
    assert told == []
    (fetched := home / ".cache" / "dbt-tapestry" / "ivy" / "delta.jar").touch()
    jars.remember(jars.packages(), fetched.as_uri())
    assert jars.jar_settings({})["spark.jars"] == str(fetched)


def test_a_home_that_cannot_be_written_needs_no_more_than_a_cache(
    home: Path, tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    home.chmod(0o777)
    assert cache_folders.ivy_or_new() == tmp_path / "cache" / "dbt-tapestry" / "ivy"
    assert told == []


def test_the_folder_of_a_process_goes_with_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_the_end: list[Callable[[], None]] = []
    monkeypatch.setattr(
        cache_folders.atexit,
        "register",
        lambda action, *a, **k: at_the_end.append(partial(action, *a, **k)),
    )
    home.chmod(0o777)
    (cache_folders.cache_or_new("engines") / "offer").touch()
    (made,) = tmp_path.iterdir()
    assert (made / folders.LOCK).exists()
    (end,) = at_the_end
    end()
    assert list(tmp_path.iterdir()) == []


def _umask() -> int:
    os.umask(before := os.umask(0))
    return before


def test_where_the_temporary_directory_is_open_the_warehouse_takes_its_place(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a pod with a volume at /tmp: all may write there, and rename what is another's."""
    said: list[str] = []
    monkeypatch.setattr(embedded.logger, "warning", said.append)
    monkeypatch.setattr(tempfile, "tempdir", str(home))
    embedded._find_place({}, tmp_path)
    assert not (tmp_path / "warehouse").exists()
    home.chmod(0o777)
    with pytest.raises(ConfigurationError, match="TMPDIR"):
        folders.new_temporary()
    embedded._find_place({}, tmp_path)
    place = tmp_path / "warehouse" / ".temporary"
    modes = [folder.stat().st_mode & 0o777 for folder in (place, place.parent)]
    assert modes == [0o700, 0o777 & ~_umask()]
    assert said == [
        f"{home} can be written by other users: what stands there need not be yours,"
        f" and is not used: temporary files are kept in {place}"
    ]
    made = folders.held_temporary()
    assert made.parent == place
    assert folders.old_temporary() == [made]
    assert place in cache_folders.cache_or_new("engines").parents  # the home is as open
    home.chmod(0o1777)
    embedded._find_place({}, tmp_path)
    assert folders.new_temporary().parent == home


def test_what_libraries_make_meanwhile_is_in_a_folder_of_ours(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    with folders.temporary_files_in(tmp_path / "ours"), tempfile.NamedTemporaryFile() as file:
        assert Path(file.name).parent == tmp_path / "ours"
    assert tempfile.gettempdir() == str(tmp_path)
