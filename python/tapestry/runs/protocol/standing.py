"""Finds the standing of a model: its table, its newest run in the state, whether that landed.

Semantics, sections 3 and 4: rows without state never mean that nothing has run yet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tapestry.errors import QueryChanged, StateMissing, TargetChanged
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.context.recall import KnownTarget
from tapestry.runs.engine.errors_of_delta import files_gone
from tapestry.runs.engine.glance import Glance
from tapestry.runs.engine.instants import show
from tapestry.runs.engine.odd_rows import OddRow
from tapestry.runs.engine.own_tables import forget_gone
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.plan import Circumstances
from tapestry.runs.query.relations import plain
from tapestry.runs.tables.noted_runs import brought_up
from tapestry.runs.tables.state import readable, runs_of
from tapestry.runs.tables.state_row import FORMAT, KEY, StateRow
from tapestry.runs.tables.target import (
    CLOSED,
    EMPTY_GENERATION,
    Commit,
    commits_after,
    folder_gone,
    landed,
    look,
    newest_commits,
    refuse_foreign,
)

ADOPT = "`tapestry adopt` compares it and takes it over; --full-refresh builds it again"


@dataclass(frozen=True)
class Standing:
    """A model's table and its newest run.

    row
        None: the table is to be created.
    crashed
        The newest run was claimed but has not landed: it is executed again.
    closing
        The newest run's checks failed, but its n is not closed yet: that comes first.
    attempt
        Which execution of the newest run landed ("": one without rejected rows); None: unknown.
    unnamed
        The table was rewound to ``row``, but still bears the name of the generation before.
    complete_history
        The target's log tells of every commit since the newest run was claimed.
    version
        The target's newest version; -1 where there is none.
    accepted
        Somebody else wrote to the table, and that is accepted: the next run's claim is to stand
        above it, or the same question would be asked again.
    warm
        Remembered: another process may have claimed a run since, and not have committed it.
    """

    target: Glance | None
    row: StateRow | None
    crashed: bool = False
    complete_history: bool = True
    version: int = -1
    warm: bool = False
    closing: bool = False
    attempt: str | None = None
    unnamed: bool = False
    accepted: bool = False

    @property
    def circumstances(self) -> Circumstances:
        """The circumstances of its next run."""
        row = self.row
        last = None if row is None or row.written.form < FORMAT else row.sql
        return Circumstances(self.crashed, self.complete_history, self.warm, self.attempt, last)


def stand(session: Session, model: Model, invocation: Invocation, refresh: bool) -> Standing:
    """Return the standing by the target and the state.

    Raises StateMissing for a table that no state belongs to, TargetChanged where somebody else
    wrote to it, or deleted its folder, QueryChanged for a table of a model of another kind.
    """
    target = _target(session, model, refresh)
    if target is None:
        return Standing(None, None)
    if refresh or target.generation == EMPTY_GENERATION:
        commits = commits_after(session, model.relation, -1)
        return Standing(target, None, version=commits[0].version if commits else -1)
    if target.generation is not None:
        _refuse_other_kind(model, target.kind)
    known = invocation.recall.known(target)
    if known is not None:
        return Standing(target, known.row, version=known.version, warm=True)
    row, commits = _newest_run(session, model, invocation, target)
    version = commits[0].version if commits else row.target.version
    closed = landed(commits, row.generation, CLOSED)
    if closed is not None and not closed.successor:
        return Standing(target, None, version=version)  # a refresh was killed: repeat it
    if closed is not None:
        # A rewind was killed before it gave the table the name of its new generation.
        target = replace(target, generation=closed.successor)
        invocation.forget(model.relation)  # the state may have been read before that
        row, commits = _newest_run(session, model, invocation, target)
    _refuse_copy(model, row, target, commits)
    _refuse_older_state(model, row, commits)
    _refuse_older_table(session, row, commits)
    rule = model.config.on_target_change
    accepted = refuse_foreign(model.relation, commits, row.generation, rule)
    complete = not commits or commits[-1].version == row.target.version + 1
    commit = landed(commits, row.generation, row.n)
    _refuse_unlike(session, row, commit, invocation.state_table)
    attempt = None if commit is None else commit.attempt
    if commit is not None and commit.failed:
        return Standing(target, row.undone, version=version, attempt="")
    if row.failed_at is not None and commit is None:
        # Marked, and no commit of n: it was closed long ago, or killed just before it was closed.
        return Standing(target, row if complete else row.undone, version=version, closing=complete)
    here = row.n == 1 or commit is not None or (row.recorded and not complete)
    if here and closed is None and not accepted:
        invocation.recall.note(KnownTarget(target, row, version))
    found = Standing(target, row, not here, complete, version, attempt=attempt)
    return replace(found, unnamed=closed is not None, accepted=accepted)


def _target(session: Session, model: Model, refresh: bool) -> Glance | None:
    try:
        return look(session, model.relation)
    except Exception as error:
        if not files_gone(error):
            raise
        if not refresh:
            raise folder_gone(model.relation, model.file) from error
    forget_gone(session, model.relation)
    return None


def _newest_run(
    session: Session, model: Model, invocation: Invocation, target: Glance
) -> tuple[StateRow, list[Commit]]:
    """Return the newest run by the state and the table's log, and the commits after its plan.

    Runs that have landed without a claim, and whose process was killed before it recorded them,
    are recorded.
    """
    row = _state_of(session, model, invocation, target)
    commits = commits_after(session, model.relation, row.target.version)
    found = brought_up(session, invocation.state_table, row, commits)
    if found.taken:
        raise found.untold
    if not found.lacking:
        return row, commits
    for lacking in found.lacking:
        invocation.states.landed(lacking)
    invocation.states.record(session, ends=False)
    # As it was recorded: its number may have been claimed after this invocation read the state.
    row = _state_of(session, model, invocation, target)
    return row, [one for one in commits if one.version > row.target.version]


def _state_of(session: Session, model: Model, invocation: Invocation, target: Glance) -> StateRow:
    name = model.relation
    if target.generation is None:
        raise StateMissing(
            f"{name} is a table that no run of this model made",
            where=model.file,
            hint=ADOPT,
        )
    row = invocation.states.of(session, target.generation)
    if row is None:
        raise StateMissing(
            f"{invocation.state_table} knows nothing of {name}; it belongs to the table",
            where=model.file,
            hint="bring the state table back (restore it, or copy it along with its models);"
            f" {ADOPT}",
        )
    _refuse_other_kind(model, row.kind)
    if row.model != plain(name):
        raise StateMissing(
            f"{name} is a copy of {row.model}, or {row.model} under another name",
            where=model.file,
            hint=f"rename it back, or give it a run of its own: {ADOPT}",
        )
    return row


def _refuse_other_kind(model: Model, kind: str) -> None:
    """Refuse a table of another kind: one appends rows where the other writes them anew."""
    if kind != model.materialized:
        raise QueryChanged(
            f"{model.name} is {model.materialized} now, and {model.relation} was made by a model"
            f" that was {kind}",
            where=model.file,
            hint=f"write materialized='{kind}' again, or build the table anew: --full-refresh",
        )


def _refuse_copy(model: Model, row: StateRow, target: Glance, commits: list[Commit]) -> None:
    """Refuse a table cloned back under its name: it has another id, or another log."""
    other_id = row.n > 1 and row.target.table_id != target.table_id
    # The id of the first run is not known before its commit: only this commit names it.
    reaches_back = bool(commits) and commits[-1].version == row.target.version + 1
    other_log = row.n == 1 and reaches_back and landed(commits, row.generation, 1) is None
    if other_id or other_log:
        raise StateMissing(
            f"{model.relation} is not the table that its runs made but a copy of it",
            where=model.file,
            hint=ADOPT,
        )


def _refuse_unlike(
    session: Session, row: StateRow, commit: Commit | None, state_table: str
) -> None:
    """Compare a row without a seal with other records of its run.

    Else a row whose t somebody changed, or one that somebody made from another, would let the next
    run answer again what has been answered.
    """
    if row.sealed:
        return
    reason = ""
    if commit is not None and not commit.failed:
        if commit.until and commit.until != show(row.after.t):
            reason = f"t is {show(row.after.t)}, its commit in the table says {commit.until}"
    elif commit is None and row.n > 1:
        runs = [run for run in runs_of(session, state_table, row.generation) if run.n < row.n]
        last = runs[-1] if runs else None
        if last is None or last.n != row.n - 1 or row.since not in (last.after.t, last.since):
            reason = "it goes on from no run that is known"
    if reason:
        readable(OddRow(state_table, tuple((name, getattr(row, name)) for name in KEY), reason))


def _refuse_older_table(session: Session, row: StateRow, commits: list[Commit]) -> None:
    """Refuse a table that is older than the plan of its newest run: it lacks earlier ones, too."""
    newest = [] if commits or row.n == 1 else newest_commits(session, row.model, 1)
    if newest and newest[0].version < row.target.version:
        raise TargetChanged(
            f"{row.model} is at version {newest[0].version}, and run {row.n} went on from version"
            f" {row.target.version}: its files are older than its state",
            hint="bring its newest files back (were they restored from a backup?), or run with"
            " --full-refresh",
        )


def _refuse_older_state(model: Model, row: StateRow, commits: list[Commit]) -> None:
    ahead = [c.n or 0 for c in commits if c.generation == row.generation and (c.n or 0) > row.n]
    if ahead:
        raise StateMissing(
            f"the state of {model.relation} stops at run {row.n}, its table has run {max(ahead)}",
            where=model.file,
            hint="bring the state table back to its newest version (was it restored to an older"
            " one?), or run with --full-refresh",
        )
