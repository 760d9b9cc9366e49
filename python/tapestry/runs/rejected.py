"""``<model>__rejected``: the new rows that broke an expectation which drops them.

They are written before the target's commit, with the generation, n and the execution (``attempt``)
that they belong to. Rows of another generation, of an n above the target's, and of an execution of
n that did not land do not exist (semantics, section 4); who comes next removes them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapestry.errors import ConfigurationError
from tapestry.names import REJECTED_SUFFIX
from tapestry.runs.plan import Plan
from tapestry.runs.session import Session
from tapestry.runs.sources.literals import identifier, relation_name, string
from tapestry.runs.staging import Staged, hidden, listed_properties, mapping_properties

OURS = ("run_id", "generation", "n", "attempt", "expectations")


def rejected_name(relation: str) -> str:
    """The name of the table that a model's rejected rows are kept in."""
    return f"{relation.replace('`', '')}{REJECTED_SUFFIX}"


def reject(
    session: Session, planned: Plan, staged: Staged, dropped: Sequence[str], attempt: str
) -> None:
    """Keep the staged rows that break one of the expectations called ``dropped``.

    Raises ConfigurationError where the table has a column of another type.
    """
    assert planned.row is not None
    name = rejected_name(planned.row.model)
    rows = _rows(planned, staged, dropped, attempt)
    if not exists(session, name):
        properties = {
            "delta.enableTypeWidening": "true",
            **mapping_properties(planned.model.properties),
        }
        session.run(
            f"CREATE TABLE IF NOT EXISTS {relation_name(name)} USING delta"
            f" COMMENT {string(f'tapestry: rows that {planned.model.name} does not accept')}"
            f" TBLPROPERTIES ({listed_properties(properties)}) AS {rows} AND false"
        )
    try:
        session.run(
            f"MERGE WITH SCHEMA EVOLUTION INTO {relation_name(name)} AS _t USING ({rows}) AS _n"
            " ON false WHEN NOT MATCHED THEN INSERT *"
        )
    except Exception as error:
        if "DELTA_FAILED_TO_MERGE_FIELDS" not in str(error):
            raise
        raise ConfigurationError(
            f"{name} has a column of another type than {planned.model.name} has now",
            where=planned.model.file,
            hint=f"rename or drop {name}; it is made again with the columns of today",
        ) from error


def tidy(session: Session, relation: str, generation: str, n: int, attempt: str | None) -> None:
    """Remove what does not exist once run ``n`` of the generation is the newest that landed.

    ``attempt`` is the execution of n that landed, "" one without rejected rows (its checks failed,
    or it had none), None unknown.
    """
    name = rejected_name(relation)
    if not exists(session, name):
        return
    known = _names(session, name)
    theirs, number, execution = (identifier(known[key]) for key in ("generation", "n", "attempt"))
    # Simple comparisons, so that file statistics tell that there is nothing to remove.
    gone = f"{theirs} <> {string(generation)} OR {number} > {n}"
    if attempt is not None:
        gone += f" OR ({number} = {n} AND {execution} <> {string(attempt)})"
    session.run(f"DELETE FROM {relation_name(name)} WHERE {gone}")


def exists(session: Session, name: str) -> bool:
    """Is there a table of that name? One look-up in the catalog."""
    schema, _, table = name.rpartition(".")
    scope = f" IN {relation_name(schema)}" if schema else ""
    return bool(session.rows(f"SHOW TABLES{scope} LIKE {string(table)}"))


def _rows(planned: Plan, staged: Staged, dropped: Sequence[str], attempt: str) -> str:
    row = planned.row
    assert row is not None
    names = {key: identifier(hidden(key, staged.columns)) for key in OURS}
    return (
        f"SELECT {', '.join(identifier(column) for column in staged.columns)},"
        f" {string(row.run_id)} AS {names['run_id']},"
        f" {string(row.generation)} AS {names['generation']}, {row.n}L AS {names['n']},"
        f" {string(attempt)} AS {names['attempt']},"
        f" {identifier(staged.broken)} AS {names['expectations']}"
        f" FROM {staged.relation} WHERE {staged.having(dropped)}"
    )


def _names(session: Session, name: str) -> dict[str, str]:
    """What our columns are called in a table: with more underscores where the model has such."""
    described = session.rows(f"DESCRIBE TABLE {relation_name(name)}")
    columns = [str(row[0]) for row in described if row[0] and not str(row[0]).startswith("#")]
    return {
        key: max((c for c in columns if c.lstrip("_") == key), key=len, default=key) for key in OURS
    }
