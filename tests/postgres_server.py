"""A PostgreSQL of the tests' own, as nobody: on a socket, or on a port of the loopback too."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def running(port: int | None = None) -> Iterator[Path]:
    """The folder of the socket of a server; skips where PostgreSQL is not installed."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    if os.geteuid() == 0 and shutil.which("runuser") is None:
        pytest.skip("PostgreSQL does not run as root, and there is no runuser")
    folder = Path(tempfile.mkdtemp(prefix="tapestry-pg-"))  # short: a socket's path is bounded
    data = folder / "data"
    try:
        arguments = ["-D", str(data), "-U", "dbt", "--auth=trust", "--no-sync", "-E", "UTF8"]
        _as_somebody([str(programs / "initdb"), *arguments], folder)
        listen = "''" if port is None else f"127.0.0.1 -p {port}"
        options = f"-c listen_addresses={listen} -c unix_socket_directories='{folder}' -c fsync=off"
        control = [str(programs / "pg_ctl"), "-D", str(data), "-w"]
        _as_somebody([*control, "-l", str(folder / "log"), "-o", options, "start"], folder)
        try:
            yield folder
        finally:
            _as_somebody([*control, "-m", "immediate", "stop"], folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path | None:
    """The folder of PostgreSQL's programs."""
    on_path = shutil.which("initdb")
    places = [Path(on_path).parent] if on_path else []
    places += [Path(p) for p in sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)]
    return next((p for p in places if (p / "initdb").exists() and (p / "pg_ctl").exists()), None)


def _as_somebody(command: list[str], folder: Path) -> None:
    """PostgreSQL refuses to run as root: then it runs as the user `postgres` of the package."""
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
        command = ["runuser", "-u", "postgres", "--", *command]
    subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True, timeout=120)
