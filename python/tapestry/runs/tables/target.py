"""The table of a continuous model as it stands: its owner, and the commits to it.

Semantics, section 3 ("a target that somebody else changed") and section 4 (generation).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tapestry.errors import TargetChanged
from tapestry.names import FIRST_KIND, GENERATION_PROPERTY, KIND_PROPERTY
from tapestry.quoting import Sql, path, properties, relation_name, token
from tapestry.runs.engine.errors_of_delta import is_view, not_found
from tapestry.runs.engine.glance import Glance
from tapestry.runs.engine.session import Session
from tapestry.runs.engine.values import as_map, note_of_ours

EMPTY_GENERATION = "empty"
"""The generation of a table that a command with limited inputs (`--empty`) made: it has columns and
stands for no run."""

HARMLESS = (
    "OPTIMIZE",
    "VACUUM",
    "REORG",
    "ANALYZE",
    "COMPUTE STATS",
    "CLUSTER BY",
    "SET TBLPROPERTIES",
    "UNSET TBLPROPERTIES",
    "CHANGE COLUMN",
    "ADD COLUMN",
    "ADD CONSTRAINT",
    "DROP CONSTRAINT",
    "UPGRADE PROTOCOL",
    "ADD FEATURE",
    "DROP FEATURE",
    "SET TABLE FEATURE",
    "ROW TRACKING BACKFILL",
    "UPDATE COLUMN METADATA",
)
"""Operations (how their names begin) that change no answer."""
CREATIONS = ("CREATE TABLE AS SELECT", "CREATE OR REPLACE TABLE AS SELECT")
FIRST_LOOK = 20
MANY = 1_000_000
"""A number of commits that no log exceeds: all of them are read."""
BY_BATCH = "batch"
FOR = "for"
"""In the note of a commit of a batch: the generations of derived tables that it was begun for."""
CLOSED = 2**62
"""The last n of a generation: after it Delta skips every run of that generation."""


@dataclass(frozen=True)
class Written:
    """The number of rows and files of a commit; None where its table's log does not say."""

    rows: int | None = None
    files: int | None = None
    size: int | None = None


@dataclass(frozen=True)
class Commit:
    """One commit of a table's history.

    failed
        It closes its n: the checks of that run failed, and it wrote no rows.
    attempt
        Which execution of n it is, where that matters to a kept table.
    successor
        It rewinds the table: it closes its generation, and is the first run of this one.
    note
        What its run wrote of itself; {} for a commit of somebody else.
    predicate
        The condition of a DELETE.
    kind
        The materialization whose build made the table by it, or ``BY_BATCH`` for a commit of a
        batch of ours; '' where it does not say.
    """

    version: int
    operation: str
    generation: str | None
    n: int | None
    run_id: str | None
    written: Written = Written()
    failed: bool = False
    attempt: str = ""
    successor: str = ""
    note: Mapping[str, Any] = field(default_factory=dict)
    predicate: str = ""
    kind: str = ""

    @property
    def until(self) -> str:
        """The end of its window, as the run wrote it; '' where the commit does not say."""
        return str(self.note.get("t", ""))

    @property
    def state(self) -> str:
        """The text in its note of the run's row of the state; '' where it has none."""
        found = self.note.get("state")
        return found if isinstance(found, str) else ""

    @property
    def harmless(self) -> bool:
        """Whether it leaves every answer as it is."""
        return self.operation.upper().startswith(HARMLESS)

    def holds(self, generation: str, n: int) -> bool:
        """Return whether it is the commit of run n of a generation."""
        if n == 1 and self.successor == generation:
            return True
        return self.generation == generation and self.n == n


def look(session: Session, name: str) -> Glance | None:
    """Return the target, or None where there is no table of that name: nothing, or a view.

    A session with a cheaper way than DESCRIBE DETAIL uses that first.
    Raises TargetChanged for a table of another format.
    """
    seen = session.can.glance(name)
    if seen is not None:
        return seen
    try:
        (row,) = session.rows(f"DESCRIBE DETAIL {relation_name(name)}")
    except Exception as error:
        if not_found(error) or is_view(error):
            return None
        raise
    if str(row[0]).lower() != "delta":
        raise TargetChanged(
            f"{name} is a {row[0]} table; a continuous model keeps its answers in a Delta table",
            hint="drop or rename it, or run with --full-refresh after that",
        )
    properties = as_map(row[11])
    generation = properties.get(GENERATION_PROPERTY)
    return Glance(
        name,
        str(row[1]),
        generation,
        str(row[6]),
        int(row[9] or 0),
        int(row[10] or 0),
        place=str(row[4]),
        kind=properties.get(KIND_PROPERTY, FIRST_KIND),
    )


