"""Checks a derived table: is it what its query gives, for the firings its actions have executed?

    at rest      the table and the actions that write it, at one moment
    versions     the versions of its sources that the table stands for then
    left out     keys of which no version tells what their rows have to be
    differences  the table beside its query, over all other keys, or a part of them

Where a comparison is impossible, the result says why: it is no failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from time import monotonic
from typing import Any

from tapestry.errors import ConfigurationError, DerivedDrift
from tapestry.quoting import Sql, identifiers
from tapestry.runs.checks.checks import ERROR, FAIL, PASS, WARN, CheckResult, why_not_asked
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.derived.at_rest import NothingToCompareError, at_rest
from tapestry.runs.kinds.derived.compare import DriftedRows, Sides
from tapestry.runs.kinds.derived.derived_query import DerivedQuery
from tapestry.runs.kinds.derived.rows_waiting import ActionRead, RowsWaiting
from tapestry.runs.kinds.derived.versions_held import (
    VersionsHeld,
    at_one_moment,
    built_versions,
    versions_done,
)
from tapestry.runs.model.model import Model
from tapestry.runs.query.holding import SMALL
from tapestry.runs.sources.contents import FLOATING
from tapestry.runs.sources.pins import log_goes_on
from tapestry.runs.tables.state_row import StateRow
from tapestry.words import counted

DRIFT = "drift"
"""The kind of the check, and its name."""


@dataclass(frozen=True)
class TableCheck:
    """One check of one table.

    built
        The run that built it.
    level
        sample or full; ``turn`` says which part a sample looks at.
    """

    session: Session
    model: Model
    invocation: Invocation
    built: StateRow
    level: str
    turn: int

    def result(self) -> CheckResult:
        """Compare the table; findings are a result, not an exception.

        Raises ConfigurationError for a `key` that the table has not.
        """
        began, rule = monotonic(), self.model.config.on_verify_failure
        status, checked, violations = PASS, 0, 0
        details: dict[str, Any] = {}
        try:
            found, unwatched = self.compared()
            checked, violations = found.looked_at, found.rows
            if violations:
                status = WARN if rule == "warn" else FAIL
                details = {"message": self.sentence(found, unwatched), **found.told}
            if unwatched:
                details["unwatched"] = unwatched
        except NothingToCompareError as error:
            details = {"not_compared": str(error)}
        except ConfigurationError:
            raise
        except Exception as error:  # a version that is read no more is no drift
            status, rule, details = ERROR, "warn", {"message": why_not_asked(error)}
        seconds = monotonic() - began
        return CheckResult(
            DRIFT, DRIFT, rule, status, checked, violations, details, seconds, self.level
        )

    def compared(self) -> tuple[DriftedRows, list[str]]:
        """Return the differences, and the changed sources that no rule looks at.

        Raises NothingToCompareError.
        """
        query = DerivedQuery(self.session, self.model, self.invocation)
        version, actions = at_rest(self.session, self.invocation, self.model.relation)
        held = self.held(query, actions)
        waiting = [self.waiting(query, one, held) for one in actions]
        for one in waiting:
            self.refuse_unmapped(one)
        gone: Sequence[str] = ()
        if query.key:
            gone = [one.keys() for one in waiting]
        table = f"SELECT * FROM {query.table} VERSION AS OF {version:d}"
        answer = query.answer(held.pins)
        sides = Sides(query.columns, query.key, answer, table, gone, self.bucket(query))
        found = sides.find_differences(self.session)
        return found, query.unwatched(self.built.after.pins, held.pins)

    def held(self, query: DerivedQuery, actions: Sequence[ActionRead]) -> VersionsHeld:
        """Find the versions that the table stands for; raises NothingToCompareError for none."""
        built = self.built.after.pins
        done = versions_done(self.session, actions, built)
        tables = {name: query.pinned(name) for name in done}
        looks = any(query.looks_at(done, action.writer.reads) for action in actions)
        held = at_one_moment(self.session, done, tables, looks)
        for name, pin in held.pins.items():
            was = built.get(name, pin)
            other = was.table_id != pin.table_id
            if other and not log_goes_on(self.session, tables[name].table, was):
                raise NothingToCompareError(
                    f"{name} is another table than the one it was built from"
                )
            if pin.version < was.version:
                raise NothingToCompareError(
                    "its sources were read at different moments when it was built, and its rules"
                    " have not looked beyond these yet"
                )
        return held

    def waiting(self, query: DerivedQuery, action: ActionRead, held: VersionsHeld) -> RowsWaiting:
        """Return the rows of an action's queue whose keys are left out."""
        versions = {rule.relation: held.pins[rule.table].version for rule in action.rules}
        built = built_versions(action, self.built.after.pins)
        looks = query.looks_at(held.pins, action.writer.reads)
        later = held.next_commit if looks else None
        return RowsWaiting(action, query.key, built, versions, later)

    def refuse_unmapped(self, waiting: RowsWaiting) -> None:
        """Raise NothingToCompareError where it is not known which rows of the table wait."""
        bound = [one for rule in waiting.action.rules for one in rule.bound.values()]
        lacks = [one.table for one in bound if not waiting.key or not one.named(waiting.key)]
        if lacks and self.session.rows(f"SELECT 1 FROM ({waiting.select()}) LIMIT 1"):
            key = ", ".join(waiting.key)
            raise NothingToCompareError(
                f"firings wait for {waiting.action.writer.action}, and which rows they are about"
                f" is not known: {f'{lacks[0]} has no {key}' if key else 'the model has no key'}"
            )

    def bucket(self, query: DerivedQuery) -> Sql:
        """Return the condition of the part whose turn it is; "": all rows."""
        if self.level == "full" or query.now.size <= SMALL:
            return Sql("")
        parts = ceil(1 / self.model.config.verify_share)
        steady = [c.name for c in query.columns if c.type.lower() not in FLOATING]
        names = query.key or steady
        if not names:
            return Sql("")
        return Sql(f"pmod(xxhash64({identifiers(names)}), {parts:d}) = {self.turn % parts:d}")

    def sentence(self, found: DriftedRows, unwatched: Sequence[str]) -> str:
        """Return a description of the differences."""
        there, wanted = found.in_table or "no row", found.in_answer or "no row"
        said = (
            f"{counted(found.rows, 'row')} of {counted(found.looked_at, 'row')} differ, like"
            f" {found.key}: the table has {there}, the query says {wanted}"
        )
        if unwatched:
            said += f"; {', '.join(unwatched)} changed, and no rule of its actions looks there"
        return said


def drifted(model: Model, details: Mapping[str, Any]) -> DerivedDrift:
    """Return the error of a table that is not what its query gives."""
    ways = ["correct the action that writes it"]
    if details.get("unwatched"):
        ways = ["write a rule for what none looks at, and an action for it"]
    return DerivedDrift(
        f"{model.name} differs from its query, for the rows that its actions have handled:"
        f" {details.get('message', '')}",
        where=model.file,
        hint=f"{ways[0]}; then build the table again: --full-refresh."
        " on_verify_failure: warn goes on, rebuild builds it each time",
    )
