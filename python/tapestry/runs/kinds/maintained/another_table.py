"""Decides whether a run goes on from a model's table, or makes it anew.

It is made anew where the author says so, and where query, settings or columns changed since the
last run. Each is read from the model and from that run's state; the first that differs is the
reason.
"""

from __future__ import annotations

from tapestry.errors import QueryChanged, StateMissing, TargetChanged
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.maintained.config import config_of
from tapestry.runs.kinds.maintained.query import MaintainedQuery
from tapestry.runs.kinds.maintained.reasons import Reason, Whole
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.standing import Standing, stand
from tapestry.runs.query.settings import same_query, without_unsaid
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import newest_commits

_BUILT_ANEW = "table"
"""The materialization whose build writes its own name into the table's properties."""


def stand_or_replace(
    session: Session, model: Model, invocation: Invocation, full_refresh: bool
) -> tuple[Standing, Whole | None]:
    """Return the model's standing, and a reason to make the table anew besides its query.

    Raises the errors of ``stand``, except those for a table that dbt builds anew each time, and for
    one that somebody else wrote to where the author says that it is to be made anew.
    """
    try:
        asked = Whole(Reason.ASKED) if full_refresh else None
        return stand(session, model, invocation, full_refresh), asked
    except TargetChanged:
        if model.config.on_target_change != "refresh":
            raise
        return stand(session, model, invocation, refresh=True), Whole(Reason.TARGET_CHANGED)
    except StateMissing:
        if not _is_built_anew(session, model.relation):
            raise
        return stand(session, model, invocation, refresh=True), None


def _is_built_anew(session: Session, name: str) -> bool:
    """Return whether a table's rows are exactly those of a `table` model's build.

    False too where the log does not tell.
    """
    commit = next((one for one in newest_commits(session, name) if not one.harmless), None)
    return commit is not None and commit.kind == _BUILT_ANEW


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
