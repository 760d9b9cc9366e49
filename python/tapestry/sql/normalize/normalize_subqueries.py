"""The arms of the outermost UNION ALL, each in the form that its strategy works on.

An arm whose queries filter and join becomes arms over base tables (``builder``); one with
aggregates, window functions, LIMIT or scalar subqueries is written out, and evaluated at instants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from tapestry.sql.arms import ByDerivation, ByValue, Lifted, OuterArm
from tapestry.sql.catalog import Catalog
from tapestry.sql.facts import keys
from tapestry.sql.facts.values import arms_of
from tapestry.sql.ir import SetQuery, UnionAll
from tapestry.sql.normalize.align_sides import sides_of
from tapestry.sql.normalize.builder import Builder, refuse_sides
from tapestry.sql.normalize.first_rows import first_rows
from tapestry.sql.normalize.growing_joins import has_many_joins
from tapestry.sql.normalize.lifted_beside import Side, beside
from tapestry.sql.normalize.needs_instants import needs_instants
from tapestry.sql.normalize.nodes import is_union_all
from tapestry.sql.normalize.running_states import running_states
from tapestry.sql.normalize.scope import Scope, with_ctes
from tapestry.sql.normalize.write_out import lifted_arm
from tapestry.sql.read.audit_columns import values_alone
from tapestry.sql.read.total_orders import has_orders, total_orders


def normalize_subqueries(
    tree: exp.Query, catalog: Catalog, places: tuple[int, ...]
) -> tuple[tuple[OuterArm, ...], Catalog]:
    """The query as arms, and the catalog with the sources that its generators make.

    ``places`` are those of its audit columns.
    Raises Refusal for what the theory does not cover yet.
    """
    builder = Builder(catalog)
    tree, audits = values_alone(total_orders(tree, catalog) if has_orders(tree) else tree, places)
    found: list[OuterArm] = []
    for number, query in enumerate(_outermost(builder, tree, Scope({}, {})), start=1):
        audit = audits[number - 1]
        if isinstance(query, Lifted):
            clocks = () if audit else places
            found.append(replace(query, number=number, audit=audit, clocks=clocks))
            continue
        by_value = isinstance(query, SetQuery)
        arms = tuple(
            replace(arm, keys=(keys.of_arm(number, () if by_value else arm.keys),))
            for arm in arms_of(query, builder.names)
        )
        found.append(ByValue(arms=arms, audit=audit) if by_value else ByDerivation(arms=arms))
    return tuple(found), builder.exploded.catalog


def _outermost(builder: Builder, node: exp.Expr, scope: Scope) -> Sequence[Side]:
    """The arms of the outermost query, or of an arm of its UNION ALL."""
    opened, inner = node, scope
    while isinstance(opened, exp.Subquery):
        inner = with_ctes(opened, inner)
        opened = opened.this
    inner = with_ctes(opened, inner)
    if not needs_instants(opened, inner):
        builder.keeps = has_many_joins(node, scope, builder.catalog)
        query = builder.query(node, scope, top=True)
        return query.inputs if isinstance(query, UnionAll) else (query,)
    if not is_union_all(opened):
        lifted = lifted_arm(opened, inner, builder.catalog, builder.names)
        running = running_states(lifted, opened, inner, builder)
        return (running or first_rows(lifted, opened, inner, builder) or lifted,)
    assert isinstance(opened, exp.Union)
    written = sides_of(opened)
    refuse_sides(opened, written)
    return beside([arm for side in written for arm in _outermost(builder, side, inner)], opened)
