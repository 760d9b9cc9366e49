"""How a run comes from a model's text, for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tapestry.errors import Refusal
from tapestry.sql import Step


@dataclass(frozen=True)
class Explained:
    """The steps from the text to the statement of a run, or up to the one that refuses it.

    looked_at
        What else the kind has found out about its next run.
    """

    steps: tuple[Step, ...]
    refusal: Refusal | None = None
    looked_at: Any = None
