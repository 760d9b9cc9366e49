"""Folders and files of the user's own: what others could have written is refused."""

from __future__ import annotations

import ast
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tapestry import folders
from tapestry.errors import ConfigurationError

ROOT = Path(__file__).parents[2]
NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
as_root = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can be somebody else"
)


@pytest.fixture(params=[0o000, 0o002, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder in the temporary directory where every user may make files, as in that itself."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_all_that_is_made_is_for_its_owner(umask: int, tmp_path: Path) -> None:
    folder = folders.own_folder(tmp_path / "a" / "b")
    assert (mode(folder), mode(folder.parent)) == (0o700, 0o700 & ~umask)
    folders.write_own(folder / "file", b"text")
    os.close(folders.open_lock(folder / "lock"))
    assert (mode(folder / "file"), mode(folder / "lock")) == (0o600, 0o600)
    assert folders.read_own(folder / "file") == b"text"
    assert sorted(path.name for path in folder.iterdir()) == ["file", "lock"]


def test_a_folder_that_others_see_is_closed_to_them(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert mode(folders.own_folder(tmp_path)) == 0o700


def _link(path: Path) -> None:
    path.symlink_to(path.parent)


def _dangling(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def _open(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


def _sticky(path: Path) -> None:
    path.mkdir()
    path.chmod(0o1777)


@pytest.mark.parametrize("made", [_link, _dangling, _open, _sticky, Path.touch, os.mkfifo])
def test_no_other_folder_is_used(made: Callable[[Path], None], tmp_path: Path) -> None:
    made(tmp_path / "taken")
    with pytest.raises(ConfigurationError, match="taken"):
        folders.own_folder(tmp_path / "taken")


@pytest.mark.parametrize(
    "made", [_link, _dangling, Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/zero")]
)
def test_no_other_file_is_read(made: Callable[[Path], None], tmp_path: Path) -> None:
    made(tmp_path / "taken")
    with pytest.raises(ConfigurationError, match="taken"):
        folders.read_own(tmp_path / "taken")


def test_a_file_that_others_write_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("text")
    path.chmod(0o646)
    with pytest.raises(ConfigurationError, match="can be written by other users"):
        folders.read_own(path)
    path.chmod(0o644)
    assert folders.read_own(path) == b"text"
    with pytest.raises(ConfigurationError, match="longer than 3 bytes"):
        folders.read_own(path, limit=3)


def test_the_group_counts_where_others_are_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("text")
    path.chmod(0o664)
    for own in (True, False):
        monkeypatch.setattr(folders, "_own_group", lambda group, own=own: own)
        if own:
            assert folders.read_own(path) == b"text"
            continue
        with pytest.raises(ConfigurationError):
            folders.read_own(path)


def test_what_is_written_replaces_a_link(tmp_path: Path) -> None:
    aim = tmp_path / "aim"
    aim.write_text("kept")
    (tmp_path / "file").symlink_to(aim)
    folders.write_own(tmp_path / "file", b"new")
    assert (aim.read_text(), (tmp_path / "file").read_text()) == ("kept", "new")
    (tmp_path / "lock").symlink_to(aim)
    with pytest.raises(OSError, match="symbolic"):
        folders.open_lock(tmp_path / "lock")


def test_a_way_through_what_others_may_rename_is_refused(open_folder: Path) -> None:
    way = open_folder / "a" / "b"
    way.mkdir(parents=True)
    folders.check_way(way / "file")
    folders.check_way(open_folder / "missing" / "file")
    way.parent.chmod(0o777)
    with pytest.raises(ConfigurationError, match=str(way.parent)):
        folders.check_way(way / "file")
    (open_folder / "link").symlink_to(way)
    with pytest.raises(ConfigurationError, match=str(way.parent)):  # it leads there
        folders.check_way(open_folder / "link" / "file")


def test_what_nobody_else_can_enter_may_be_open_inside(open_folder: Path) -> None:
    """Ivy makes folders and jars that a group may write, under a umask of 002."""
    way = open_folder / "own" / "jars"
    way.mkdir(parents=True)
    (way / "file").touch()
    for each in (way, way / "file"):
        each.chmod(0o777)
    way.parent.chmod(0o700)
    folders.check_way(way / "file")
    way.parent.chmod(0o710)
    with pytest.raises(ConfigurationError, match="jars"):
        folders.check_way(way / "file")


def test_every_link_on_a_way_is_looked_at(open_folder: Path) -> None:
    """Also one that leads to a safe place by way of a folder in which others may change it."""
    for name, mode_of_it in (("safe", 0o700), ("closed", 0o700), ("open", 0o777)):
        (open_folder / name).mkdir()
        (open_folder / name).chmod(mode_of_it)
    (open_folder / "safe" / "file").touch()
    (open_folder / "open" / "second").symlink_to("../safe")
    (open_folder / "closed" / "first").symlink_to("../open/second")
    with pytest.raises(ConfigurationError, match="open can be written"):
        folders.check_way(open_folder / "closed" / "first" / "file")
    with pytest.raises(ConfigurationError, match="open can be written"):
        folders.check_way(open_folder / "open" / ".." / "safe" / "file")
    (open_folder / "open").chmod(0o755)
    folders.check_way(open_folder / "closed" / "first" / "file")
    (open_folder / "safe" / "round").symlink_to("round")
    with pytest.raises(ConfigurationError, match="leads to itself"):
        folders.check_way(open_folder / "safe" / "round" / "file")


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container can run as a number that no list of users has."""

    def unknown(user: int) -> None:
        raise KeyError(user)

    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(folders.pwd, "getpwuid", unknown)
    for place in (folders.cache_folder, folders.ivy_folder):
        with pytest.raises(ConfigurationError, match=r"no home folder\n.*XDG_CACHE_HOME"):
            place()


def test_the_cache(tmp_path: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(open_folder / "cache"))
    assert folders.cache_folder("engines") == open_folder / "cache" / "dbt-tapestry" / "engines"
    (open_folder / "cache").chmod(0o777)
    with pytest.raises(ConfigurationError, match="XDG_CACHE_HOME"):
        folders.cache_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the convention: as if it were not set
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert folders.cache_folder() == tmp_path / "home" / ".cache" / "dbt-tapestry"


def test_a_temporary_folder_is_unforeseen_and_goes(umask: int) -> None:
    with folders.temporary_folder() as one, folders.temporary_folder() as other:
        assert one != other
        assert mode(one) == 0o700
        assert one in folders.old_temporary()
        (one / "file").touch()
    assert not one.exists()


@as_root
def test_what_another_user_made_first_is_not_used(open_folder: Path) -> None:
    """Of a predictable name; a folder open to all, one closed to all but him, and links."""
    for number, how in enumerate(("mkdir -m 777", "mkdir -m 700", "ln -s /etc", "mkfifo", "touch")):
        taken = open_folder / f"taken{number}"
        subprocess.run([*AS_NOBODY, *how.split(), taken], check=True, cwd="/")
        with pytest.raises(ConfigurationError, match=r"nobody|is a link or a file"):
            folders.own_folder(taken)
        with pytest.raises(ConfigurationError, match="nobody"):
            folders.check_way(taken / "file")
        with pytest.raises(ConfigurationError):
            folders.read_own(taken)


@as_root
def test_what_another_user_makes_in_between_is_not_used(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of the way that was missing when it was looked at."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(open_folder / "cache"))
    before = folders.own_folder

    def late(path: Path) -> Path:
        subprocess.run([*AS_NOBODY, "mkdir", "-m", "777", open_folder / "cache"], cwd="/")
        return before(path)

    monkeypatch.setattr(folders, "own_folder", late)
    with pytest.raises(ConfigurationError, match="cache belongs to the user nobody"):
        folders.cache_folder()


@as_root
def test_another_user_sees_nothing_of_ours(open_folder: Path) -> None:
    folder = folders.own_folder(open_folder / "ours")
    folders.write_own(folder / "secret", b"x")
    for command in (["ls", folder], ["cat", folder / "secret"], ["touch", folder / "more"]):
        assert subprocess.run([*AS_NOBODY, *command], stderr=subprocess.DEVNULL, cwd="/").returncode
    moved = [*AS_NOBODY, "mv", folder, open_folder / "away"]
    assert subprocess.run(moved, stderr=subprocess.DEVNULL, cwd="/").returncode


OUTSIDE = {"gettempdir", "mkdtemp", "mkstemp", "mktemp", "TemporaryDirectory", "TemporaryFile"}
OUTSIDE |= {"NamedTemporaryFile", "SpooledTemporaryFile", "gettempdirb", "gettempprefix"}
OUTSIDE |= {"home", "expanduser", "tempfile", "getpwuid"}
_LEADS = re.compile(r"HOME$|~[\w-]*/|.*(/tmp\b|/dev/shm)|XDG_|TMPDIR$", re.DOTALL)


NAMED = {"python/tapestry/children.py": ["TMPDIR"]}
"""Not used there: the name of a variable that a child process inherits."""


def _used(text: str) -> list[str]:
    """Names and texts in a Python file that lead out of the project folder."""
    found = []
    tree = ast.parse(text)
    said = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            name = f".{node.attr}" if isinstance(node, ast.Attribute) else node.id
            found += [name] if name != "home" and name.removeprefix(".") in OUTSIDE else []
        if isinstance(node, ast.ImportFrom | ast.Import):
            names = {alias.name for alias in node.names} | {getattr(node, "module", None) or ""}
            found += sorted(names & (OUTSIDE | {"pwd", "getpass"}))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            found += [node.value] if _LEADS.match(node.value) else []
    return found


@pytest.mark.parametrize(
    "text",
    [
        "import tempfile",
        "from tempfile import mkdtemp as make",
        "from pathlib import Path\nplace = Path.home()",
        "import os\nplace = os.path.expanduser('x')",
        "place = os.environ['HOME']",
        "place = os.getenv('XDG_CONFIG_HOME')",
        "place = '/tmp/x'",
        "place = f'/var/tmp/{name}'",
        "place = '~/.cache/x'",
    ],
)
def test_a_use_past_the_module_is_found(text: str) -> None:
    assert _used(text)


def test_nothing_leads_out_of_the_project_past_the_module() -> None:
    """Temporary files, the home and caches are `tapestry.folders`' business alone."""
    found = {}
    for folder in ("python", "tools", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            used = _used(path.read_text("utf-8"))
            if used and name != "python/tapestry/folders.py":
                found[name] = used
    assert found == NAMED
