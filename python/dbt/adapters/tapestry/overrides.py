"""Temporary settings of a Spark session, which afterwards have their former values.

They make statements over little data faster and change no answer: whatever else runs in the same
session meanwhile has them too. A setting that would change an answer is never set temporarily.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.conf import RuntimeConfig

FEW_PARTITIONS = 16
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # What a run holds goes with the run: looking for ways to pack it takes a fifth of the time.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
}
"""Settings with which Spark interprets queries: to compile kilobytes of SQL takes longer."""


def once(conf: RuntimeConfig) -> dict[str, str]:
    """Return settings that turn off adaptive execution, which costs a job for each exchange.

    None where tables are shuffled into many partitions, which adaptive execution would coalesce.
    """
    if int(conf.get("spark.sql.shuffle.partitions") or 0) > FEW_PARTITIONS:
        return {}
    return {"spark.sql.adaptive.enabled": "false"}


@dataclass
class _Held:
    """A setting: its value before it was overridden, and the values wanted now, oldest first."""

    before: str | None
    wanted: list[tuple[object, str]] = field(default_factory=list)


class Overrides:
    """The settings of one session that are overridden for a while.

    The first user of a setting notes its former value, the last one restores it, in whatever order
    they leave; in between the newest of the remaining users' values holds.
    """

    def __init__(self, conf: RuntimeConfig) -> None:
        self._conf = conf
        self._held: dict[str, _Held] = {}
        self._lock = Lock()

    @contextmanager
    def inside(self, wanted: Mapping[str, str]) -> Iterator[None]:
        """Let these settings hold inside.

        If one of them cannot be set or restored, all others are restored.
        """
        who = object()
        try:
            for name, value in wanted.items():
                self._take(name, value, who)
            yield
        finally:
            self._leave(list(wanted), who)

    def _take(self, name: str, value: str, who: object) -> None:
        with self._lock:
            held = self._held.get(name)
            if held is None:
                held = self._held[name] = _Held(self._conf.get(name, None))
            held.wanted.append((who, value))
            self._conf.set(name, value)

    def _leave(self, names: list[str], who: object) -> None:
        failed: Exception | None = None
        for name in names:
            try:
                self._put_back(name, who)
            except Exception as error:
                failed = failed or error
        if failed is not None:
            raise failed

    def _put_back(self, name: str, who: object) -> None:
        with self._lock:
            held = self._held.get(name)
            if held is None:
                return
            held.wanted = [one for one in held.wanted if one[0] is not who]
            if held.wanted:
                self._conf.set(name, held.wanted[-1][1])
                return
            del self._held[name]
            if held.before is None:
                self._conf.unset(name)
            else:
                self._conf.set(name, held.before)
