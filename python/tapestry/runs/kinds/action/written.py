"""Notes the tables that an action writes, and those that it reads."""

from __future__ import annotations

from collections.abc import Sequence

from tapestry.instants import now_utc
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.config import config_of
from tapestry.runs.kinds.action.recompute import recompute_reads
from tapestry.runs.kinds.action.rules_read import RuleRead
from tapestry.runs.kinds.action.statement import (
    ActionStatement,
    bound_names,
    tables_read,
)
from tapestry.runs.model.model import Model
from tapestry.runs.tables.writers import (
    ANYTHING,
    BY_ACTION,
    BY_COLUMNS,
    BY_FIRING,
    Writer,
    note_writer,
)


def say_what_is_written(
    session: Session, model: Model, invocation: Invocation, rules: Sequence[RuleRead],
    parts: Sequence[ActionStatement], written: Sequence[str],
) -> None:  # fmt: skip
    """Note the tables that an action writes, by which derived tables are compared; none: nothing.

    ``parts`` are its statements; () those of a function in Python.
    """
    if not any(rule.derived for rule in rules):
        return
    config, reads = config_of(model.config.own), {ANYTHING}
    read = tables_read(model.sql, bound_names(rules)) if parts else None
    if read is not None:
        reads = set(read)
        for part in parts:
            reads |= recompute_reads(session, invocation, model, part.text, rules)
    batches = BY_ACTION if config.unique else BY_FIRING
    writer = Writer(
        model.relation, tuple(written), tuple(rule.relation for rule in rules),
        BY_COLUMNS if config.unique_on else batches, config.unique_on, tuple(sorted(reads)),
    )  # fmt: skip
    note_writer(session, invocation.state_table, writer, now_utc())
