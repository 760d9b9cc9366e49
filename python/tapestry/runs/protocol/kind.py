"""The interface of a kind of model: how runs are planned, refused, explained and audited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from tapestry.errors import Refusal
from tapestry.quoting import Sql
from tapestry.runs.checks.verification import Audited
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.model.keys import KindKeys
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.plan import Plan, Planned
from tapestry.sql import Catalog, Step


@dataclass(frozen=True)
class Explained:
    """The steps from the text to the statement of a run, or up to the one that refuses it.

    strategy
        The name of the way in which each run finds changes.
    looked_at
        Further findings of the kind about its next run.
    """

    steps: tuple[Step, ...]
    refusal: Refusal | None = None
    looked_at: Any = None
    strategy: str = ""


class Kind(Protocol):
    """A kind of model: how its next run is planned, and by that how it writes (``writing``)."""

    @property
    def own_columns(self) -> Mapping[str, Sql]:
        """The columns, with types, that its tables have besides those of the query."""

    @property
    def arrival(self) -> str | None:
        """The column that tells readers of its table when a row came in; None: none does."""

    @property
    def keys(self) -> KindKeys:
        """The keys of ours that have an effect on it."""

    def plan(
        self, session: Session, model: Model, invocation: Invocation, full_refresh: bool
    ) -> Plan:
        """Return the plan; writes nothing. Raises one of the errors of ``tapestry.errors``."""

    def refuse(self, model: Model, catalog: Catalog) -> None:
        """Raise the Refusal that a run would raise for the model's text, without reading data."""

    def explain(
        self, session: Session, model: Model, invocation: Invocation, stored: bool
    ) -> Explained:
        """Return how the next run comes from the text; ``stored``: it has a table, or will."""

    def audit(
        self, session: Session, model: Model, invocation: Invocation, level: str, turn_number: int
    ) -> Audited:
        """Check the table against the query, outside of any run; nothing is written.

        ``level`` is sample or full; ``turn_number`` says which part a sample looks at. Raises
        NotRunYet for a model that has not run.
        """


@runtime_checkable
class BroughtToState(Protocol):
    """A kind whose tables are brought to an earlier or other state by the rows that differ."""

    def adopting(self, session: Session, model: Model, invocation: Invocation) -> Planned:
        """Plan a run that makes the existing table the model's own.

        Raises ConfigurationError for a table whose rows cannot be those of the model.
        """

    def rewinding(
        self, session: Session, model: Model, invocation: Invocation, to: datetime
    ) -> Planned | None:
        """Plan a run that restores the table after its last run up to ``to``; None: it is so.

        Raises WindowError for an instant before all that is known.
        """
