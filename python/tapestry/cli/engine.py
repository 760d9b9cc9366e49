"""The Spark that the worker processes of a command share, in a process of its own."""

from __future__ import annotations

import contextlib
from typing import Any

from tapestry.children import TimeoutExpired
from tapestry.errors import TapestryError, parted


class EngineFailed(TapestryError):
    """The shared Spark did not start."""


class Engine:
    """Starts and ends `engine_host`; ``offer`` is what others join it by, '' where none is needed.

    Spark Connect, Thrift and the like have a server of their own: nothing is started for them.
    """

    def __init__(self, config: Any) -> None:
        self._config = config
        self._process: Any = None
        self.offer = ""

    @property
    def wanted(self) -> bool:
        """Whether each worker would start a Spark of its own."""
        credentials = self._config.credentials
        return bool(credentials.embedded) and not str(credentials.master or "").startswith("sc://")

    @property
    def alive(self) -> bool:
        """Whether the shared Spark runs, or none is wanted."""
        return not self.wanted or (self._process is not None and self._process.poll() is None)

    def start(self) -> None:
        """Start it and wait until it can be joined; EngineFailed with what is wrong."""
        if not self.wanted:
            return
        self.close(patience=0)
        from dbt_common.exceptions import DbtRuntimeError

        from dbt.adapters.tapestry.engine import launch_engine

        credentials = self._config.credentials
        wanted = {
            "given": dict(credentials.server_side_parameters),
            "root": str(self._config.project_root),
            "master": credentials.master,
            "log_path": self._config.log_path,
        }
        try:
            self._process, offer = launch_engine(wanted)
        except DbtRuntimeError as error:
            reason, hint = parted(str(error.msg))
            raise EngineFailed(reason, hint=hint or "see logs/spark.log") from error
        self.offer = str(offer)

    def close(self, patience: float = 70.0) -> None:
        """End it once the other processes that have joined it are done; by force after a while."""
        process, self._process, self.offer = self._process, None, ""
        if process is None:
            return
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(patience)
        except TimeoutExpired:
            process.kill()
            process.wait()
