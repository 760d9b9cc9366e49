"""The scan of a source that a generator makes: the scan of its base, with LATERAL VIEW."""

from __future__ import annotations

from sqlglot import exp

from tapestry.names import ARRIVAL
from tapestry.sql.catalog import OF, Exploded
from tapestry.sql.facts import keys
from tapestry.sql.scan import Scan
from tapestry.sql.write import build
from tapestry.sql.write.dialects import for_dialect

_MADE = "_made"


def exploded_scan(source: Exploded, base: Scan | None, dialect: str) -> Scan:
    """Return a scan of the rows generated from ``base``; from a single row if it is None.

    The row id is that of the base and the place beside it. Columns that are not used cost nothing:
    the statement lists those that are, and engines read no others.
    """
    place = exp.column(source.place, table=_MADE)
    part = keys.perhaps(keys.of_row(place)) if source.outer else keys.of_row(place)
    own = [exp.column(name, table=_MADE) for name in (source.place, *source.values)]
    whole = exp.Column(this=exp.Star(), table=exp.to_identifier(OF))
    items: list[exp.Expr] = [*own] if base is None else [whole, *own]
    select = exp.Select(expressions=items)
    select.set("from_", exp.From(this=_base(source, base)))
    names = [exp.to_identifier(name) for name in (source.place, *source.values)]
    alias = exp.TableAlias(this=exp.to_identifier(_MADE), columns=names)
    call = exp.Posexplode(this=source.argument.copy())
    select.set("laterals", [exp.Lateral(this=call, view=True, outer=source.outer, alias=alias)])
    relation = for_dialect(select, dialect).sql(dialect)
    number = for_dialect(part, dialect).sql(dialect).replace(f"{_MADE}.", "")
    row_id = number if base is None else f"{source.row} || '.' || {number}"
    arrival = None if base is None or base.arrival is None else ARRIVAL
    return Scan(f"({relation})", arrival, row_id, late=base is not None and base.late)


def _base(source: Exploded, base: Scan | None) -> exp.Expr:
    """The base as a derived table, its row id under a name of its own."""
    alias = exp.TableAlias(this=exp.to_identifier(OF))
    if base is None:
        one = build.select([exp.alias_(exp.Literal.number(1), "one")])
        return exp.Subquery(this=one, alias=alias)
    # The texts of a scan stand in the statement as they are.
    listed: list[exp.Expr] = [exp.Star()]
    if base.arrival is not None and base.arrival != ARRIVAL:
        listed.append(exp.alias_(exp.Var(this=base.arrival), ARRIVAL))
    listed.append(exp.alias_(exp.Var(this=f"CAST({base.row_id} AS STRING)"), source.row))
    select = build.select(listed)
    select.set("from_", exp.From(this=exp.Var(this=f"{base.relation}")))
    return exp.Subquery(this=select, alias=alias)
