"""``<model>__rejected``: the new rows that broke an expectation which drops them.

They are written before the target's commit, with the generation, n and the execution (``attempt``)
that they belong to. Rows of another generation, of an n above the target's, of one that was closed
or that another run has taken, and of an execution of n that did not land do not exist (semantics,
section 4); who comes next removes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tapestry.errors import ConfigurationError
from tapestry.names import REJECTED_PROPERTY, REJECTED_SUFFIX
from tapestry.quoting import identifier, properties, relation_name, string, token
from tapestry.runs.checks.new_rows import NewRows
from tapestry.runs.checks.staging import Staged, hidden, mapping_properties
from tapestry.runs.engine.own_tables import exists, forget_gone, remove_rows
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.kept import Marks, kept_name, property_of
from tapestry.runs.tables.run_identity import RunIdentity
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import newest_commits

OURS = ("run_id", "generation", "n", "attempt", "expectations")


def rejected_name(relation: str) -> str:
    """Return the name of the table of a model's rejected rows."""
    return kept_name(relation, REJECTED_SUFFIX)


def reject(
    session: Session, new: NewRows, staged: Staged, dropped: Sequence[str], attempt: str
) -> None:
    """Keep the staged rows that break one of the expectations called ``dropped``.

    Raises ConfigurationError where a table of that name does not fit.
    """
    name = rejected_name(new.identity.model)
    if new.creates:
        forget_gone(session, name)
    names = {key: hidden(key, staged.columns) for key in OURS}
    if exists(session, name):
        known = _names(session, name)
        taken = {column.lower() for column in staged.columns}
        if known is None or taken & {column.lower() for column in known.values()}:
            raise _in_the_way(new, name)
        names = known
    rows = _rows(new, staged, dropped, attempt, names)
    if not exists(session, name):
        named = {
            "delta.enableTypeWidening": "true",
            REJECTED_PROPERTY: json.dumps(names),
            **mapping_properties(new.model.properties),
        }
        session.run(
            f"CREATE TABLE IF NOT EXISTS {relation_name(name)} USING delta"
            f" COMMENT {token(f'tapestry: rows that {new.model.name} does not accept')}"
            f" TBLPROPERTIES ({properties(named)}) AS {rows} AND false"
        )
    try:
        session.run(
            f"MERGE WITH SCHEMA EVOLUTION INTO {relation_name(name)} AS _t USING ({rows}) AS _n"
            " ON false WHEN NOT MATCHED THEN INSERT *"
        )
    except Exception as error:
        if "DELTA_FAILED_TO_MERGE_FIELDS" not in str(error):
            raise
        raise _in_the_way(new, name) from error


def _in_the_way(new: NewRows, name: str) -> ConfigurationError:
    return ConfigurationError(
        f"{name} is not the table of rejected rows that {new.model.name} needs now: it is"
        " somebody else's, or has a column of another kind",
        where=new.model.file,
        hint="rename or drop it; it is made again with the columns of today",
    )


def before_run(session: Session, row: StateRow) -> str | None:
    """Return the condition that a rejected row is of a run before ``row``; None: no table."""
    known = _there(session, row.model)
    return None if known is None else _marks(known).counts(row.generation, row.n, row.failed)


def remove(session: Session, relation: str) -> None:
    """Remove the table of rejected rows, if it is ours: the model's rows are built anew."""
    name = rejected_name(relation)
    if not exists(session, name) or forget_gone(session, name):
        return
    if _names(session, name) is not None:
        session.run(f"DROP TABLE IF EXISTS {relation_name(name)}")


def carry(
    session: Session, row: StateRow, newest: StateRow, attempt: str | None, stays: str
) -> None:
    """Copy the rejected rows for which ``stays`` holds to the row's generation.

    ``newest`` is the last run that landed.

    The copies count once the rewind has landed; until then they do not exist.
    """
    name = rejected_name(row.model)
    if not exists(session, name):
        return
    known = _names(session, name)
    if known is None:
        return
    tidy(session, newest.identity, attempt)
    counts = _marks(known).counts(newest.generation, newest.n, newest.failed, own=True)
    ours = {
        "run_id": string(row.run_id),
        "generation": string(row.generation),
        "n": "1L",
        "attempt": "''",
    }
    # sql: the keys are only looked up
    values = {known[key]: value for key, value in ours.items()}
    columns = [str(c[0]) for c in session.rows(f"DESCRIBE TABLE {relation_name(name)}")]
    items = ", ".join(values.get(column, identifier(column)) for column in columns)
    session.run(
        f"INSERT INTO {relation_name(name)} SELECT {items} FROM {relation_name(name)}"
        f" WHERE {counts} AND {stays}"
    )


