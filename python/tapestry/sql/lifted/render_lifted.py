"""The new answers of an arm that is evaluated at instants: aggregates, sections 3, 4 and 6."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tapestry.names import KEY, MATCHED_AT
from tapestry.sql.arms import AtInstants, Lifted
from tapestry.sql.branches.place import Rendered, RenderPlace
from tapestry.sql.facts import keys
from tapestry.sql.facts.identifiers import identifier
from tapestry.sql.lift.cases import AT, ROWS_KEY
from tapestry.sql.lift.lift import Lift
from tapestry.sql.lifted.events import Ctes, Events
from tapestry.sql.lifted.instants import Instants
from tapestry.sql.lifted.measure import measure
from tapestry.sql.write import build

KNOWN_CTE = "known"


def measured(arm: AtInstants, place: RenderPlace) -> tuple[exp.Select, Ctes]:
    """A SELECT of the row-instants of each key that the evaluation looks at (``measure``)."""
    return measure(_events(arm, place))


def _events(arm: AtInstants, place: RenderPlace) -> Events:
    return Events(
        arm, place.frame, place.reads.names, place.prefix, place.begin, place.form.at_begin
    )


def render_lifted(arm: AtInstants, place: RenderPlace) -> Rendered:
    """The select of the new answers with ``_matched_at``, and its CTEs.

    Values are new iff they are not among the known answers; rows of FROM, which no table keeps,
    iff the first of all instants since the begin of time lies in the window.
    """
    rows = f"{place.prefix}_rows"
    events = _events(arm, place)
    lift = Lift(arm.tree, arm.tables, place.reads.names, Instants(events), arm.by_rows)
    lifted = lift.rows(arm.tree, keyed=arm.by_rows)
    extra = [AT, ROWS_KEY] if arm.by_rows else [AT]
    ctes = (*events.ctes(), (rows, _named(lifted, [*place.listed, *extra])))
    return Rendered((new_answers(arm, place, rows),), ctes)


def new_answers(arm: Lifted, place: RenderPlace, rows: str) -> exp.Select:
    """The select of the new answers among ``rows``, a CTE of answers and instants at which each
    holds."""
    frame, listed, new = place.frame, place.listed, "_n"
    data = [n for i, n in enumerate(listed) if i not in arm.audit and i not in arm.clocks]
    at = exp.column(AT, table=new)
    first = exp.Min(this=at.copy())
    items: list[exp.Expr] = []
    for number, name in enumerate(listed):
        value: exp.Expr = build.column(name, new)
        if number in arm.clocks:
            value = build.named(exp.ArgMin(this=value, expression=at.copy()), name)
        if number in arm.audit:
            value = place.audited(arm.audit, number, first)
        items.append(value)
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
    if frame.tau is not None and (arm.by_rows or place.form.at_begin):
        having = exp.GT(this=first.copy(), expression=frame.tau.copy())
        select.set("having", exp.Having(this=having))
    return select


def _key(arm: Lifted, alias: str) -> exp.Expr:
    if not arm.by_rows:
        return keys.of_arm(arm.number, ())
    written = exp.column(ROWS_KEY, table=alias)
    if arm.number == 1:
        return exp.Min(this=written)
    tail = exp.Anonymous(this="SUBSTR", expressions=[written, exp.Literal.number(2)])
    number = exp.Literal.string(str(arm.number))
    return exp.Min(this=exp.DPipe(this=number, expression=tail, safe=True))


def _named(query: exp.Query, names: Sequence[str]) -> exp.Query:
    """The query with these names for its columns."""
    columns = [identifier(name) for name in names]
    alias = exp.TableAlias(this=exp.to_identifier("_q"), columns=columns)
    listed = [build.column(name, "_q") for name in names]
    return build.add_from(build.select(listed), exp.Subquery(this=query, alias=alias))
