"""Starts the JVM of an embedded Spark so that its settings and files are private to its user.

pyspark would write every setting into the command line, which each user of the machine can read:
passwords and keys of a profile too. Here they go through a file that only its owner can read, which
is removed when the JVM has read it. Files that the JVM writes to the temporary directory (rows that
do not fit into memory, libraries that it unpacks and loads, its own log4j settings) lie in a new
folder that only this user can enter, and that is removed with the JVM.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.tapestry.log import LOG4J
from tapestry.folders import (
    LOCK,
    held_temporary,
    old_temporary,
    temporary_files_in,
    write_own,
)

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_OPTIONS = "spark.driver.extraJavaOptions"
_NEW = 60.0
_ABANDONED = 86400.0
"""Seconds without a change after which nobody uses a folder that has no lock."""


def launch(settings: Mapping[str, str], log: Path) -> tuple[JavaGateway, Path]:
    """Start a JVM for a Spark with these settings, its output in the log; return its folder, too.

    Raises what pyspark raises where it does not start.
    """
    from pyspark.java_gateway import launch_gateway

    _sweep()
    folder = held_temporary()
    try:
        write_own(folder / "log4j2.properties", LOG4J.encode())
        options = [
            f"-Dlog4j2.configurationFile={(folder / 'log4j2.properties').as_uri()}",
            _option(f"-Djava.io.tmpdir={folder}"),
            settings.get(_OPTIONS, ""),
        ]
        given, others = _own_properties(os.environ.get(_ARGUMENTS, "pyspark-shell"))
        file = folder / "spark.properties"
        text = properties({**settings, _OPTIONS: " ".join(options)})
        write_own(file, others + text.encode())
        arguments = ["--properties-file", str(file), "--load-spark-defaults", *given]
        with (
            log.open("ab") as output,
            _variable(_ARGUMENTS, shlex.join(arguments)),
            _variable("PYTHONSAFEPATH", "1"),  # Spark starts its workers with `python -m`
            temporary_files_in(folder),  # where the JVM tells pyspark its port
        ):
            gateway: Any = launch_gateway(  # type: ignore[no-untyped-call]
                None, popen_kwargs={"stdout": output, "stderr": output}
            )
        file.unlink()
        jvm = gateway.jvm
        jvm.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(
            jvm.java.io.File(str(folder))
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return gateway, folder


def _option(text: str) -> str:
    """Quote one of Java's options for a line that Spark splits at spaces."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return text if text == escaped and " " not in text else f'"{escaped}"'


def properties(settings: Mapping[str, str]) -> str:
    """Return a file of Java properties, in ASCII.

    >>> properties({"a b": " x=1\\n"})
    'a\\\\ b=\\\\ x=1\\\\n\\n'
    """
    return "".join(
        f"{_escaped(key, ' =:#!')}={_escaped(value, '', lead=' ')}\n"
        for key, value in settings.items()
    )


_NAMED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}


def _escaped(text: str, special: str, lead: str = "") -> str:
    written = []
    for place, letter in enumerate(text):
        if letter in _NAMED:
            written.append(_NAMED[letter])
        elif letter in special or (letter in lead and not place):
            written.append(f"\\{letter}")
        elif " " <= letter <= "~":
            written.append(letter)
        else:
            units = letter.encode("utf-16-be", "surrogatepass").hex()
            written += [f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)]
    return "".join(written)


def _own_properties(arguments: str) -> tuple[list[str], bytes]:
    """Return the user's arguments for spark-submit without a properties file, and its content.

    spark-submit reads one such file, the last; ours comes after the user's, and overrides it.
    """
    content, kept = b"", []
    words = iter(shlex.split(arguments))
    for word in words:
        name, equals, file = word.partition("=")
        if name != "--properties-file":
            kept.append(word)
            continue
        content = Path(file if equals else next(words, "")).read_bytes() + b"\n"
    return kept, content


@contextlib.contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    """Set an environment variable inside; the caller sees to it that no two do at once."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


def _sweep() -> None:
    """Remove folders that killed processes left: those whose lock nobody holds.

    A new lock stays: between its making and its first holder another process may look. One without
    a lock was left in the moment before it had one, or by an older version, which may yet use it.
    """
    for folder in old_temporary():
        with contextlib.suppress(OSError):
            try:
                lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
            except FileNotFoundError:
                if time.time() - folder.lstat().st_mtime > _ABANDONED:
                    shutil.rmtree(folder, ignore_errors=True)
                continue
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - os.fstat(lock).st_mtime > _NEW:
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