def rows_of_run(session: Session, row: StateRow, n: int) -> str:
    """Return the rejected rows that run ``n`` wrote, as they stand behind FROM; "": no table.

    They are read in the table's present version.
    """
    known = _there(session, row.model)
    if known is None:
        return ""
    version = newest_commits(session, rejected_name(row.model), 1)[0].version
    table = f"{relation_name(rejected_name(row.model))} VERSION AS OF {version:d}"
    return f"{table} WHERE {_of_generation(known, row)} AND {_marks(known).number} = {n:d}"


def outdated(session: Session, row: StateRow, n: int) -> bool:
    """Return whether there are rows of runs before ``n``, which its own rows replaced."""
    known = _there(session, row.model)
    if known is None:
        return False
    table = relation_name(rejected_name(row.model))
    return bool(session.rows(f"SELECT 1 FROM {table} WHERE {_before(known, row, n)} LIMIT 1"))


def remove_outdated(session: Session, row: StateRow, n: int) -> None:
    """Remove the rows of runs before ``n``, and nothing that a run may just be writing."""
    known = _there(session, row.model)
    if known is not None:
        remove_rows(session, rejected_name(row.model), _before(known, row, n))


def tidy(
    session: Session, run: RunIdentity, attempt: str | None, since: int = 0, made: bool = False
) -> None:
    """Remove the rows that no longer count once a run has landed.

    ``attempt`` is the execution of it that landed, "" one without rejected rows (its checks failed,
    or it had none), None unknown. With ``since``, also rows that runs before that one rejected.
    ``made``: its generation has just taken the place of the one before, so that rows of all others
    go as well. Later on they stay: a refresh may be writing some, which count once it has landed.
    """
    known = _there(session, run.model)
    if known is None:
        return
    marks = _marks(known)
    gone: str = marks.gone(run.generation, run.n, since=since)
    if attempt is not None:
        execution = identifier(known["attempt"])
        this = f"{marks.generation} = {string(run.generation)} AND {marks.number} = {run.n:d}"
        gone += f" OR ({this} AND {execution} <> {string(attempt)})"
    if made:
        gone = f"{marks.of_others(run.generation)} OR {gone}"
    remove_rows(session, rejected_name(run.model), gone)


def _rows(
    new: NewRows,
    staged: Staged,
    dropped: Sequence[str],
    attempt: str,
    known: Mapping[str, str],
) -> str:
    run = new.identity
    names = {key: identifier(name) for key, name in known.items()}
    return (
        f"SELECT {', '.join(identifier(column) for column in staged.columns)},"
        f" {string(run.run_id)} AS {names['run_id']},"
        f" {string(run.generation)} AS {names['generation']}, {run.n}L AS {names['n']},"
        f" {string(attempt)} AS {names['attempt']},"
        f" {identifier(staged.broken)} AS {names['expectations']}"
        f" FROM {staged.relation} WHERE {staged.having(dropped)}"
    )


def _names(session: Session, name: str) -> dict[str, str] | None:
    """Return the names of our columns in a table; None if it is none of ours.

    Raises TargetChanged where its folder is gone.
    """
    try:
        return dict(json.loads(property_of(session, name, REJECTED_PROPERTY)))
    except ValueError:
        return None


def _there(session: Session, relation: str) -> dict[str, str] | None:
    """Return our columns of the table of a model's rejected rows; None: it has none."""
    name = rejected_name(relation)
    return _names(session, name) if exists(session, name) else None


def _of_generation(known: Mapping[str, str], row: StateRow) -> str:
    return f"{_marks(known).generation} = {string(row.generation)}"


def _before(known: Mapping[str, str], row: StateRow, n: int) -> str:
    return f"{_of_generation(known, row)} AND {_marks(known).number} < {n:d}"


def _marks(known: Mapping[str, str]) -> Marks:
    return Marks(identifier(known["generation"]), identifier(known["n"]))
