"""Finds commits of a derived table that its actions did not make."""

from __future__ import annotations

from dataclasses import replace

from tapestry.errors import TargetChanged
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import BY_BATCH, newest_commits

LOOKED_AT = 1_000
"""So many of the newest commits are looked at."""


def of_anybody(model: Model) -> Model:
    """Return the model, accepting commits of others than its runs: its actions make some."""
    return replace(model, config=replace(model.config, on_target_change="accept"))


def written_by_others(session: Session, model: Model, built: StateRow) -> str:
    """Return the newest commit since the table was built that no action made; "" for none.

    Raises TargetChanged where the author wants to stop then.
    """
    commits = newest_commits(session, model.relation, LOOKED_AT)
    found = ""
    for commit in commits:
        if commit.version <= built.target.version or commit.holds(built.generation, 1):
            break
        ours = commit.generation == built.generation and commit.n is not None
        if not (ours or commit.harmless or commit.kind == BY_BATCH):
            found = f"version {commit.version} of {model.relation} is {commit.operation}"
            break
    if found and model.config.on_target_change == "fail":
        raise TargetChanged(
            f"{found}, which none of the actions of {model.name} has done",
            where=model.file,
            hint="build the table again: --full-refresh; or on_target_change: warn, if that was"
            " meant: verify then tells whether the table is what its query says",
        )
    return found
