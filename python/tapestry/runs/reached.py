"""How far a continuous model has run, told from its table and the state alone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from tapestry.runs.session import Session
from tapestry.runs.state import StateRow
from tapestry.runs.target import commits_after, landed, look


def reached(
    session: Session, relation: str, states: Mapping[str, StateRow] | None
) -> datetime | None:
    """The end of the newest window that a model's table holds; None where it has not run yet.

    ``states`` is `read_states`. A run that was claimed and has not landed does not count, nor does
    one whose checks failed: the next run goes on from before it.
    """
    target = look(session, relation)
    row = None if target is None else (states or {}).get(target.generation or "")
    if row is None:
        return None
    if row.n == 1:
        return row.t  # the statement that made the generation is its first run
    commits = commits_after(session, relation, row.target_version)
    commit = landed(commits, row.generation, row.n)
    there = row.failed_at is None and commit is not None and not commit.failed
    return row.t if there else row.tau
