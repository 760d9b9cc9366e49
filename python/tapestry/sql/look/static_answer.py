"""``Q(s)``, the static answer: the query over the visible rows with the clock set to s.

This is the definition (semantics, section 1) and shares nothing with the rewriting but the parsing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.names import ENDED
from tapestry.sql import timing
from tapestry.sql.catalog import Catalog
from tapestry.sql.read.generators import open_inline, to_laterals
from tapestry.sql.read.groups_of_nothing import GROUPING_SETS, groups_of_nothing
from tapestry.sql.read.parse import is_cte, table_name
from tapestry.sql.read.pivots import open_pivots
from tapestry.sql.read.read_query import ReadQuery, read
from tapestry.sql.read.resolve_names import resolve_names
from tapestry.sql.read.tell_apart import tell_apart
from tapestry.sql.read.total_orders import has_orders, total_orders
from tapestry.sql.scan import Scan
from tapestry.sql.work import bounded_by_text
from tapestry.sql.write import build
from tapestry.sql.write.dialects import for_dialect


@bounded_by_text
def static_answer(
    sql: str, catalog: Catalog, s: datetime | str, scans: Mapping[str, Scan], dialect: str = "spark"
) -> str:
    """Return the query over the rows with ``arrival <= s``, all readings of the clock being s.

    Rows that end are there before their end only.

    A text as ``s`` stands for an instant that is filled in later.
    Raises Refusal for a relation that the catalog does not know.
    """
    tree = set_clock(_definition(read(sql, catalog), dialect), s)
    if dialect not in ("spark", "databricks"):
        tree = open_pivots(tree, lambda inner: resolve_names(inner, catalog))
        tree = open_inline(to_laterals(tree, catalog))
    tables = [table for table in tree.find_all(exp.Table) if not is_cte(table)]
    used = [(table, table_name(table)) for table in tables if table_name(table) in scans]
    if not used:
        raise Refusal(
            "the query reads no known source",
            sql,
            "let it read a table or a view",
            code="no-source",
        )
    names = _names(tree, (name for _, name in used))
    for table, name in used:
        table.replace(
            exp.Table(
                this=exp.to_identifier(names[name]),
                alias=exp.TableAlias(this=exp.to_identifier(table.alias or table.name)),
                joins=table.args.get("joins"),
                pivots=table.args.get("pivots"),
            )
        )
    ctes = ", ".join(
        f"{visible} AS ({_visible(scans[name], s, catalog, name, dialect)})"
        for name, visible in names.items()
    )
    query = for_dialect(tree, dialect).sql(dialect)
    return f"WITH {ctes} SELECT * FROM ({query}) AS answer"


def _definition(query: ReadQuery, dialect: str) -> exp.Query:
    """Return the query made independent of the engine: total orders, no groups of no rows."""
    if not has_orders(query.opened) and query.opened.find(*GROUPING_SETS) is None:
        return tell_apart(query.opened)
    ordered = total_orders(query.tree, query.catalog)
    return groups_of_nothing(ordered) if dialect == "duckdb" else ordered


def _names(tree: exp.Query, sources: Iterable[str]) -> dict[str, str]:
    """Return a name for the visible rows of each source that is free in the query."""
    taken = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    taken |= {table.name.lower() for table in tree.find_all(exp.Table)}
    names: dict[str, str] = {}
    for source in sources:
        if source in names:
            continue
        # sql: letters, digits and _ are left
        name = "visible_" + re.sub(r"\W", "_", source, flags=re.ASCII)
        while name.lower() in taken:
            name += "_"
        taken.add(name.lower())
        names[source] = name
    return names


def set_clock(tree: exp.Query, s: datetime | str) -> exp.Query:
    """The query with now() and its like replaced by the instant s."""

    def replace(node: exp.Expr) -> exp.Expr:
        return timing.clock_at(node, timing.literal(s)) if timing.is_now(node) else node

    clocks = tree.copy()
    for column in list(clocks.find_all(exp.Column)):
        written = column.name.lower() == "localtimestamp" and not column.this.quoted
        if written and not column.table:
            column.replace(exp.Localtimestamp())
    changed = clocks.transform(replace, copy=False)
    assert isinstance(changed, exp.Query)
    return changed


def _visible(scan: Scan, s: datetime | str, catalog: Catalog, name: str, dialect: str) -> str:
    source = catalog.relations[name]
    columns = getattr(source, "columns", ())
    listed = ", ".join(build.column(c.name).sql(dialect) for c in columns)
    text = f"SELECT {listed or '*'} FROM {scan.relation}"
    if scan.arrival is None:
        return text
    instant = timing.literal(s).sql(dialect)
    text += f" WHERE {scan.arrival} <= {instant}"
    return f"{text} AND {instant} < {ENDED}" if getattr(source, "ends", False) else text
