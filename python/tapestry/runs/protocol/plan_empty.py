"""Commands that limit inputs: Spark analyses the query, a table is made, no state changes."""

from __future__ import annotations

from tapestry.quoting import identifier, relation_name
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.kind import Kind
from tapestry.runs.protocol.writing import create_sql
from tapestry.runs.tables.target import EMPTY_GENERATION, look
from tapestry.sql.read.open_qualify import without_qualify


def plan_empty(session: Session, kind: Kind, model: Model) -> bool:
    """Make an empty table where there is none, and run nothing; return whether one was made.

    The table's generation says that it stands for no run, so the first real run builds it. The SQL
    holds dbt's own subqueries with LIMIT 0 or a filter, hence it is analysed and not rewritten.
    """
    nothing = f"{with_own_columns(kind, without_qualify(model.sql))} WHERE false"
    session.rows(f"DESCRIBE QUERY {nothing}")
    if look(session, model.relation) is not None:
        return False
    session.run(f"DROP VIEW IF EXISTS {relation_name(model.relation)}")
    session.run(create_sql(model, EMPTY_GENERATION, nothing, replace=False))
    return True


def with_own_columns(kind: Kind, sql: str) -> str:
    """Return a query with the columns of the kind's tables; the kind's own are NULL."""
    own = "".join(f", CAST(NULL AS {t}) AS {identifier(c)}" for c, t in kind.own_columns.items())
    return f"SELECT *{own} FROM (\n{sql}\n)"
