"""``<target>__memory``: running states of groups, so that a run reads no history.

Each run adds the changes of its window (``tapestry.sql.cumulative.remember``). The state row says
from which run on the rows count (``beside_target.groups_of``): that run wrote all states. A table
that somebody changed, or that lacks the rows of the last run, is not read: the run computes the
states from history and begins anew. So the kept states decide no answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tapestry.quoting import relation_name
from tapestry.runs.engine.column_types import columns_of_query, columns_of_table
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.late.scans import Examination
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.kinds.continuous.window.sources_of_run import scans_of, standing_scans_of
from tapestry.runs.model.model import Model
from tapestry.runs.tables.beside_target import GROUPS, groups_of
from tapestry.runs.tables.kept import GENERATION, NUMBER, KeptRows
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import FIRST_LOOK, Commit, newest_commits
from tapestry.sql import Window
from tapestry.sql.scan import KnownAnswers

FORM = 1
"""The form of what is kept: another one is not read."""
GROWN = 2
"""So many times the rows that it began with make the states be put together again."""


@dataclass(frozen=True)
class GroupStates:
    """The states that a run reads of its groups, and those it keeps for the next one.

    row
        The run, which says from which run on the states count.
    relation
        The states at the begin of its window; "": they are computed from history.
    """

    row: StateRow
    relation: str = ""
    rows: tuple[KeptRows, ...] = ()


def group_states(
    session: Session,
    query: Query,
    row: StateRow,
    found: Mapping[str, Examination],
    few: bool = False,
    crashed: bool = False,
) -> GroupStates:
    """Return the states of the groups of a query that keeps some.

    ``few``: the window has few rows. ``crashed``: the run is executed once more, and its row is as
    it was claimed.
    """
    entry, mine = groups_of(row), _fingerprint(query)
    began = entry[0] if entry is not None and entry[1] == mine else None
    there = GROUPS.there(session, row.model)
    commits = newest_commits(session, GROUPS.table_of(row.model)) if there else []
    intact = began is not None and began < row.n and only_runs_wrote(commits, row, began)
    if crashed and not intact and began != row.n:
        return GroupStates(row)  # what it has written, perhaps, is no longer to be trusted
    standing = standing_scans_of(found)
    columns = dict.fromkeys(query.rewriting.state_columns(standing), "")
    table, window, relation, states = (
        replace(GROUPS, columns=columns),
        Window(None, row.after.t),
        "",
        None,
    )
    if intact:
        assert began is not None
        relation = table.in_force(row, since=began, version=commits[0].version)
        window, states = Window(row.since, row.after.t), KnownAnswers("", states=relation)
    anew = began == row.n if crashed else not intact or _long(commits, row, began or 0)
    text = query.rewriting.states(window, scans_of(found), states, whole=anew, few=few)
    if not crashed:
        row = _noted(row, f"{GROUPS.suffix}:{row.n if anew else began}:{mine}")
    if anew:
        # The late rows that the run finds are not written yet: of the others it is of one shape.
        shape = query.rewriting.states(window, standing, states, whole=True)
        table = replace(table, columns=dict(columns_of_query(session, shape)))
        if there:
            _make_way(session, row, table.columns)
    return GroupStates(row, relation, (KeptRows(table, text, tidies=anew),))


def keeps_groups(model: Model, query: Query) -> bool:
    """Return whether the groups of a query are to be kept."""
    rule = model.config.memories
    if not query.rewriting.keeps_states or rule == "off":
        return False
    return rule == "on" or not query.little


def without_groups(row: StateRow) -> StateRow:
    """Return the run, after which no states count."""
    return _noted(row, "")


def _noted(row: StateRow, entry: str) -> StateRow:
    others = [one for one in row.beside if one.partition(":")[0] != GROUPS.suffix]
    return replace(row, beside=(*others, *([entry] if entry else [])))


def _fingerprint(query: Query) -> str:
    form = f"{FORM} {query.rewriting.rows_end}"
    text = f"{form}\n{query.rewriting.begin}\n{query.canonical}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def only_runs_wrote(commits: list[Commit], row: StateRow, began: int) -> bool:
    """Return whether the last landed run wrote states, and only runs have written since.

    That run has checked what was before. A run that failed, or this one before it crashed, may have
    written since: its rows do not count. A run of another generation that tidies up takes the rows
    of this one for rows of none, if that was still being made.
    """
    if began in row.failed:
        return False
    last = next(n for n in range(row.n - 1, 0, -1) if n not in row.failed)
    for commit in commits:
        if commit.generation == row.generation and commit.n == last:
            return True
        ours = commit.generation == row.generation and commit.n is not None
        tidied = commit.operation == "DELETE" and GENERATION in commit.predicate
        tidied = tidied and row.generation in commit.predicate
        if not (ours or tidied or commit.harmless):
            return False
    return False


def _long(commits: list[Commit], row: StateRow, began: int) -> bool:
    """Return whether runs have added more rows since the states were combined than there were."""
    mine = [c for c in commits if c.generation == row.generation and c.n is not None]
    whole = next((c for c in mine if c.n == began), None)
    if whole is None:
        return len(commits) == FIRST_LOOK
    added = sum(c.written.rows or 0 for c in mine if (c.n or 0) > began)
    return added > GROWN * max(whole.written.rows or 0, 1_000)


def _make_way(session: Session, row: StateRow, columns: Mapping[str, str]) -> None:
    """Drop states whose columns are those of another query."""
    name = GROUPS.table_of(row.model)
    there = [c for c in columns_of_table(session, name) if c[0] not in (GENERATION, NUMBER)]
    if [(n.lower(), k) for n, k in there] != [(n.lower(), k) for n, k in columns.items()]:
        session.run(f"DROP TABLE IF EXISTS {relation_name(name)}")
