"""What a process of ours imports, which variables it has, where it begins: in a hostile folder."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry import engine, java
from tapestry.advise.project import read_project
from tapestry.advise.reader import Reader
from tapestry.children import OF_A_PROJECT, OF_A_READER, PIPE, start_python
from tapestry.module_path import module_path
from tapestry.schedule.pool import Pool
from tapestry.schedule.worker import READY, Task

from .schedule.small import make_project

PYTHON = Path(__file__).parents[1] / "python"
SCRIPT = Path(sys.executable).with_name("tapestry")
MODULES = ("json", "yaml", "resource", "runpy", "sitecustomize", "usercustomize", "click", "select")
PACKAGES = ("tapestry", "jinja2", "sqlglot", "dbt", "pyspark", "multiprocessing", "encodings")


@pytest.fixture
def planted(tmp_path: Path) -> tuple[Path, Path]:
    """A stranger's folder, in which every module leaves a line in the second path."""
    folder, mark = tmp_path / "stranger", tmp_path / "imported"
    text = f"open({str(mark)!r}, 'a').write(__file__ + '\\n')\nraise SystemExit(99)\n"
    for name in MODULES:
        (folder / f"{name}.py").parent.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(text)
    for name in PACKAGES:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(text)
    (folder / "stranger.pth").write_text(f"import os; open({str(mark)!r}, 'a').write('pth')\n")
    (folder / "pyvenv.cfg").write_text("include-system-site-packages = true\n")
    (folder / "model.sql").write_text("select a, b from {{ ref('t') }} where a > 1\n")
    return folder, mark


@pytest.fixture
def inside(planted: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """This process is in that folder, with variables that lead there; what was imported."""
    folder, mark = planted
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", ".", "x/.."]))
    monkeypatch.setenv("PYTHONSTARTUP", "json.py")
    monkeypatch.setenv("PYTHONINSPECT", "1")
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)  # as if Python were 3.10
    monkeypatch.setattr(sys, "path", ["", ".", str(folder), *sys.path])
    return mark


def _advise(root: Path) -> None:
    with Reader("spark") as reader:
        reader.begin(read_project(Path("."), reader))
        found = reader.read("model", Path("model.sql"), {})
    assert "where a > 1" in found.statements[0], found


def _watch(root: Path) -> None:
    pool = Pool(1, lambda _: Task(tuple(make_project(root)), {}, root / "worker.log"))
    pool.start()
    try:
        until = time.monotonic() + 60
        while not (events := pool.wait(1.0)) and time.monotonic() < until:
            pass
        assert [event.kind for event in events] == [READY], events
    finally:
        pool.close(1)


def _shared_engine(root: Path) -> None:
    """As far as it comes without Java, which is when all is imported."""
    with pytest.raises(DbtRuntimeError, match="JAVA_HOME is /nowhere"):
        engine.launch_engine({"root": str(root)})


def _java(root: Path) -> None:
    program = root / "java"
    program.write_text('#!/bin/sh\necho "version \\"17.0.1\\" $(pwd) $(env | cut -d= -f1)"\n')
    program.chmod(0o755)
    assert java._shown(str(program)) == 17


