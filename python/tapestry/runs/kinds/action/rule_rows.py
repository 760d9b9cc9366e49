"""The view ``tapestry_rules``: a row for each rule and action, with the batches between them.

The position of a rule is told by its table and the state together, waiting batches by JSON texts
and the rows of each rule: no view can compute them. So the view holds the rows as they were found
at the end of a run that has changed any of them (rules, section 7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tapestry.quoting import identifier, identifiers, relation_name, string, timestamp
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.queue import ActionQueue
from tapestry.runs.model.model import Model
from tapestry.runs.model.triggers import triggers_of
from tapestry.runs.sources.pins import Pinned
from tapestry.runs.tables.action_batch import DEAD, FAILED

NAME: Final = "tapestry_rules"
COLUMNS: Final = {
    "rule": "string",
    "action": "string",
    "position": "bigint",
    "behind": "bigint",
    "pending_batches": "bigint",
    "pending_rows": "bigint",
    "next_release": "timestamp",
    "failed": "bigint",
    "dead": "bigint",
    "looked_at": "timestamp",
}


@dataclass(frozen=True)
class RuleRow:
    """A rule and an action, with the batches that wait between them.

    position
        The version of its table up to which the rule has looked; None: it has not run yet.
    behind
        How many versions the table has had since.
    """

    rule: str
    action: str
    position: int | None = None
    behind: int | None = None
    pending_batches: int = 0
    pending_rows: int = 0
    next_release: datetime | None = None
    failed: int = 0
    dead: int = 0


def rule_rows(
    session: Session, model: Model, invocation: Invocation, queue: ActionQueue
) -> Iterator[RuleRow]:
    """Yield the rows of an action, in the order in which it names its rules."""
    read = {rule.relation: rule for rule in queue.rules}
    for name in triggers_of(model):
        if name not in read:
            yield RuleRow(name, model.relation)
            continue
        rule = read[name]
        now = invocation.pins.of(session, rule.table)
        waiting = [one for one in queue.waiting if name in one.cut]
        opened = [one.event.what for one in queue.opened if name in one.cut]
        yield RuleRow(
            name, model.relation, rule.position,
            max(0, now.pin.version - rule.position) if isinstance(now, Pinned) else None,
            len(waiting), sum(one.rows for one in waiting),
            min((one.release for one in waiting), default=None),
            opened.count(FAILED), opened.count(DEAD),
        )  # fmt: skip


def write_view(session: Session, name: str, rows: Sequence[RuleRow], looked_at: datetime) -> None:
    """Write the view with these rows."""
    listed = ", ".join(f"({', '.join(_values(row, looked_at))})" for row in rows)
    names = identifiers(COLUMNS)
    types = ", ".join(
        f"CAST({identifier(one)} AS {kind}) AS {identifier(one)}" for one, kind in COLUMNS.items()
    )
    nothing = ", ".join("NULL" for _ in COLUMNS)
    session.run(
        f"CREATE OR REPLACE VIEW {relation_name(name)}"
        " COMMENT 'tapestry: what waits between each rule and its actions' AS"
        f" SELECT {types} FROM VALUES {listed or f'({nothing})'} AS found ({names})"
        f" WHERE rule IS NOT NULL"
    )


def _values(row: RuleRow, looked_at: datetime) -> list[str]:
    counts = (row.position, row.behind, row.pending_batches, row.pending_rows)
    return [
        string(row.rule),
        string(row.action),
        *("NULL" if one is None else f"{one:d}" for one in counts),
        "NULL" if row.next_release is None else timestamp(row.next_release),
        f"{row.failed:d}",
        f"{row.dead:d}",
        timestamp(looked_at),
    ]
