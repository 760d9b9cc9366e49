"""Find the instants at which arms that are evaluated at instants may change."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tapestry.sql.arms import Lifted, OuterArm
from tapestry.sql.branches.frame import Frame
from tapestry.sql.branches.order import Order
from tapestry.sql.facts.bounds_of_time import changes_of
from tapestry.sql.facts.keys_that_commute import find_keys
from tapestry.sql.lift.lift import Lift
from tapestry.sql.lifted.events import Events
from tapestry.sql.lifted.find_opens import find_opens
from tapestry.sql.lifted.instants import Instants
from tapestry.sql.query_state import QueryState


def find_changes(query: QueryState) -> QueryState:
    """The query, each of those arms with the bounds of its comparisons with now().

    Sound because between two neighbouring instants among arrivals, ends and these bounds every
    comparison keeps its truth, so that the whole answer stays the same (aggregates, section 3).
    """
    return query.with_arms(tuple(_found(arm, query) for arm in query.arms))


def _found(arm: OuterArm, query: QueryState) -> OuterArm:
    if not isinstance(arm, Lifted):
        return arm
    tree = arm.tree
    if arm.clocks:  # they are evaluated where an answer begins, and change none
        assert isinstance(tree, exp.Select)
        tree = tree.copy()
        kept = [item for n, item in enumerate(tree.selects) if n not in arm.clocks]
        tree.set("expressions", kept)
    changes = changes_of(tree, arm.tables, query.catalog.time_zone)
    keys = find_keys(tree, {table.alias: table for table in arm.tables})
    opens = find_opens(tree, keys, query.catalog.time_zone)
    arm = replace(arm, changes=changes, keys=keys, opens=opens)
    _lift(arm)
    return arm


def _lift(arm: Lifted) -> None:
    """Raise Refusal for what cannot be written over instants, before a run does it."""
    reads = {table.source: "source" for table in arm.tables}
    frame = Frame(None, exp.null(), Order({}, {}, frozenset(), (), "UTC"))
    events = Events(arm, frame, reads, "p", None)
    lift = Lift(arm.tree, arm.tables, reads, Instants(events), arm.by_rows)
    lift.rows(arm.tree, keyed=arm.by_rows)
