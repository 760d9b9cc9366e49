"""What names a run: in the state, in the logs, and beside the rows that it stages or rejects."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RunIdentity:
    """Which run something is of; ``model`` is the relation in lower case, without backticks."""

    model: str
    generation: str
    n: int
    run_id: str
