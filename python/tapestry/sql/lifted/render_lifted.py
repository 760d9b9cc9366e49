"""The new answers of an arm that is evaluated at instants: aggregates, sections 3, 4 and 6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from tapestry.names import KEY, MATCHED_AT
from tapestry.sql.branches.frame import Frame
from tapestry.sql.facts import keys
from tapestry.sql.facts.identifiers import identifier
from tapestry.sql.ir import Lifted
from tapestry.sql.lift.cases import AT, ROWS_KEY
from tapestry.sql.lift.lift import Lift
from tapestry.sql.lifted.events import Ctes, Events
from tapestry.sql.lifted.instants import Instants
from tapestry.sql.lifted.measure import measure
from tapestry.sql.write import build

KNOWN_CTE = "known"


@dataclass(frozen=True)
class LiftedPlace:
    """Where an arm is rendered: over which window, from which reads; ``prefix`` names its CTEs.

    ``audited``: by its place, an audit column over the values ``_n`` of an answer. ``at_begin``:
    what was an answer at the begin is no new one. ``remembers``: running states are at hand.
    ``uses`` as in ``Reads``.
    """

    columns: tuple[str, ...]
    frame: Frame
    reads: Mapping[str, str]
    prefix: str
    begin: exp.Expr | None
    keyed: bool
    audited: Mapping[int, exp.Expr]
    at_begin: bool = False
    remembers: bool = False
    uses: Mapping[str, str] = field(default_factory=dict)

    @property
    def listed(self) -> tuple[str, ...]:
        """The columns of the select list."""
        return self.columns[:-1] if self.keyed else self.columns


def measured(arm: Lifted, place: LiftedPlace) -> tuple[exp.Select, Ctes]:
    """A SELECT of the row-instants of each key that the evaluation looks at (``measure``)."""
    return measure(_events(arm, place))


def _events(arm: Lifted, place: LiftedPlace) -> Events:
    return Events(arm, place.frame, place.reads, place.prefix, place.begin, place.at_begin)


def render_lifted(
    arm: Lifted, place: LiftedPlace
) -> tuple[exp.Select, list[tuple[str, exp.Query]]]:
    """The select of the new answers with ``_matched_at``, and its CTEs.

    Values are new iff they are not among the known answers; rows of FROM, which no table keeps,
    iff the first of all instants since the begin of time lies in the window.
    """
    rows = f"{place.prefix}_rows"
    events = _events(arm, place)
    lift = Lift(arm.tree, arm.tables, place.reads, Instants(events), arm.by_rows)
    lifted = lift.rows(arm.tree, keyed=arm.by_rows)
    extra = [AT, ROWS_KEY] if arm.by_rows else [AT]
    ctes = [*events.ctes(), (rows, _named(lifted, [*place.listed, *extra]))]
    return new_answers(arm, place, rows), ctes


def new_answers(arm: Lifted, place: LiftedPlace, rows: str) -> exp.Select:
    """The select of the new answers among ``rows``, a CTE of answers and instants at which each
    holds."""
    frame, listed, new = place.frame, place.listed, "_n"
    data = [n for i, n in enumerate(listed) if i not in place.audited and i not in arm.audit]
    at = exp.column(AT, table=new)
    first = exp.Min(this=at.copy())
    items: list[exp.Expr] = []
    for number, name in enumerate(listed):
        value: exp.Expr = build.column(name, new)
        if number in arm.audit:
            value = build.named(exp.ArgMin(this=value, expression=at.copy()), name)
        items.append(place.audited.get(number, value))
    grouped: list[exp.Expr] = [build.column(name, new) for name in data]
    if arm.by_rows:
        grouped.append(exp.column(ROWS_KEY, table=new))
    if place.keyed:
        items.append(exp.alias_(_key(arm, new), KEY))
    items.append(exp.alias_(first.copy(), MATCHED_AT))
    select = build.add_from(build.select(items), build.table(rows, new))
    if frame.tau is not None and not arm.by_rows:
        same = build.same(
            [build.column(name, "_k") for name in data], [build.column(name, new) for name in data]
        )
        inner = build.add_from(build.select_one(), build.table(KNOWN_CTE, "_k"))
        exists = exp.Exists(this=build.add_where(inner, same))
        build.add_where(select, [exp.Not(this=exists)])
    if grouped:
        select.set("group", exp.Group(expressions=grouped))
    if frame.tau is not None and (arm.by_rows or place.at_begin):
        having = exp.GT(this=first.copy(), expression=frame.tau.copy())
        select.set("having", exp.Having(this=having))
    return select


def _key(arm: Lifted, alias: str) -> exp.Expr:
    if not arm.by_rows:
        return keys.of_arm(arm.arm, ())
    written = exp.column(ROWS_KEY, table=alias)
    if arm.arm == 1:
        return exp.Min(this=written)
    tail = exp.Anonymous(this="SUBSTR", expressions=[written, exp.Literal.number(2)])
    number = exp.Literal.string(str(arm.arm))
    return exp.Min(this=exp.DPipe(this=number, expression=tail, safe=True))


def _named(query: exp.Query, names: Sequence[str]) -> exp.Query:
    """The query with these names for its columns."""
    columns = [identifier(name) for name in names]
    alias = exp.TableAlias(this=exp.to_identifier("_q"), columns=columns)
    listed = [build.column(name, "_q") for name in names]
    return build.add_from(build.select(listed), exp.Subquery(this=query, alias=alias))
