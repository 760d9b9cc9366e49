"""The input of a sink: a batch with its rows, split into parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tapestry.delivery.cursors import Batch
from tapestry.delivery.rows import AnswersToSend


@dataclass(frozen=True)
class Delivery:
    """A batch that is being delivered.

    rows
        The answers as JSON objects.
    root
        The project's folder, which relative paths start from.
    """

    batch: Batch
    answers: AnswersToSend
    rows: Sequence[str]
    root: Path
    name: str

    def parts(self, size: int | None) -> list[Sequence[str]]:
        """The rows in parts of ``size`` (None: one part)."""
        if size is None:
            return [self.rows]
        return [self.rows[start : start + size] for start in range(0, len(self.rows), size)]

    def part_id(self, part: int) -> str:
        """Return an id that repetitions of this part share, so that receivers recognise it."""
        return f"{self.batch.life}-{self.batch.m}-{part}"
