"""Refuses a changed rule, or one that looks at another table than its last run."""

from __future__ import annotations

from typing import Final

from tapestry.errors import ChangesGone, QueryChanged
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule.evaluate import Evaluated
from tapestry.runs.kinds.rule.triggers import RuleText
from tapestry.runs.sources.pins import log_goes_on
from tapestry.runs.tables.bound_rows import ADDED_BY_US, BOUND
from tapestry.runs.tables.kept import GENERATION, NUMBER, kept_name
from tapestry.runs.tables.state_row import StateRow

CONTINUE: Final = "continue"
_NOT_BOUND = frozenset({*ADDED_BY_US, GENERATION, NUMBER})


def refuse_other_table(session: Session, rule: RuleText, row: StateRow) -> None:
    """Raise ChangesGone where the table is not the one that the last run has looked at.

    A table that was replaced has another id in the same log: its commits go on.
    """
    pin, table = row.after.pins.get(rule.name), rule.table
    if pin is None or pin.table_id != table.pin.table_id:
        earlier = pin is not None and rule.log is None and pin.version < table.pin.version
        if pin is not None and earlier and log_goes_on(session, table.table, pin):
            return
        raise ChangesGone(
            f"{rule.name} is another table than the one that {rule.model.name} has looked at",
            where=rule.model.file,
            hint="--full-refresh of the rule begins with the new one; what its actions have not"
            " done yet is dropped",
        )


def refuse_other_query(rule: RuleText, row: StateRow) -> None:
    """Raise QueryChanged for a changed rule that may not go on."""
    goes_on = rule.config.on_query_change == CONTINUE
    if row.after.canonical != rule.canonical and not goes_on:
        raise QueryChanged(
            f"{rule.model.name} is another rule than the one whose firings wait in its table",
            where=rule.model.file,
            hint="on_query_change: continue goes on with the new one; --full-refresh of the"
            " rule begins anew, and drops what its actions have not done yet",
        )


def refuse_other_columns(session: Session, rule: RuleText, row: StateRow, found: Evaluated) -> None:
    """Raise QueryChanged where the rule binds other columns than the last run.

    The same text may do so, too: `select *` over a table with a new column.
    """
    pin = row.after.pins.get(rule.name)
    after = "" if pin is None else f" with begin: {pin.version + 1}"
    names = [str(name) for name in row.after.own.get(BOUND, ())]
    for place, name in enumerate(names):
        table = kept_name(rule.model.relation, f"__{name}") if place else rule.model.relation
        there = {one.lower() for one, _ in columns_of_table(session, table)}
        now = {one.lower() for one, _ in found.columns.get(name, ())}
        if names == list(found.columns) and now == there - _NOT_BOUND:
            continue
        raise QueryChanged(
            f"{rule.model.name} binds other tables or columns than those that wait in its table"
            f" ({name})",
            where=rule.model.file,
            hint="let its actions do what waits, each by itself (dbt run -s …); then --full-refresh"
            f" of the rule{after}: it goes on from there",
        )
