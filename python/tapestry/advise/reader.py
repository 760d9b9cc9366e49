"""Asks ``worker`` for the SQL of one file after another, and kills it if it takes too long."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tapestry.advise.project import ProjectFolder
from tapestry.children import DEVNULL, OF_A_READER, PIPE, Popen, start_python

SECONDS = 10.0
"""For one file, the start of a process not counted."""
STARTING = 60.0
MOST_STARTS = 100
"""Files that end a process; with more, the rest of the folder is left unread."""
MOST_LOST = 250.0
"""Seconds that such files may take together."""
LONGEST_ANSWER = 50_000_000


@dataclass(frozen=True)
class ReadFile:
    """A file as Spark SQL; ``why`` says why there is none."""

    statements: tuple[str, ...] = ()
    guarded: str = ""
    """The text behind is_incremental() included, where it could be made."""
    guard: bool = False
    config: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    why: str = ""
    unset: tuple[str, ...] = ()
    """Variables that have no value."""


class Reader(AbstractContextManager["Reader"]):
    """The worker process, started on demand; a new one is told what the last one knew."""

    def __init__(self, dialect: str, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._starts = 0
        self._lost = 0.0
        self._process: Popen[bytes] | None = None
        self._begun = b""
        self._first: list[bytes] = [_line({"dialect": dialect})]

    def __exit__(self, *_: object) -> None:
        self._end()

    def values(self, path: Path) -> Mapping[str, Any]:
        """The YAML of a file, as ``said``, or ``why`` it could not be read."""
        return self._ask({"do": "values", "path": os.path.abspath(path)})

    def variables(self, text: str) -> Mapping[str, Any]:
        """The YAML of a text."""
        return self._ask({"do": "text", "text": text})

    def tables(self, path: Path) -> Mapping[str, Any]:
        """Return the tables that a YAML file describes, as ``tables``."""
        return self._ask({"do": "tables", "path": os.path.abspath(path)})

    def begin(self, project: ProjectFolder) -> None:
        """Load the project's macros and variables into the worker; skip unreadable files."""
        known = [(one, False) for one in project.found_macros]
        for (package, path), counts in [*known, *((one, True) for one in project.macros)]:
            asked = {"do": "macros", "package": package, "path": os.path.abspath(path)}
            self._keep({**asked, "counts": counts})
        self._keep({"do": "begin", "name": project.name, "variables": project.variables})

    def read(self, name: str, path: Path, config: Mapping[str, Any]) -> ReadFile:
        """The file's SQL."""
        asked = {"do": "read", "name": name, "path": os.path.abspath(path), "config": dict(config)}
        answer = self._ask(asked)
        return ReadFile(
            tuple(answer.get("statements", ())),
            answer.get("guarded", ""),
            bool(answer.get("guard")),
            answer.get("config", {}),
            tuple(answer.get("notes", ())),
            answer.get("why", ""),
            tuple(answer.get("unset", ())),
        )

    def _keep(self, asked: Mapping[str, Any]) -> None:
        """Send a request that a later process must be sent again."""
        if "why" not in self._ask(asked):
            self._first.append(_line(asked))

    def _ask(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._process is None:
            if self._starts == MOST_STARTS or self._lost > MOST_LOST:
                return {"why": "files before it ended the process that reads them too often"}
            self._start()
        begun = time.monotonic()
        answer = self._receive(self._seconds) if self._send(_line(asked)) else None
        if answer is None:
            self._lost += time.monotonic() - begun
            self._end()
            return {"why": "it takes too much time or memory to be read"}
        found = json.loads(answer)
        return found if isinstance(found, dict) else {}

    def _start(self) -> None:
        self._starts += 1
        self._begun = b""
        self._process = start_python(
            "tapestry.advise.worker",
            environment=OF_A_READER,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
        )
        for line in self._first:
            if not self._send(line) or self._receive(STARTING) is None:
                self._end()
                return

    def _send(self, line: bytes) -> bool:
        process = self._process
        if process is None or process.stdin is None:
            return False
        try:
            process.stdin.write(line)
            process.stdin.flush()
        except BrokenPipeError:
            self._end()
            return False
        return True

    def _receive(self, seconds: float) -> bytes | None:
        """Return the next line; None if the process ends, takes too long or sends too much."""
        if self._process is None or self._process.stdout is None:
            return None
        descriptor = self._process.stdout.fileno()
        until = time.monotonic() + seconds
        while b"\n" not in self._begun:
            left = until - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                return None
            more = os.read(descriptor, 1 << 16)
            if not more or len(self._begun) > LONGEST_ANSWER:
                return None
            self._begun += more
        line, _, self._begun = self._begun.partition(b"\n")
        return line

    def _end(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.communicate()
        self._process = None


def _line(asked: Mapping[str, Any]) -> bytes:
    return json.dumps(asked).encode("ascii") + b"\n"