def generation_of(session: Session, name: str, kind: str) -> str | None:
    """Return the generation of a table that a model of a kind has made; None for any other."""
    target = look(session, name)
    return target.generation if target is not None and target.kind == kind else None


def generation_in(session: Session, folder: str) -> str | None:
    """Return the generation of a folder's table, "" if no run made it; None: no table."""
    try:
        (row,) = session.rows(f"DESCRIBE DETAIL {path(folder, 'delta')}")
    except Exception as error:
        if not_found(error):
            return None
        raise
    return str(as_map(row[11]).get(GENERATION_PROPERTY, ""))


def unknown_table(name: str, folder: str) -> TargetChanged:
    """Return the error for a folder with a table that the catalog lost or never had."""
    return TargetChanged(
        f"the catalog knows no {name}, but in its folder {folder} lies a Delta table",
        hint=f"if it is the model's, CREATE TABLE {relation_name(name)} USING delta LOCATION"
        f" {token(folder)}; else move it away, or give the model another name or location",
    )


def folder_gone(name: str, file: str) -> TargetChanged:
    """Return the error for a model in ``file`` whose table has only its catalog entry left."""
    return TargetChanged(
        f"the catalog knows {name}, but its folder is gone",
        where=file,
        hint="bring the folder back, or build the model again with --full-refresh",
    )


def commits_after(session: Session, name: str, version: int) -> list[Commit]:
    """Return the commits above ``version``, newest first, as far back as the log still tells."""
    logged = _logged(session, name, version, MANY)
    if logged is not None:
        return logged
    commits = newest_commits(session, name)
    if len(commits) == FIRST_LOOK and commits[-1].version > version + 1:
        commits = newest_commits(session, name, commits[0].version - version)
    return [commit for commit in commits if commit.version > version]


def newest_commits(session: Session, name: str, count: int = FIRST_LOOK) -> list[Commit]:
    """Return so many commits of a Delta table, newest first, from its log."""
    logged = _logged(session, name, -1, count)
    if logged is not None:
        return logged
    rows = session.rows(f"DESCRIBE HISTORY {relation_name(name)} LIMIT {count}")
    return [_commit(row) for row in rows]


def commit_notes(session: Session, name: str, count: int) -> list[tuple[int, dict[str, Any]]]:
    """Return the versions of so many commits, newest first, with the note of each."""
    logged = session.can.commits(name, -1, count)
    if logged is not None:
        return [(one.version, note_of_ours(one.info.get("userMetadata"))) for one in logged]
    rows = session.rows(f"DESCRIBE HISTORY {relation_name(name)} LIMIT {count:d}")
    return [(int(row[0]), note_of_ours(row[13])) for row in rows]


def _logged(session: Session, name: str, above: int, most: int) -> list[Commit] | None:
    """Return commits from the table's log, where the session can read it."""
    logged = session.can.commits(name, above, most)
    return None if logged is None else [_of_info(one.version, one.info) for one in logged]


def landed(commits: Sequence[Commit], generation: str, n: int) -> Commit | None:
    """Return the commit that holds n of the generation: for n = 1 the creation, else the append."""
    return next((commit for commit in commits if commit.holds(generation, n)), None)


def refuse_foreign(
    name: str, commits: Sequence[Commit], generation: str, on_target_change: str
) -> bool:
    """Return whether one of ``commits`` is neither ours nor harmless, but accepted.

    Raises TargetChanged for the newest such where they are not accepted. Commits before the
    creation of this generation belonged to another table. The version to go back to is named where
    no run of ours is above it: going back behind one would lose its rows.
    """
    foreign, ours_above = _foreign(commits, generation)
    if not foreign or on_target_change == "accept":
        return bool(foreign)
    before = f" else restore version {foreign[-1].version - 1} and accept that,"
    raise TargetChanged(
        f"{name} was written by somebody else: {foreign[0].operation} is its version"
        f" {foreign[0].version}",
        hint="if that was meant, set on_target_change: accept (answers deleted stay deleted,"
        f" none comes back);{'' if ours_above else before} or run with --full-refresh",
    )


