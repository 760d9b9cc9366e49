"""How Spark's JVM is started: what of it stays behind, and what the user's own arguments become."""

from __future__ import annotations

import fcntl
import os
import shlex
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.tapestry import launch as launching
from dbt.adapters.tapestry.launch import launch, properties
from tapestry import folders
from tapestry.folders import PREFIX, open_lock, temporary_folder


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(folders, "_held", [])
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    return tmp_path


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The arguments that spark-submit gets; with the content of its file behind its name."""
    seen = []

    def start(conf: object, popen_kwargs: object) -> Any:
        assert conf is None
        words = shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])
        file = Path(words[words.index("--properties-file") + 1])
        assert file.stat().st_mode & 0o777 == 0o600
        assert tempfile.gettempdir() == str(file.parent)  # the port is told there
        seen.append([*words, file.read_text()])
        called = SimpleNamespace(registerShutdownDeleteDir=lambda file: None)
        util = SimpleNamespace(ShutdownHookManager=called)
        spark = SimpleNamespace(spark=SimpleNamespace(util=util))
        io = SimpleNamespace(File=lambda path: path)
        jvm = SimpleNamespace(org=SimpleNamespace(apache=spark), java=SimpleNamespace(io=io))
        return SimpleNamespace(jvm=jvm)

    monkeypatch.setattr("pyspark.java_gateway.launch_gateway", start)
    return seen


def test_settings_go_through_a_file_that_is_gone_afterwards(
    submitted: list[list[str]], temporary: Path
) -> None:
    settings = {"spark.hadoop.key": "s3cret", "spark.driver.extraJavaOptions": "-Dmine=1"}
    _, folder = launch(settings, temporary / "spark.log")
    ((first, file, *words, text),) = submitted
    assert first == "--properties-file"
    assert words == ["--load-spark-defaults", "pyspark-shell"]
    assert "spark.hadoop.key=s3cret\n" in text
    assert f"-Djava.io.tmpdir={folder} -Dmine=1\n" in text
    assert not Path(file).exists()
    assert "PYSPARK_SUBMIT_ARGS" not in os.environ
    assert folder.parent == temporary


def test_a_folder_with_spaces_and_quotes_is_one_option() -> None:
    assert launching._option("-Da=/plain") == "-Da=/plain"
    assert launching._option('-Da=/x y/"z\\') == '"-Da=/x y/\\"z\\\\"'


@pytest.mark.parametrize("form", ["--properties-file '{}'", "'--properties-file={}'"])
def test_the_users_own_arguments_stay(
    form: str, submitted: list[list[str]], temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """spark-submit would read the last file only: his is the first part of ours."""
    his = temporary / "his own"
    his.write_text("spark.mine 1")
    given = f"{form.format(his)} --conf spark.x='a b' pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", given)
    launch({"spark.ours": "2"}, temporary / "spark.log")
    ((_, _, *words, text),) = submitted
    assert words == ["--load-spark-defaults", "--conf", "spark.x=a b", "pyspark-shell"]
    assert text.startswith("spark.mine 1\nspark.ours=2\n")
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == given


def test_a_jvm_that_does_not_start_leaves_nothing(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(conf: object, popen_kwargs: object) -> None:
        raise RuntimeError("ended")

    monkeypatch.setattr("pyspark.java_gateway.launch_gateway", fail)
    with pytest.raises(RuntimeError, match="ended"):
        launch({}, temporary / "spark.log")
    assert [path.name for path in temporary.iterdir()] == ["spark.log"]


def test_what_killed_processes_left_is_removed(temporary: Path) -> None:
    names = ("left", "held", "new", "other", "bare", "link")
    left, held, new, other, bare, link = (temporary / f"{PREFIX}{name}" for name in names)
    for folder in (left, held, new, other, bare):
        folder.mkdir(0o700)
        (folder / "data").touch()
    os.close(open_lock(new / "lock"))  # of a process that is just starting
    os.close(open_lock(left / "lock"))
    os.utime(left / "lock", (0, 0))
    lock = open_lock(held / "lock")
    os.utime(held / "lock", (0, 0))
    fcntl.flock(lock, fcntl.LOCK_SH)
    link.symlink_to(temporary / "elsewhere")
    (temporary / "elsewhere").mkdir()
    os.close(open_lock(temporary / "elsewhere" / "lock"))
    os.utime(temporary / "elsewhere" / "lock", (0, 0))
    os.utime(bare, (0, 0))
    with temporary_folder() as used:
        os.utime(used / "lock", (0, 0))
        launching._sweep()
        assert used.exists()
    assert not used.exists()
    assert not left.exists()
    assert not bare.exists()  # without a lock, and long ago
    assert (held / "data").exists()
    assert (new / "data").exists()
    assert (other / "data").exists()  # without a lock, and it may get one yet
    assert (temporary / "elsewhere" / "lock").exists()
    os.close(lock)


def test_properties_arrive_as_they_were_given(h2: Any) -> None:
    given = {"spark.a b=c:d": " x\ty\\z\n", "#k": "ü€𝄞 = : # !", "!": "", "e": "trailing  "}
    read = h2.java.util.Properties()
    read.load(h2.java.io.StringReader(properties(given)))
    assert {key: read.getProperty(key) for key in given} == given
    assert read.size() == len(given)