@pytest.mark.parametrize("start", [_advise, _watch, _shared_engine, _java])
def test_a_child_imports_nothing_from_the_current_folder(
    start: Callable[[Path], None],
    inside: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    root = tmp_path / "own"
    root.mkdir()
    start(root)
    assert not inside.exists(), inside.read_text()


SPY = """
import json, os, sys
def main():
    told = {"path": sys.path, "names": sorted(os.environ), "folder": os.getcwd(),
            "arguments": sys.argv[1:]}
    print(json.dumps(told))
"""


def _spied(environment: tuple[str, ...] | None, monkeypatch: pytest.MonkeyPatch, at: Path) -> dict:
    (at / "spy.py").write_text(SPY)
    monkeypatch.setattr(sys, "path", [*sys.path, str(at)])
    process = start_python("spy", ["a b", ""], environment=environment, stdout=PIPE)
    said, _ = process.communicate(timeout=60)
    return json.loads(said)


def test_a_reader_of_strangers_texts_has_the_named_variables_only(
    inside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("DB_PASSWORD", "hidden")
    told = _spied(OF_A_READER, monkeypatch, tmp_path)
    assert set(told["names"]) <= {*OF_A_READER}
    assert "LC_ALL" in told["names"]
    assert told["folder"] == "/"
    assert told["arguments"] == ["a b", ""]
    assert not [path for path in told["path"] if "/stranger" in path or not os.path.isabs(path)]


def test_a_process_of_the_project_has_all_but_python_s(
    inside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "for env_var()")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", ".", "x/..", str(tmp_path)]))
    told = _spied(OF_A_PROJECT, monkeypatch, tmp_path)
    assert "DB_PASSWORD" in told["names"]
    python = [name for name in told["names"] if name.startswith("PYTHON")]
    assert python == ["PYTHONPATH", "PYTHONSAFEPATH"]


def test_the_folder_of_this_package_stays_where_it_is_the_current_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", [str(PYTHON), str(tmp_path), "", "lib"])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(PYTHON)
    assert module_path() == [str(PYTHON), str(tmp_path)]
    monkeypatch.chdir(tmp_path)
    assert module_path() == [str(PYTHON)]
    monkeypatch.setenv("PYTHONPATH", f"../{PYTHON.name}:{PYTHON}")
    monkeypatch.chdir(PYTHON.parent / "tests")
    assert module_path() == [str(PYTHON), str(tmp_path)]


@pytest.mark.parametrize("version", ["3.10", "3.11"])
def test_python_s_tracker_of_semaphores_starts_elsewhere(
    version: str, planted: tuple[Path, Path]
) -> None:
    """dbt's locks start it; without the variable, as in Python 3.10, its own folder keeps it."""
    folder, mark = planted
    text = (
        f"import sys; sys.path[:] = {module_path()!r}\n"
        "from tapestry.children import start_tracker\n"
        "from multiprocessing import get_context\n"
        f"import os; os.chdir({str(folder)!r}); start_tracker()\n"
        "get_context('spawn').RLock(); print(os.getcwd())\n"
    )
    safe = {"PYTHONSAFEPATH": "1"} if version == "3.11" else {}
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={"PATH": os.environ["PATH"], **safe},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout.strip()) == (0, str(folder)), done.stderr
    assert not mark.exists(), mark.read_text()


@pytest.mark.parametrize("command", [["advise", "."], ["doctor"], ["load", "."], ["init", "new"]])
def test_a_command_in_a_stranger_s_folder_runs_none_of_its_modules(
    command: list[str], planted: tuple[Path, Path]
) -> None:
    folder, mark = planted
    variables = {name: v for name, v in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [SCRIPT, *command], cwd=folder, env=variables, capture_output=True, text=True, timeout=120
    )
    assert not mark.exists(), mark.read_text()
    assert "Traceback" not in done.stderr
    if command[0] == "advise":
        assert "model" in done.stdout, done.stderr


def test_processes_are_started_in_one_place() -> None:
    """`launch_gateway` of pyspark starts the JVM, in a module of its own."""
    starters = {"subprocess", "pty", "asyncio.subprocess"}
    found = set()
    for path in PYTHON.rglob("*.py"):
        text = path.read_text("utf-8")
        hint = re.search(r"subprocess|pty|Process|spawn|exec|fork|popen|os\.system", text)
        for node in ast.walk(ast.parse(text)) if hint else ():
            name = str(path.relative_to(PYTHON))
            if isinstance(node, ast.Import):
                found |= {(name, one.name) for one in node.names if one.name in starters}
            elif isinstance(node, ast.ImportFrom) and node.module in starters:
                found |= {(name, f"{node.module}.{one.name}") for one in node.names}
            elif isinstance(node, ast.Attribute) and node.attr.startswith(
                ("Process", "posix_spawn", "exec", "spawn", "fork", "popen", "system")
            ):
                of = node.value.id if isinstance(node.value, ast.Name) else ""
                if of in ("os", "multiprocessing", "context", "asyncio"):
                    found.add((name, f"{of}.{node.attr}"))
    children = "tapestry/children.py"
    allowed = {(children, f"subprocess.{n}") for n in ("DEVNULL", "PIPE", "Popen", "run")}
    allowed |= {(children, "subprocess.TimeoutExpired")}
    assert found == allowed