def written_by_others(commits: Sequence[Commit], generation: str) -> bool:
    """Return whether one of ``commits`` is neither ours nor harmless (``refuse_foreign``)."""
    return bool(_foreign(commits, generation)[0])


def _foreign(commits: Sequence[Commit], generation: str) -> tuple[list[Commit], bool]:
    """Return the newest foreign commits in a row, and whether one of ours is above them."""
    foreign: list[Commit] = []
    ours_above = False
    for commit in commits:
        ours = commit.generation == generation and commit.n is not None
        if commit.holds(generation, 1) or (ours and foreign):
            break
        if ours:
            ours_above = True
        elif not commit.harmless:
            foreign.append(commit)
    return foreign, ours_above


def before_foreign(commits: Sequence[Commit], generation: str) -> tuple[int, ...]:
    """Return the versions before foreign commits among ``commits`` (newest first).

    One for each group: the commits between two runs of ours are one group.
    """
    found: list[int] = []
    again = False
    for commit in reversed(commits):
        if commit.holds(generation, 1):
            found, again = [], False  # what lies before it was another table's life
        elif commit.generation == generation and commit.n is not None:
            again = False
        elif not commit.harmless and not again:
            found.append(commit.version - 1)
            again = True
    return tuple(found)


def metadata(generation: str, n: int, run_id: str, more: Mapping[str, object]) -> str:
    """Return the note of a commit of ours."""
    return json.dumps({"tapestry": {"generation": generation, "n": n, "run_id": run_id, **more}})


def transaction(key: str, number: int, said: str = "", **more: str) -> Sql:
    """Return the options of an INSERT that lands once under (key, number), however often executed.

    said
        The note of its commit (`metadata`); "" for none.
    more
        Further options.
    """
    options = {"txnAppId": key, "txnVersion": str(number)}
    if said:
        options["userMetadata"] = said
    return Sql(f"WITH ({properties({**options, **more})})")


def _commit(row: tuple[Any, ...]) -> Commit:
    """Return the commit in a row of DESCRIBE HISTORY."""
    return _of_info(
        int(row[0]),
        {
            "operation": row[4],
            "operationParameters": row[5],
            "operationMetrics": row[12],
            "userMetadata": row[13],
        },
    )


def _of_info(version: int, info: Mapping[str, Any]) -> Commit:
    """Return the commit described by Delta's ``commitInfo``."""
    operation, metrics = str(info.get("operation")), as_map(info.get("operationMetrics"))
    note = info.get("userMetadata")
    ours = note_of_ours(note) if note else {}
    generation, n = ours.get("generation"), ours.get("n")
    kind = BY_BATCH if ours.get("batch") else ""
    if operation in CREATIONS:
        properties = properties_of(info.get("operationParameters"))
        generation, n = properties.get(GENERATION_PROPERTY), 1
        kind = str(properties.get(KIND_PROPERTY, ""))
    return Commit(
        version=version,
        operation=operation,
        generation=generation,
        n=n if type(n) is int else None,
        run_id=ours.get("run_id"),
        written=Written(
            _count(metrics, "numOutputRows"),
            _count(metrics, "numFiles"),
            _count(metrics, "numOutputBytes"),
        ),
        failed=bool(ours.get("failed")),
        attempt=str(ours.get("attempt", "")),
        successor=str(ours.get("successor", "")),
        note=ours,
        predicate=_predicate(operation, info.get("operationParameters")),
        kind=kind,
    )


def properties_of(parameters: Any) -> dict[str, Any]:
    """Return the table properties among the parameters of a creation in the history."""
    return as_map(as_map(parameters).get("properties"))


def _predicate(operation: str, parameters: Any) -> str:
    """Return the condition of a DELETE, '' for any other operation."""
    return str(as_map(parameters).get("predicate", "")) if operation == "DELETE" else ""


def _count(metrics: Mapping[str, Any], name: str) -> int | None:
    return None if metrics.get(name) is None else int(metrics[name])
