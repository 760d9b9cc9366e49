"""Finds Java, which pip cannot install, and checks its version before Spark starts."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from dbt_common.exceptions import DbtRuntimeError

from tapestry.children import TimeoutExpired, start_program

SUPPORTED = (17, 21)
_HINT = "  do: install Java 17 or 21 (say openjdk-17-jre-headless), or point JAVA_HOME to one"


def check_java() -> int:
    """Return Spark's major version of Java; raise DbtRuntimeError where it does not fit."""
    home = os.environ.get("JAVA_HOME")
    program = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if not program or not os.path.exists(program):
        where = f"JAVA_HOME is {home}, but there is no bin/java in it" if home else "none on PATH"
        raise DbtRuntimeError(f"Spark needs Java and found {where}.\n{_HINT}")
    version = _released(program) or _shown(program)
    if version not in SUPPORTED:
        found = f"version {version}" if version else "one that does not tell its version"
        raise DbtRuntimeError(f"Spark needs Java 17 or 21; {program} is {found}.\n{_HINT}")
    return version


def _released(program: str) -> int | None:
    """Return the version in the file that comes with a JDK or JRE, without starting a JVM."""
    try:
        text = (Path(program).resolve().parents[1] / "release").read_text()
    except (OSError, IndexError):
        return None
    match = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    return int(match.group(1)) if match else None


def _shown(program: str) -> int | None:
    """Return the version that the program itself prints."""
    try:
        shown = start_program(program, "-version", timeout=60)
    except (OSError, TimeoutExpired) as error:
        raise DbtRuntimeError(f"Java does not start ({program}: {error}).\n{_HINT}") from error
    return _major(shown)


def _major(text: str) -> int | None:
    """Return the major version: 17 of `openjdk version "17.0.15"`, 8 of `"1.8.0_412"`."""
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None
