"""Finds changes that a rule has left out because they can no longer be read.

A derived table that was built before them lacks what the actions of the rule would have done. Built
again, it holds them, and the effects of all firings up to its versions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.bound_rows import GAP, TABLE
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import generation_of


@dataclass(frozen=True)
class RuleGap:
    """A rule goes on after this version of its table, and derived tables have to be built again."""

    rule: str
    table: str
    version: int

    def __str__(self) -> str:
        return f"{self.rule} has left out changes of {self.table} up to version {self.version}"


def gap_above(
    session: Session, invocation: Invocation, rules: Iterable[str], built: StateRow
) -> RuleGap | None:
    """Find changes that a rule has left out and a derived table, by its building run, lacks."""
    for name in rules:
        generation = generation_of(session, name, "rule")
        row = None if generation is None else invocation.states.of(session, generation)
        if row is None or GAP not in row.after.own:
            continue
        found = RuleGap(name, str(row.after.own.get(TABLE, "")), int(row.after.own[GAP]))
        pin = built.after.pins.get(found.table)
        if pin is not None and pin.version < found.version:
            return found
    return None


def lacks_a_gap(
    session: Session, invocation: Invocation, rules: Iterable[str], written: Iterable[str]
) -> tuple[str, RuleGap] | None:
    """Return a derived table among the written ones that has to be built again, and why."""
    named = list(rules)
    for name in written:
        generation = generation_of(session, name, "derived")
        built = None if generation is None else invocation.states.of(session, generation)
        gap = None if built is None else gap_above(session, invocation, named, built)
        if gap is not None:
            return name, gap
    return None
