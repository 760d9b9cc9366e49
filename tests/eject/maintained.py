"""Maintained models over tables that are only added to, written by hand: no Spark."""

from __future__ import annotations

from collections.abc import Mapping

from tapestry.cli.eject_files import Ejected, eject_files
from tapestry.cli.eject_maintained import APPEND_ONLY, exact_way
from tapestry.runs.kinds.registry import parse_config
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import Relations
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.pins import Pin, Pinned
from tapestry.sql import Catalog, Column, Source

ORDERS = (
    Column("id", "bigint"),
    Column("shop", "string"),
    Column("kind", "int"),
    Column("amount", "decimal(10,2)"),
    Column("ts", "timestamp"),
)
NAMES = ("orders", "refunds")
O = "{{ source('shop', 'orders') }}"  # noqa: E741
R = "{{ source('shop', 'refunds') }}"
MODELS = {
    "totals": f"with o as (select * from {O} where amount > 2) select shop, kind as sort,"
    " sum(amount) as total, count(*) as n, min(ts) as first from o"
    " where shop is not null and kind is not null group by shop, kind",
    "extremes": f"select kind, max(amount) as most, min(id) as least from {O}"
    " where kind is not null and shop <> 'b' group by 1",
    "named": "select number, count(*) as n from"
    f" (select kind % 2 as number, ts, shop from {O} where id > 3)"
    " where number is not null group by number",
    "large": f"select id, amount * 2 as twice from {O} where amount > 5",
    "shops": f"select distinct shop from {O}",
    "pairs": f"select o.id, r.id as refund from {O} o join {R} r on r.shop = o.shop",
    "later": f"select id from {O} where now() >= ts + interval 2 days",
}
GRAPH = {
    "sources": {
        name: {
            **{"source_name": "shop", "name": name, "identifier": name, "schema": "shop"},
            "relation_name": f"shop.{name}",
        }
        for name in NAMES
    },
    "nodes": {},
}


def compiled(text: str) -> str:
    """A model's text as dbt compiles it."""
    return text.replace(O, "shop.orders").replace(R, "shop.refunds")


def ejected(
    name: str, sql: str, properties: Mapping[str, str] | None = None, arrival: str | None = "ts"
) -> Ejected:
    """A model as `tapestry eject` sees it; raises what it refuses with."""
    said = {APPEND_ONLY: "true"} if properties is None else properties
    names = [f"shop.{one}" for one in NAMES if f"shop.{one}" in sql]
    relations = Relations(
        Catalog({one: Source(one, ORDERS, arrival) for one in names}),
        {one: Pinned(DeltaSource(one, ORDERS, "", "", said), Pin("", 0)) for one in names},
    )
    model = Model(name, f"shop.{name}", sql, parse_config("maintained", {}), file=f"{name}.sql")
    return Ejected(model, relations, {"config": {}}, exact_way(model, relations))


def maintained_files(dialect: str) -> dict[str, str]:
    """The files that `tapestry eject` writes of all."""
    found = [ejected(name, compiled(text)) for name, text in sorted(MODELS.items())]
    return eject_files(found, GRAPH, dialect, f"ejected_{dialect}")
