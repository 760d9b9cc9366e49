"""The changes of a step in the tables of the shop: rows inserted, updated, deleted.

>>> before, after = [(1, "open"), (2, "open")], [(2, "shipped"), (3, "open")]
>>> changes_between(before, after, key=1)
RowChanges(inserted=[(3, 'open')], updated=[(2, 'shipped')], deleted=[(1, 'open')])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tapestry.demo.columns import TIMESTAMP
from tapestry.demo.shop.histories import Row
from tapestry.mail.append import SqlSession, file_as_relation
from tapestry.quoting import identifier, identifiers, relation_name, type_text

SHOP_TYPES: Mapping[str, Mapping[str, str]] = {
    "orders": {
        "order_id": "BIGINT",
        "customer": "STRING",
        "product": "STRING",
        "quantity": "INT",
        "state": "STRING",
        "ordered_at": "TIMESTAMP",
    },
    "prices": {"product": "STRING", "valid_from": "TIMESTAMP", "price": "DECIMAL(10,2)"},
    "payments": {"order_id": "BIGINT", "amount": "DECIMAL(10,2)", "paid_at": "TIMESTAMP"},
    "refunds": {
        "refund_id": "BIGINT",
        "order_id": "BIGINT",
        "amount": "DECIMAL(10,2)",
        "refunded_at": "TIMESTAMP",
    },
}
"""The tables, with the types of their columns."""
KEYS = {"orders": 1, "prices": 2}
"""The tables whose rows change: so many columns, the first ones, tell a row from the others."""
_ARROW = {
    "BIGINT": pa.int64(),
    "INT": pa.int32(),
    "STRING": pa.string(),
    "TIMESTAMP": TIMESTAMP,
    "DECIMAL(10,2)": pa.decimal128(10, 2),
}
_DELETED = "deleted"


@dataclass(frozen=True)
class RowChanges:
    """The rows of one table that a step brings, changes (as they are then), and takes away."""

    inserted: Sequence[Row]
    updated: Sequence[Row] = ()
    deleted: Sequence[Row] = ()


def changes_between(before: Sequence[Row], after: Sequence[Row], key: int) -> RowChanges:
    """Compare two states of a table whose rows have a key; 0: rows are only added, at any place."""
    if not key:
        return RowChanges(list((Counter(after) - Counter(before)).elements()))
    old = {row[:key]: row for row in before}
    new = {row[:key] for row in after}
    return RowChanges(
        [row for row in after if row[:key] not in old],
        [row for row in after if old.get(row[:key], row) != row],
        [row for row in before if row[:key] not in new],
    )


def write_changes(
    session: SqlSession, schema: str, name: str, changes: RowChanges, folder: Path
) -> None:
    """Bring the changes of one table to it, in one commit; none where there are none."""
    there, gone = [*changes.inserted, *changes.updated], list(changes.deleted)
    if not there and not gone:
        return
    path = folder / f"{name}.parquet"
    _write([*((*row, False) for row in there), *((*row, True) for row in gone)], name, path)
    types = SHOP_TYPES[name]
    table, columns = relation_name(f"{schema}.{name}"), identifiers(types)
    casts = ", ".join(
        f"CAST({identifier(one)} AS {type_text(kind)}) AS {identifier(one)}"
        for one, kind in types.items()
    )
    staged = file_as_relation(path)
    if not changes.updated and not gone:
        session.run(f"INSERT INTO {table} SELECT {casts} FROM {staged}")
        return
    names = list(types)
    same = " AND ".join(f"t.{identifier(one)} = s.{identifier(one)}" for one in names[: KEYS[name]])
    values = ", ".join(f"s.{identifier(one)}" for one in names)
    sets = ", ".join(f"t.{identifier(one)} = s.{identifier(one)}" for one in names)
    session.run(
        f"MERGE INTO {table} t USING (SELECT {casts}, {identifier(_DELETED)} FROM {staged}) s"
        f" ON {same} WHEN MATCHED AND s.{identifier(_DELETED)} THEN DELETE"
        f" WHEN MATCHED THEN UPDATE SET {sets}"
        f" WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({values})"
    )


def _write(rows: Sequence[Row], name: str, path: Path) -> None:
    kinds = {column: _ARROW[kind] for column, kind in SHOP_TYPES[name].items()}
    schema = pa.schema([*kinds.items(), (_DELETED, pa.bool_())])
    columns = [
        pa.array([row[place] for row in rows], kind) for place, kind in enumerate(schema.types)
    ]
    pq.write_table(pa.table(columns, schema=schema), path)
