"""Answers that somebody deleted from a target with the author's consent: they stay known.

Where new answers are told from known ones by their values, the table itself holds the known ones
(aggregates, section 6). Deleted answers are kept as hashes in ``<target>__known``: the first run
above the deletion looks for them in the table's history. It looks at what lies between the claim of
the last run that landed and its own claim, whoever executes it, and however often; what is deleted
after its claim is left to the next run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tapestry.errors import TargetChanged
from tapestry.names import MATCHED_AT
from tapestry.quoting import identifier, identifiers, relation_name, timestamp
from tapestry.runs.engine.column_types import columns_of_query
from tapestry.runs.engine.errors_of_delta import history_gone
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.begins import begins
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.known.value_hash import value_hash
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.kinds.continuous.schema_change import types_by_name
from tapestry.runs.kinds.continuous.window.new_answers import Known, KnownHashes
from tapestry.runs.model.model import Model
from tapestry.runs.tables.beside_target import KNOWN
from tapestry.runs.tables.kept import KeptRows
from tapestry.runs.tables.state import runs_of
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import before_foreign, commits_after
from tapestry.sql import Catalog, rewrite
from tapestry.words import counted


def find_erased(session: Session, model: Model, query: Query, row: StateRow, state: str) -> Known:
    """Find the values that the target lost since the last landed run; ``state`` is its table.

    Raises TargetChanged where the history of the target no longer says which they were.
    """
    runs = runs_of(session, state, row.generation)
    last = [run for run in runs if run.n < row.n and run.failed_at is None][-1]
    row = replace(row, beside=last.beside)
    select, number = lost_values(session, model, query.rewriting.values, row, last)
    if not number:
        return Known(row)
    name = KNOWN.table_of(row.model)
    told = f"{counted(number, 'answer')} deleted from its table"
    warning = f"{told}, {name} keeps hashes of them: none of them comes again"
    needed = dict.fromkeys([*row.beside, KNOWN.suffix])
    rows = (KeptRows(KNOWN, select),)
    return Known(replace(row, beside=tuple(needed)), rows=rows, warnings=(warning,))


def known_hashes(session: Session, query: Query, erased: Known, begin: bool) -> KnownHashes | None:
    """Return the answers in ``<target>__known`` once a run has written there.

    ``begin``: those after the begin of its query.

    Raises StateMissing where that table is gone.
    """
    row = erased.row
    if not erased.rows and not KNOWN.find(session, row):
        return None
    types = types_by_name(session, row.model)
    columns = query.rewriting.values
    if any(column.lower() not in types for column in columns):
        return None  # grown by another query: none of its rows had such values
    relation = KNOWN.in_force(row, own=True)
    if begin:
        began = begins(row).begin
        assert began is not None
        after = timestamp(began)
        relation = f"(SELECT hash FROM {relation} WHERE matched_at > {after})"
    return KnownHashes(relation, value_hash(columns, types, KnownHashes.alias))


def lost_values(
    session: Session, model: Model, columns: Sequence[str], row: StateRow, last: StateRow
) -> tuple[str, int]:
    """Return a SELECT of the values lost between the claims of two runs, and their number.

    Raises TargetChanged where the history of the target no longer says which they were.
    """
    versions = versions_before(session, row, last)
    try:
        select = _lost(session, columns, row, versions)
        number = int(session.rows(f"SELECT count(*) FROM ({select})")[0][0]) if select else 0
    except Exception as error:
        if not history_gone(error):
            raise
        raise _forgotten(model, row, versions) from error
    return select, number


def versions_before(session: Session, row: StateRow, last: StateRow) -> tuple[int, ...]:
    """Return the target's versions before others' commits between the claims of two runs."""
    commits = commits_after(session, row.model, last.target.version)
    commits = [commit for commit in commits if commit.version <= row.target.version]
    return before_foreign(commits, last.generation)


def erased_since(
    session: Session, model: Model, catalog: Catalog, row: StateRow, last: StateRow
) -> str:
    """Return a SELECT of values lost since ``last``, the run that landed last; '': none."""
    config: ContinuousConfig = model.config.own
    if not versions_before(session, row, last):
        return ""
    rewriting = rewrite(row.after.canonical, catalog, config.assume, begins(row).begin)
    if not rewriting.asks_known:
        return ""
    select, number = lost_values(session, model, rewriting.values, row, last)
    return select if number else ""


def _lost(session: Session, columns: Sequence[str], row: StateRow, versions: Sequence[int]) -> str:
    """Return (hash, the first ``_matched_at``) of values that the target has lost; '': none.

    A version without one of the columns was grown by another query.
    """
    table, names, parts = relation_name(row.model), [*columns, MATCHED_AT], []
    types = types_by_name(session, row.model)
    for version in versions:
        before = f"SELECT * FROM {table} VERSION AS OF {int(version)}"
        there = {name.lower() for name, _ in columns_of_query(session, before)}
        if {name.lower() for name in names} <= there & set(types):
            parts.append(f"SELECT {identifiers(names)} FROM {table} VERSION AS OF {int(version)}")
    if not parts:
        return ""
    same = " AND ".join(f"_c.{identifier(name)} <=> _o.{identifier(name)}" for name in columns)
    now = f"SELECT 1 FROM {table} VERSION AS OF {row.target.version} AS _c WHERE {same}"
    return (
        f"SELECT {value_hash(columns, types, '_o')} AS hash, min({MATCHED_AT}) AS matched_at"
        f" FROM ({' UNION ALL '.join(parts)}) AS _o WHERE NOT EXISTS ({now}) GROUP BY 1"
    )


def _forgotten(model: Model, row: StateRow, versions: Sequence[int]) -> TargetChanged:
    listed = ", ".join(map(str, versions))
    return TargetChanged(
        f"answers were deleted from {row.model}, and its history no longer says which: version"
        f" {listed} cannot be read (VACUUM removes what was deleted)",
        where=model.file,
        hint="run with --full-refresh; answers that were deleted come again then, unless what they"
        " follow from is deleted from the sources, too. Next time run the model before VACUUM",
    )
