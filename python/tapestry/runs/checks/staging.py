"""The new rows of a run, written before they are checked and published.

``<target>__staged`` is one Delta table that each run overwrites. Every execution of a run, also of
one that crashed, writes its rows anew, finds the version that holds them, and reads that version:
if another overwrites the table in the meantime, nothing changes for it. Conditions are evaluated
once, as the rows are written; counted, dropped, rejected and published rows all follow from that.

Rows that a run adds to a target stand in memory instead (``Holding.rows``) where Spark keeps cached
data, on its disk if need be; ``keep`` writes them to the table only for people to look at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import sleep

from tapestry.errors import ConcurrentRun, ConfigurationError
from tapestry.names import STAGED_PROPERTY, STAGED_SUFFIX
from tapestry.quoting import identifier, properties, relation_name, string, token
from tapestry.runs.checks.new_rows import NewRows
from tapestry.runs.engine.errors_of_delta import lost_race
from tapestry.runs.engine.own_tables import exists
from tapestry.runs.engine.session import Session
from tapestry.runs.engine.values import as_map
from tapestry.runs.expectations.validate import Prepared
from tapestry.runs.query.holding import make
from tapestry.runs.tables.kept import kept_name
from tapestry.runs.tables.target import properties_of

ATTEMPTS = 5
LOOK_BACK = 20
_MAPPING = "delta.columnMapping.mode"


@dataclass(frozen=True)
class Staged:
    """The new rows of one execution of a run.

    name
        The staged table; ``leftover``: it holds the rows of an earlier run that failed.
    relation
        What may stand behind FROM: the table at the version of this execution, or the view where
        they stand ``in_memory``.
    rows
        Their number; None where it was not counted, in memory and without expectations.
    columns
        The model's select list and ``_matched_at``; ``broken`` names the column with the names of
        the conditions that a row breaks, ``generation`` the one with the generation.
    errors
        Conditions that could not be computed: name -> why. No row breaks them.
    """

    name: str
    relation: str
    rows: int | None
    columns: tuple[str, ...]
    broken: str
    generation: str
    prepared: tuple[Prepared, ...]
    errors: Mapping[str, str] = field(default_factory=dict)
    in_memory: bool = False
    leftover: bool = False

    @property
    def drops(self) -> tuple[str, ...]:
        """The names of the conditions that keep rows out of the table."""
        found = (one.expectation for one in self.prepared)
        return tuple(one.name for one in found if one.on_violation == "drop")

    def having(self, names: Sequence[str]) -> str:
        """Return the condition that a staged row breaks one of the conditions of these names."""
        if not names:
            return "false"
        listed = ", ".join(string(name) for name in names)
        return f"arrays_overlap({identifier(self.broken)}, array({listed}))"


def staged_name(relation: str) -> str:
    """Return the name of the table that a model's new rows are staged in."""
    return kept_name(relation, STAGED_SUFFIX)


def hidden(name: str, columns: Sequence[str]) -> str:
    """Return a name for a column of ours that none of the model's columns has.

    >>> hidden("n", ["id", "N"])
    '_n'
    """
    taken = {column.lower() for column in columns}
    while name.lower() in taken:
        name = f"_{name}"
    return name


def stage(session: Session, new: NewRows, attempt: str) -> Staged:
    """Write the rows of Q^I with the names of the conditions that they break.

    Where that fails the rows are written alone, and each condition that cannot be computed is found
    by itself. Raises what the query itself raises, and ConfigurationError where somebody else's
    table has the name.
    """
    wanted = tuple(one for one in new.expected if one.condition)
    errors: dict[str, str] = {}
    leftover = _is_there(session, new)
    try:
        rows = _write(session, new, attempt, wanted)
    except Exception:
        if not wanted:
            raise
        rows = _write(session, new, attempt, ())
        place = new.holding.rows or relation_name(staged_name(new.identity.model))
        errors = culprits(session, f"{place} AS {identifier(new.model.name)}", wanted)
        if not errors:
            raise
        wanted = tuple(one for one in wanted if one.expectation.name not in errors)
        rows = _write(session, new, attempt, wanted)
    if not new.holding.rows:
        return _found(session, new, attempt, errors)
    staged = _staged(new, new.holding.rows, rows, errors)
    return replace(staged, in_memory=True, leftover=leftover)


def count_staged(session: Session, relation: str) -> int:
    """Return the number of rows of a staged relation; computes them if nobody has read them yet."""
    ((rows,),) = session.rows(f"SELECT count(*) FROM {relation}")
    return int(rows)


def published(staged: Staged, new: NewRows, dropped: Sequence[str]) -> str:
    """Return a SELECT of the staged rows for the target: those that break no dropping condition."""
    columns = ", ".join(identifier(column) for column in new.columns)
    select = f"SELECT {columns} FROM {staged.relation}"
    conditions = [f"NOT {staged.having(dropped)}"] if dropped else []
    if new.identity.n == 1 and not staged.in_memory:
        # A creation has no transaction that would stop it: two refreshes at once and a dropped
        # staged table must not give it the rows of another run.
        generation = f"{identifier(staged.generation)} = {string(new.identity.generation)}"
        conditions.append(
            f"(SELECT IF(count(*) = {staged.rows} AND count_if({generation}) = {staged.rows},"
            f" true, CAST(raise_error('the staged rows are those of another run') AS BOOLEAN))"
            f" FROM {staged.relation})"
        )
    return f"{select} WHERE {' AND '.join(conditions)}" if conditions else select


