"""The advice for one model, and for a whole folder, as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

CONTINUOUS: Final = "continuous"
MAINTAINED: Final = "maintained"
"""The kind for a query whose current answer is kept by what changes."""
REBUILT: Final = "table"
"""The kind for a query that neither keeps: a table that each run builds anew."""
REBUILT_TEXT: Final = "table (rebuilt by each run)"
"""The same, for people."""
UNREAD: Final = "unread"
"""No text to judge: ``reason`` says why."""


@dataclass(frozen=True)
class ArrivalFound:
    """The arrival of a source's rows: its column, and how it was found."""

    relation: str
    column: str
    """'' where none was found; ``static`` for a look-up table."""
    why: str

    @property
    def told(self) -> str:
        """Return one line for people."""
        if self.column == STATIC:
            return f"{self.relation}: arrival: static ({self.why})"
        if self.column:
            return f"{self.relation}: {self.column} ({self.why})"
        return f"{self.relation}: {self.why}"


STATIC: Final = "static"


@dataclass(frozen=True)
class Advice:
    """The advice for one model: its kind today, the kind that fits, and the changes."""

    name: str
    file: str
    today: str
    """Its materialization; '' in a folder that is no dbt project."""
    kind: str
    code: str = ""
    """The code of the refusal."""
    reason: str = ""
    where: str = ""
    hint: str = ""
    changes: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    """The conditions that must hold, and that only the owner of the data can confirm."""
    arrivals: tuple[ArrivalFound, ...] = ()
    notes: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()
    """Variables that its text asks for and that have no value."""
    strategy: str = ""
    dialect: str = "spark"
    characters: int = 0
    """The length of the SQL, in characters."""
    seconds: float = 0.0
    """The duration of the rewriting, in seconds."""
    also: str = ""
    """Another kind that keeps its query, with another meaning: the answer as it is now."""

    @property
    def judged(self) -> bool:
        """Whether its query was tried."""
        return self.kind == CONTINUOUS or bool(self.code)

    def as_json(self) -> dict[str, Any]:
        """All of it, as plain values."""
        return {**asdict(self), "seconds": round(self.seconds, 4)}


@dataclass(frozen=True)
class Survey:
    """The advice for a folder's models, and notes on the folder itself."""

    folder: str
    project: str
    dialect: str
    models: tuple[Advice, ...]
    notes: tuple[str, ...] = ()
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The columns that were taken to be there, with the types that were guessed."""

    @property
    def reasons(self) -> dict[str, int]:
        """Return code of refusal -> number of models, the most frequent first."""
        codes = (one.code for one in self.models if one.code and one.kind == REBUILT)
        return dict(Counter(codes).most_common())

    @property
    def counts(self) -> dict[str, int]:
        """Return how many models were found, fit, fit conditionally, are refused, stay, unread."""
        fits = [one for one in self.models if one.kind == CONTINUOUS]
        return {
            "models": len(self.models),
            "continuous": len(fits),
            "continuous_if": sum(bool(one.conditions) for one in fits),
            "maintained": sum(one.kind == MAINTAINED for one in self.models),
            "also_maintained": sum(one.also == MAINTAINED for one in self.models),
            "refused": sum(self.reasons.values()),
            "stays": sum(not one.judged and one.kind != UNREAD for one in self.models),
            "unread": sum(one.kind == UNREAD for one in self.models),
        }

    def as_json(self) -> dict[str, Any]:
        """All of it, as plain values."""
        return {
            "folder": self.folder,
            "project": self.project,
            "dialect": self.dialect,
            "counts": self.counts,
            "reasons": self.reasons,
            "notes": list(self.notes),
            "models": [one.as_json() for one in self.models],
            "columns_taken": {name: dict(columns) for name, columns in self.columns.items()},
        }
