"""The identity of a run: in the state, in the logs, and beside its staged or rejected rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RunIdentity:
    """The identity of a run; ``model`` is the relation in lower case, without backticks."""

    model: str
    generation: str
    n: int
    run_id: str
