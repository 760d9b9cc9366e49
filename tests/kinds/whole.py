"""The kind `whole`: Q(t) in the place of what was there, in one commit. It shows what a kind needs.

    class Whole  ->  a line in ``registry.KINDS`` and a materialization of three lines

All else is that of every kind: claims, staging, expectations, rejected rows, the log, the report,
``--full-refresh``, and what becomes of a run that is killed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from tapestry.errors import NotRunYet, SourceHistoryGone
from tapestry.quoting import Sql, relation_name
from tapestry.runs.checks.checks import FAIL, PASS, CheckResult
from tapestry.runs.checks.new_rows import NewRows
from tapestry.runs.checks.verification import VERIFICATION, Audited
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.expectations.validate import Expected, prepare
from tapestry.runs.model.keys import KindKeys
from tapestry.runs.model.model import COMMON, Model
from tapestry.runs.protocol.claiming import closing, first_row, following_row
from tapestry.runs.protocol.kind import Explained
from tapestry.runs.protocol.plan import CloseRun, Nothing, Plan, Planned, Proof
from tapestry.runs.protocol.standing import Standing, stand
from tapestry.runs.protocol.writing import Creation, Overwriting
from tapestry.runs.query.relations import read_relations
from tapestry.runs.sources.earlier_pins import AsRead
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.state_row import Position, StateRow
from tapestry.sql import Catalog, Step, relation_names, static_answer

_KEYS = (
    *("expectations", "verify", "on_verify_failure", "on_target_change"),
    *("deterministic_functions", "every", "priority"),
)


@dataclass(frozen=True)
class _Answer:
    """Q(t) over pinned tables, as SQL."""

    sql: str
    columns: tuple[str, ...]
    pins: Mapping[str, Pin]


class Whole:
    """Plans a run that computes the whole answer, whenever something that it reads has changed."""

    own_columns: ClassVar[Mapping[str, Sql]] = {}
    arrival: ClassVar[str | None] = None
    keys: ClassVar[KindKeys] = KindKeys(tuple(COMMON[name] for name in _KEYS))

    def plan(
        self, session: Session, model: Model, invocation: Invocation, full_refresh: bool
    ) -> Plan:
        """Decide; writes nothing."""
        standing = stand(session, model, invocation, full_refresh)
        last, t = standing.row, invocation.clock.instant
        if last is None:
            first = first_row(model, standing, Position(t, {}, model.sql))
            return self._written(session, invocation, standing, model, first)
        if standing.closing:
            return CloseRun(model, last)
        if standing.crashed:
            try:
                return self._written(session, invocation, standing, model, last)
            except SourceHistoryGone:
                return CloseRun(model, last)
        after = Position(max(t, last.after.t), {}, model.sql)
        row = following_row(model, last, standing, after)
        planned = self._written(session, invocation, standing, model, row)
        same = planned.row.after.pins == last.after.pins and model.sql == last.after.canonical
        timeless = "now()" not in model.sql or t <= last.after.t
        return Nothing(model, last.after.t) if same and timeless else planned

    def refuse(self, model: Model, catalog: Catalog) -> None:
        """Any query that can be read is one of this kind."""
        relation_names(model.sql)

    def explain(
        self, session: Session, model: Model, invocation: Invocation, stored: bool
    ) -> Explained:
        """One step: Q(t)."""
        now = Position(invocation.clock.instant, {}, model.sql)
        row = first_row(model, Standing(None, None), now)
        answer = _answer(session, model, invocation, row)
        return Explained((Step("answer", "the query at the instant of the run", answer.sql),))

    def audit(
        self, session: Session, model: Model, invocation: Invocation, level: str, turn_number: int
    ) -> Audited:
        """Compare the table with the query over what its newest run read."""
        row = stand(session, model, invocation, False).row
        if row is None:
            raise NotRunYet(f"{model.name} has not run yet")
        again = _Again(_answer(session, model, invocation, row).sql)
        return Audited(
            row.after.t, row.n, again.verify(session, model, relation_name(model.relation))
        )

    def _written(
        self,
        session: Session,
        invocation: Invocation,
        standing: Standing,
        model: Model,
        row: StateRow,
    ) -> Planned:
        answer = _answer(session, model, invocation, row)
        row = replace(row, after=replace(row.after, pins=answer.pins))
        state = invocation.state_table
        of = Expected(f"{answer.sql} LIMIT 0", model.name, answer.columns, model.file)
        first = Creation(model, row.generation, standing.target is not None, state)
        return Planned(
            row,
            NewRows(
                model,
                row.identity,
                answer.sql,
                selected=answer.columns,
                columns=answer.columns,
                expected=prepare(session, model.config.expectations, of),
                creates=row.n == 1,
            ),
            first if row.n == 1 else Overwriting(row, answer.columns),
            state,
            proof=Proof(verification=None if model.config.verify == "off" else _Again(answer.sql)),
            ready=closing(session, standing, row) if row.n == 1 else (),
            circumstances=standing.circumstances,
        )


@dataclass(frozen=True)
class _Again:
    """The answer, computed once more."""

    answer: str

    def verify(self, session: Session, model: Model, staged: str) -> list[CheckResult]:
        """Compare the staged rows with it, as bags."""
        columns = ", ".join(f"`{name}`" for name, _ in _described(session, self.answer))
        sides = [f"SELECT {columns} FROM {staged}", f"SELECT * FROM ({self.answer})"]
        found = []
        for kind, (one, other) in zip(VERIFICATION, (sides[::-1], sides), strict=True):
            ((n,),) = session.rows(f"SELECT count(*) FROM ({one} EXCEPT ALL {other})")
            status = FAIL if n else PASS
            rule = model.config.on_verify_failure
            found.append(CheckResult(kind, kind, rule, status, None, int(n), {}, level="full"))
        return found


def _answer(session: Session, model: Model, invocation: Invocation, row: StateRow) -> _Answer:
    pins = AsRead(invocation.pins, row.after.pins) if row.after.pins else invocation.pins
    relations = read_relations(session, row.after.canonical, model, pins, invocation.time_zone)
    sql = static_answer(row.after.canonical, relations.catalog, row.after.t, relations.scans())
    columns = tuple(name for name, _ in _described(session, sql))
    return _Answer(sql, columns, {name: one.pin for name, one in relations.tables.items()})


def _described(session: Session, sql: str) -> list[tuple[str, str]]:
    return [(str(row[0]), str(row[1])) for row in session.rows(f"DESCRIBE QUERY {sql}")]
