"""Measures the cost of an evaluation at instants: row-instants, Σ events(κ) × rows(κ).

Aggregates, section 4: counted before it runs. The rows of a key are those of the uses that it
covers, at each event of the key; the rows of the others are looked at at every instant.
"""

from __future__ import annotations

from sqlglot import exp

from tapestry.sql.lifted.events import Ctes, Events
from tapestry.sql.write import build

WORK = "row_instants"


def measure(events: Events) -> tuple[exp.Select, Ctes]:
    """A SELECT of key and row-instants, the most first, and its CTEs; no key: NULLs."""
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
