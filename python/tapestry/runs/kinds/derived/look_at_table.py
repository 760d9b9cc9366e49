"""Examines a derived table that exists: whether it is complete, or has to be built again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from tapestry.errors import TargetChanged
from tapestry.runs.checks.checks import PASS, CheckResult, Findings
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.derived.build import DerivedText
from tapestry.runs.kinds.derived.check import TableCheck, drifted
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.log import Entry
from tapestry.runs.query.relations import plain
from tapestry.runs.tables.batches import batches_table
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import BY_BATCH, FOR, commit_notes, look, newest_commits
from tapestry.runs.tables.writers import writers_of, writers_table
from tapestry.sql import timing

REBUILD = "rebuild"
"""The value of `on_verify_failure` with which a table that has drifted is built again."""

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


def rules_of_writers(session: Session, invocation: Invocation, model: Model) -> list[str]:
    """Return the rules of the actions that write the table."""
    writers = writers_of(session, invocation.state_table, plain(model.relation))
    return list(dict.fromkeys(rule for one in writers for rule in one.rules))


def built_beside(session: Session, model: Model, built: StateRow) -> str:
    """Find a commit of an action that was begun for another table of this name; "": none.

    One that landed while the table was built again went with the former one, though the new one may
    not hold it; one that landed in the new one may be there twice.
    """
    commits = newest_commits(session, model.relation, LOOKED_AT)
    made = next((one.version for one in commits if one.holds(built.generation, 1)), None)
    if made is None:
        return ""
    for version, note in commit_notes(session, model.relation, LOOKED_AT):
        if version <= built.target.version:
            break
        begun_for = note.get(FOR)
        if version > made and begun_for and built.generation not in begun_for:
            return f"version {version} is of a batch that was begun before the table was built"
        if version < made and begun_for and not note.get("closed"):
            return f"version {version} is of a batch that landed while the table was built"
    return ""


def all_read(
    session: Session, model: Model, state: str, row: StateRow, text: DerivedText,
    rules: Sequence[str],
) -> str | None:  # fmt: skip
    """Identify all that the looks at a table depend on; None: on the clock too.

    These are its query, and the newest commits of the table, of its sources, its actions' batches
    and their rules. Found before a look, it is another one after anything that came meanwhile.
    """
    if timing.contains_now(text.query.tree):
        return None
    beside = (writers_table(state).name, batches_table(state).name)
    seen = [(name, look(session, name)) for name in (model.relation, *beside, *rules)]
    newest = [(name, one and (one.table_id, one.version, one.last_commit)) for name, one in seen]
    pins = sorted((name, one.pin) for name, one in text.relations.tables.items())
    return repr((row.generation, text.canonical, model.config, *newest, *pins))


def look_at_table(
    session: Session, model: Model, invocation: Invocation, row: StateRow
) -> CheckResult | None:
    """Compare a table with its query, and log the result; None: the author wants no comparison.

    Raises DerivedDrift where it differs, and that is to stop the run. A result that blocks means
    that the table is to be built again.
    """
    if model.config.verify == "off":
        return None
    turn = random.randrange(10**6)
    found = TableCheck(session, model, invocation, row, model.config.verify, turn).result()
    invocation.log.append(Entry(row.identity, Findings((found,)), found.seconds))
    if found.blocks and model.config.on_verify_failure != REBUILD:
        raise drifted(model, found.details)
    return found


def compared(found: CheckResult | None) -> bool:
    """Return whether a look has nothing more to find while nothing changes."""
    return found is None or (found.status == PASS and "not_compared" not in found.details)
