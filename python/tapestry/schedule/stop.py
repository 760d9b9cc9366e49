"""Ends long runs by a signal: after the current run, or at once by a second signal."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stop:
    """While it is entered SIGTERM and Ctrl-C only ask; the main thread looks at ``asked``.

    Enter it after Spark has started: pyspark takes Ctrl-C for itself then. ``fileno()`` becomes
    readable with the signal, for whoever waits.
    """

    def __init__(self) -> None:
        self.asked = False
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._before: dict[int, Any] = {}

    def fileno(self) -> int:
        """Return a descriptor that is readable after the signal."""
        return self._read

    def ask(self) -> None:
        """Ask to end after the current run."""
        self.asked = True
        os.write(self._write, b"!")

    def __enter__(self) -> Stop:
        for number in SIGNALS:
            self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        os.close(self._read)
        os.close(self._write)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.ask()
