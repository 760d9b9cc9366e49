"""Tells whether query, settings or columns changed since the last run: then the table is made anew.

Each is read from the model and from the last run's state; the first that differs is the reason.
"""

from __future__ import annotations

from tapestry.errors import QueryChanged
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.maintained.config import config_of
from tapestry.runs.kinds.maintained.query import MaintainedQuery
from tapestry.runs.kinds.maintained.reasons import Reason, Whole
from tapestry.runs.model.model import Model
from tapestry.runs.query.settings import same_query, without_unsaid
from tapestry.runs.tables.state_row import StateRow


def another_table(
    session: Session,
    model: Model,
    invocation: Invocation,
    query: MaintainedQuery,
    row: StateRow,
) -> Whole | None:
    """Return why the table is built anew; None: it goes on.

    Raises QueryChanged for other columns where ``on_schema_change`` says ``fail``, for another
    query where ``on_configuration_change`` does.
    """
    old, new = row.after.canonical, query.canonical
    types = tuple((one.name, one.type) for one in query.shown)
    key = ("maintained columns", row.generation, types)
    columns = not invocation.recall.analysed(key) and types != _there(session, model)
    if columns and config_of(model.config.own).on_schema_change == "fail":
        raise QueryChanged(
            f"the query of {model.name} has other columns than its table, or other types",
            where=model.file,
            hint="on_schema_change: sync_all_columns builds the table anew; so does --full-refresh",
        )
    if not same_query(old, new):
        same = _without_remarks(old) == _without_remarks(without_unsaid(new, old))
        if not same and config_of(model.config.own).on_configuration_change == "fail":
            raise QueryChanged(
                f"the query of {model.name} is another one than its table was made with",
                where=model.file,
                hint="on_configuration_change: apply builds the table anew; so does --full-refresh",
            )
        return Whole(Reason.SETTINGS_CHANGED if same else Reason.QUERY_CHANGED)
    if columns:
        return Whole(Reason.SCHEMA_CHANGED)
    invocation.recall.note_analysed(key)
    return None


def _there(session: Session, model: Model) -> tuple[tuple[str, str], ...]:
    """Return the columns of the table."""
    found = columns_of_table(session, model.relation)
    return tuple((name, kind.lower()) for name, kind in found)


def _without_remarks(canonical: str) -> str:
    return "\n".join(line for line in canonical.splitlines() if not line.startswith("-- "))
