"""A process that runs dbt on request, with the project parsed once.

Two invocations of dbt must not run in one process at a time, so that what runs at the same time
runs in several. Over its pipe a worker gets names of models and answers with `Event`s. It ignores
SIGTERM and Ctrl-C, which the process that started it answers: it ends when its pipe is closed, and
that is after the run that is under way.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tapestry.children import start_tracker
from tapestry.instants import now_utc
from tapestry.schedule.wakes import Versions
from tapestry.schedule.warm import FAILED, OK, SKIPPED, Ran, Warm, name_of, ran_of

READY, BROKEN, STARTED, RAN, FREE = "ready", "broken", "started", "ran", "free"
READ = "read"
DUE = "due"
WARNED = "warned"
_WARNINGS = ("AdapterEventWarning", "JinjaLogWarning")
"""dbt's names of the warnings of an adapter, and of those of a model's own macros."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Event:
    """An event of a worker.

    kind
        ``ready`` and ``broken`` once, when the project is parsed or cannot be; ``started`` and
        ``ran`` for each model, then ``read`` with the tables that its invocation has found, and
        ``due`` for each action, in how many seconds it has something to do (None: nothing waits);
        ``warned`` for what the adapter or a model warned of; ``free`` when an invocation is over.
    """

    kind: str
    model: str = ""
    ran: Ran | None = None
    message: str = ""
    versions: Versions = field(default_factory=dict)
    within: float | None = None


@dataclass(frozen=True)
class Task:
    """The task of a worker: dbt's arguments, its environment, and the file for its output."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path


def main() -> None:
    """Run models until the pipe is closed, whose descriptor is the argument."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    pipe = Connection(int(sys.argv[1]))
    try:
        task: Task = pipe.recv()
    except EOFError:
        return
    start_tracker()
    _redirect_output(task.log)
    os.environ.update(task.environment)
    Worker(pipe, task.arguments).loop()


class Worker:
    """The loop of a worker process."""

    def __init__(self, pipe: Connection, arguments: Sequence[str]) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self._open: dict[str, bool] = {}
        self._warm = Warm(arguments, callbacks=[self._on_event])

    def loop(self) -> None:
        """Parse the project, then run the models received through the pipe."""
        try:
            self._warm.manifest  # noqa: B018 parses
        except BaseException as error:
            self._tell(Event(BROKEN, message=_text(error)))
            return
        self._tell(Event(READY))
        _watch_queues()
        while True:
            try:
                names = self._pipe.recv()
            except (EOFError, OSError):
                return
            self._run(names)

    def _run(self, names: Sequence[str]) -> None:
        """One invocation; every model of it has ended when `free` is told."""
        self._open = dict.fromkeys(names, True)
        message = "dbt did not run it"
        try:
            ran = self._warm.run(names)
        except BaseException as error:
            ran, message = [], _text(error)
        known = {one.model: one for one in ran}
        outside = next((one.message for one in ran if one.model not in self._open), "")
        for name in [name for name, is_open in self._open.items() if is_open]:
            self._ran(known.get(name) or Ran(name, FAILED, message=outside or message))
        versions = _versions_read() if ran else {}
        for name in [one.model for one in ran if one.status == OK and versions]:
            self._tell(Event(READ, name, versions=versions))
        for name, within in _actions_due().items():
            self._tell(Event(DUE, name, within=within))
        self._tell(Event(FREE))

    def _on_event(self, message: Any) -> None:
        """dbt's events, as they come, from several threads."""
        if message.info.name == "NodeStart":
            name = name_of(str(message.data.node_info.unique_id))
            if name in self._open:
                self._tell(Event(STARTED, name))
        elif message.info.name == "NodeFinished":
            name = name_of(str(message.data.node_info.unique_id))
            result = message.data.run_result
            response = dict(result.adapter_response.items())
            seconds = float(result.execution_time)
            ran = ran_of(name, str(result.status), response, seconds, str(result.message))
            if ran.status != SKIPPED:  # told at the end, with its reason
                self._ran(ran)
        elif message.info.name in _WARNINGS:
            text = _COLOUR.sub("", str(message.info.msg)).strip()
            self._tell(Event(WARNED, message=text.removeprefix("Tapestry adapter: ")))

    def _ran(self, ran: Ran) -> None:
        if self._open.get(ran.model):
            self._open[ran.model] = False
            self._tell(Event(RAN, ran.model, ran))

    def _tell(self, event: Event) -> None:
        with self._lock:
            try:
                self._pipe.send(event)
            except OSError:  # nobody is there any more: the loop will find out
                return


def _versions_read() -> Versions:
    """The tables that the invocation has looked at, and their versions."""
    from dbt.adapters.tapestry.invocations import versions_read

    return versions_read()


def _watch_queues() -> None:
    """Have the batches that wait for actions looked up after each invocation."""
    from dbt.adapters.tapestry.queues import watch_queues

    watch_queues()


def _actions_due() -> dict[str, float | None]:
    """Return in how many seconds each action that was looked up has something to do."""
    from dbt.adapters.tapestry.queues import next_due

    now = now_utc()
    return {
        name_of(unique_id): None if at is None else (at - now).total_seconds()
        for unique_id, at in next_due().items()
    }


def _text(error: BaseException) -> str:
    return str(getattr(error, "msg", None) or error or type(error).__name__).strip()


def _redirect_output(log: Path) -> None:
    """Redirect standard output and error to the log, away from the terminal."""
    log.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
