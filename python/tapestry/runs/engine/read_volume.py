"""What a run read, where the engine says so without being asked to work for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class ReadVolume:
    """Files of tables and bytes that were read; None: nobody knows.

    ``look`` finds them out, once the reading is over: an engine's counters come after its answers.
    """

    files: int | None = None
    bytes: int | None = None
    look: Callable[[], None] = field(default=lambda: None, compare=False)
