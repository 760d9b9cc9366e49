"""Commands that limit inputs: Spark analyses the query, a table stands there, no state changes."""

from __future__ import annotations

from tapestry.names import MATCHED_AT
from tapestry.quoting import relation_name
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.run.commit import create_sql
from tapestry.runs.tables.target import EMPTY_GENERATION, look
from tapestry.sql.read.open_qualify import without_qualify


def plan_empty(session: Session, model: Model) -> bool:
    """Nothing to be run: an empty table where there is none, else nothing. Was a table made?

    The table's generation says that it stands for no run, so the first real run builds it. The SQL
    holds dbt's own subqueries with LIMIT 0 or a filter, hence it is analysed and not rewritten.
    """
    sql = without_qualify(model.sql)
    nothing = f"SELECT *, CAST(NULL AS TIMESTAMP) AS {MATCHED_AT} FROM (\n{sql}\n) WHERE false"
    session.rows(f"DESCRIBE QUERY {nothing}")
    if look(session, model.relation) is not None:
        return False
    session.run(f"DROP VIEW IF EXISTS {relation_name(model.relation)}")
    session.run(create_sql(model, EMPTY_GENERATION, nothing, replace=False))
    return True
