"""Asks ``worker`` for the SQL of one file after another, and ends it where it takes too long."""

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
MOST_STARTS = 25
"""Files that end a process; with more, the rest of the folder is left unread."""
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


class Reader(AbstractContextManager["Reader"]):
    """The process, started when it is needed."""

    def __init__(self, project: ProjectFolder, dialect: str, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._starts = 0
        self._process: Popen[bytes] | None = None
        self._begun = b""
        told = {
            "name": project.name,
            "dialect": dialect,
            "variables": project.variables,
            "macros": [(package, os.path.abspath(path)) for package, path in project.macros],
        }
        # A date of YAML is none of JSON.
        self._project = json.dumps(told, default=str).encode("ascii")

    def __exit__(self, *_: object) -> None:
        self._end()

    def read(self, name: str, path: Path, config: Mapping[str, Any]) -> ReadFile:
        """The file's SQL."""
        asked = {"name": name, "path": os.path.abspath(path), "config": dict(config)}
        if self._process is None:
            if self._starts == MOST_STARTS:
                return ReadFile(
                    why=f"{MOST_STARTS} files before it ended the process that reads them"
                )
            self._start()
        answer = self._ask(json.dumps(asked, default=str).encode("ascii"))
        if answer is None:
            return ReadFile(why="it takes too much time or memory to be read")
        return ReadFile(
            tuple(answer.get("statements", ())),
            answer.get("guarded", ""),
            bool(answer.get("guard")),
            answer.get("config", {}),
            tuple(answer.get("notes", ())),
            answer.get("why", ""),
        )

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
        empty = {"name": "", "path": os.devnull, "config": {}}
        self._send(self._project)
        self._send(json.dumps(empty).encode("ascii"))
        self._receive(STARTING)

    def _ask(self, line: bytes) -> dict[str, Any] | None:
        if not self._send(line):
            return None
        answer = self._receive(self._seconds)
        if answer is None:
            self._end()
            return None
        found = json.loads(answer)
        return found if isinstance(found, dict) else None

    def _send(self, line: bytes) -> bool:
        process = self._process
        if process is None or process.stdin is None:
            return False
        try:
            process.stdin.write(line + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            self._end()
            return False
        return True

    def _receive(self, seconds: float) -> bytes | None:
        """The next line; None where the process ends, takes too long or says too much."""
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
