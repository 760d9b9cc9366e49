"""The new answers of an arm that is evaluated at instants: aggregates, sections 3, 4 and 6."""

from __future__ import annotations

from sqlglot import exp

from tapestry.names import KEY, MATCHED_AT
from tapestry.sql.arms import AtInstants, Lifted
from tapestry.sql.branches.place import Rendered, RenderPlace
from tapestry.sql.facts import keys
from tapestry.sql.lift.cases import AT, ROWS_KEY
from tapestry.sql.lift.lift import Lift
from tapestry.sql.lifted.events import Ctes, Events
from tapestry.sql.lifted.instants import Instants
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
    ctes = (*events.ctes(), (rows, build.with_names(lifted, [*place.listed, *extra])))
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


# -- what it costs --------------------------------------------------------------------------------
WORK = "row_instants"


def measure(events: Events) -> tuple[exp.Select, Ctes]:
    """A SELECT of key and row-instants, the most first, and its CTEs; no key: NULLs.

    Row-instants are Σ events(κ) × rows(κ), counted before it runs. The rows of a key are those of
    the uses that it covers, at each event of the key; the rows of the others are looked at at every
    instant.
    """
    selects = [*_covered(events), *_others(events)]
    work = exp.Sum(this=exp.column("n", table="_w"))
    keys = [
        exp.alias_(exp.cast(one, "string"), f"_k{n}")
        for n, one in enumerate(events.columns("_w"), start=1)
    ]
    query = build.select([*keys, exp.alias_(exp.cast(work, "double"), WORK)])
    build.add_from(query, build.subquery(build.union_all(selects), "_w"))
    if keys:
        query.set("group", exp.Group(expressions=[one.copy() for one in events.columns("_w")]))
    return query, events.ctes()


def _covered(events: Events) -> list[exp.Query]:
    if not events.arm.keys:
        return []
    counted = build.select([*events.columns("_e"), _count("n")])
    build.add_from(counted, events.of("_e"))
    counted.set("group", exp.Group(expressions=events.columns("_e")))
    selects: list[exp.Query] = []
    for table in events.arm.tables:
        if table.alias not in events.arm.keys:
            continue
        keyed = build.select(events.key_of(table.alias, table.alias))
        build.add_from(keyed, build.table(events.reads[table.source], table.alias))
        rows = build.select([*events.columns("_u"), _count("n")])
        build.add_from(rows, build.subquery(keyed, "_u"))
        rows.set("group", exp.Group(expressions=events.columns("_u")))
        query = build.select([*events.columns("_c"), _product("_c", "_r")])
        build.add_from(query, build.subquery(counted.copy(), "_c"))
        same = build.same(events.columns("_c"), events.columns("_r"))
        build.add_from(query, build.subquery(rows, "_r"))
        selects.append(build.add_where(query, same))
    return selects


def _others(events: Events) -> list[exp.Query]:
    selects: list[exp.Query] = []
    for table in events.arm.tables:
        if table.alias in events.arm.keys:
            continue
        instants = build.add_from(build.select([_count("n")]), events.instants("_i"))
        rows = build.select([_count("n")])
        build.add_from(rows, build.table(events.reads[table.source], table.alias))
        nothing: list[exp.Expr] = [exp.alias_(exp.null(), one.name) for one in events.columns("_c")]
        query = build.select([*nothing, _product("_c", "_r")])
        build.add_from(query, build.subquery(instants, "_c"))
        selects.append(build.add_from(query, build.subquery(rows, "_r")))
    return selects


def _count(name: str) -> exp.Expr:
    return exp.alias_(exp.Count(this=exp.Star(), big_int=True), name)


def _product(left: str, right: str) -> exp.Expr:
    """Return a product as DOUBLE: that of two counts may exceed every integer type."""
    one = exp.cast(exp.column("n", table=left), "double")
    return exp.alias_(exp.Mul(this=one, expression=exp.column("n", table=right)), "n")
