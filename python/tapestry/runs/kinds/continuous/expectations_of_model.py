"""The expectations of a continuous model, fitted to the query that a run executes."""

from __future__ import annotations

from collections.abc import Sequence

from tapestry.errors import Refusal
from tapestry.names import MATCHED_AT
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.expectations.validate import Expected, Pinning, Prepared, prepare
from tapestry.runs.model.model import Model
from tapestry.runs.sources.pins import Pinned


def expected(
    session: Session, model: Model, invocation: Invocation, sql: str, columns: Sequence[str]
) -> tuple[Prepared, ...]:
    """What a run over ``sql`` counts; tables in conditions are read at the invocation's pins.

    Raises ConfigurationError for an expectation that does not fit the columns.
    """
    if not model.config.expectations:
        return ()
    rows = f"SELECT *, CAST(NULL AS TIMESTAMP) AS {MATCHED_AT} FROM (\n{sql}\n) WHERE false"
    return prepare(
        session,
        model.config.expectations,
        Expected(rows, model.name, (*columns, MATCHED_AT), model.file),
        pins_behind(session, invocation),
        invocation.recall,
    )


def pins_behind(session: Session, invocation: Invocation) -> Pinning:
    """What to write behind a table's name so that it is read at the pin of this invocation.

    Views and what is no Delta table have no version: they are read as they are.
    """

    def version(name: str) -> str:
        try:
            found = invocation.pins.of(session, name)
        except Refusal:
            return ""
        return f"VERSION AS OF {found.pin.version}" if isinstance(found, Pinned) else ""

    return version