def marked(staged: Staged, new: NewRows, select: str) -> Staged:
    """Return other rows than the staged ones, with the names of the conditions that they break."""
    wanted = [one for one in new.expected if one.condition]
    alias, broken = identifier(new.model.name), identifier(staged.broken)
    relation = (
        f"(SELECT {alias}.*, {broken_names(wanted)} AS {broken} FROM (\n{select}\n) AS {alias})"
    )
    return replace(staged, relation=relation)


def drop(session: Session, staged: Staged) -> None:
    """Drop the staged rows after they are published, and those of an earlier failed run."""
    if staged.leftover or not staged.in_memory:
        session.run(f"DROP TABLE IF EXISTS {relation_name(staged.name)}")


def keep(session: Session, new: NewRows, staged: Staged, attempt: str) -> None:
    """Write rows that were not published into the staged table for people to look at."""
    if staged.in_memory:
        _create(session, new, attempt, f"SELECT * FROM {staged.relation}")


def mapping_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that a table beside the target needs for the same column names."""
    return {key: str(value) for key, value in properties.items() if key == _MAPPING}


def broken_names(conditions: Sequence[Prepared]) -> str:
    """Return the names of the conditions that a row breaks: those whose negation is true."""
    if not conditions:
        return "CAST(array() AS ARRAY<STRING>)"
    flags = ", ".join(
        f"IF(NOT ({one.condition}\n), {string(one.expectation.name)}, NULL)" for one in conditions
    )
    return f"array_compact(array({flags}))"


def culprits(session: Session, relation: str, conditions: Sequence[Prepared]) -> dict[str, str]:
    """Return the conditions that cannot be computed over a relation, and why; by halving."""
    items = ", ".join(f"count_if(NOT ({one.condition}\n))" for one in conditions)
    try:
        session.rows(f"SELECT {items} FROM {relation}")
    except Exception as error:
        if len(conditions) == 1:
            reason = " ".join(str(error).split("\n\n")[0].split())
            return {conditions[0].expectation.name: reason[:400]}
        half = len(conditions) // 2
        return {
            **culprits(session, relation, conditions[:half]),
            **culprits(session, relation, conditions[half:]),
        }
    return {}


def _is_there(session: Session, new: NewRows) -> bool:
    """Return whether there is a staged table.

    Raises ConfigurationError where it is somebody else's.
    """
    name = staged_name(new.identity.model)
    if not exists(session, name):
        return False
    asked = f"SHOW TBLPROPERTIES {relation_name(name)} ({token(STAGED_PROPERTY)})"
    ((_, value),) = session.rows(asked)
    if "does not have property" in str(value):
        raise ConfigurationError(
            f"{name} is somebody else's table; the rows of {new.model.name} are staged there",
            where=new.model.file,
            hint="rename one of the two",
        )
    return True


def _write(session: Session, new: NewRows, attempt: str, wanted: Sequence[Prepared]) -> int | None:
    """Compute the new rows; return their number where they stand in memory.

    None where they are not counted: written to a table, which knows their number, or without
    expectations, where the verification is the first to read them and computes them.
    """
    select, view = _select(new, wanted), new.holding.rows
    if not view:
        _create(session, new, attempt, select)
        return None
    make(session, view, select)
    if not new.expected:
        return None
    return count_staged(session, view)


def _create(session: Session, new: NewRows, attempt: str, select: str) -> None:
    named = {**mapping_properties(new.model.properties), STAGED_PROPERTY: attempt}
    statement = (
        f"CREATE OR REPLACE TABLE {relation_name(staged_name(new.identity.model))} USING delta"
        f" TBLPROPERTIES ({properties(named)}) AS\n{select}"
    )
    for again in range(ATTEMPTS):
        try:
            session.run(statement)
            return
        except Exception as error:
            if not lost_race(error) or again + 1 == ATTEMPTS:
                raise
            sleep(0.2 * (again + 1))


def _select(new: NewRows, wanted: Sequence[Prepared]) -> str:
    """Return a query of the new rows with their broken conditions, generation and n."""
    run, columns, alias = new.identity, new.selected, identifier(new.model.name)
    return (
        f"SELECT {alias}.*, {broken_names(wanted)} AS {identifier(hidden('_broken', columns))},"
        f" {string(run.generation)} AS {identifier(hidden('generation', columns))},"
        f" {run.n}L AS {identifier(hidden('n', columns))}"
        f" FROM (\n{new.keyed or new.select}\n) AS {alias}"
    )


def _found(session: Session, new: NewRows, attempt: str, errors: Mapping[str, str]) -> Staged:
    """Return the version that this execution wrote, by the table's history.

    Raises ConcurrentRun where others have overwritten it so often that it is out of sight.
    """
    name = staged_name(new.identity.model)
    history = session.rows(f"DESCRIBE HISTORY {relation_name(name)} LIMIT {LOOK_BACK}")
    for commit in history:
        if properties_of(commit[5]).get(STAGED_PROPERTY) != attempt:
            continue
        relation = f"{relation_name(name)} VERSION AS OF {int(commit[0])}"
        count = as_map(commit[12]).get("numOutputRows")
        rows = count_staged(session, relation) if count is None else int(count)
        return _staged(new, relation, rows, errors)
    raise ConcurrentRun(
        f"other runs of {new.identity.model} have overwritten the staged rows of this one",
        hint="run again: the next run goes on from where they got",
    )


def _staged(new: NewRows, relation: str, rows: int | None, errors: Mapping[str, str]) -> Staged:
    columns = new.selected
    return Staged(
        staged_name(new.identity.model),
        relation,
        rows,
        columns,
        hidden("_broken", columns),
        hidden("generation", columns),
        new.expected,
        errors,
    )
