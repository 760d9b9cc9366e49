"""Play the shop: its tables change, `dbt run` follows, each table is compared; three times."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import jinja2

from tapestry.demo.archive import EXPECTED
from tapestry.demo.check import TableComparison
from tapestry.demo.play import Player, SparkSession
from tapestry.demo.shop.changes import KEYS, SHOP_TYPES, RowChanges, changes_between, write_changes
from tapestry.demo.shop.histories import Row, Shop, rows_at
from tapestry.mail.append import create_table
from tapestry.quoting import authored, identifier, properties, relation_name, timestamp, type_text
from tapestry.schedule.warm import Ran

_GROWING = [name for name in SHOP_TYPES if name not in KEYS]
_PROPERTIES = {"delta.enableRowTracking": True}


@dataclass(frozen=True)
class ShopStep:
    """One step: what changed in the sources, what the run did, and whether each table is right."""

    until: datetime
    changes: Mapping[str, RowChanges]
    ran: Sequence[Ran]
    compared: Sequence[TableComparison]
    seconds: float


def play_shop(player: Player, shop: Shop, steps: Sequence[datetime]) -> Iterator[ShopStep]:
    """Each step, when its run is over and its tables are compared."""
    create_shop(player.session, player.schema)
    before: Mapping[str, list[Row]] = {name: [] for name in SHOP_TYPES}
    for until in steps:
        after = rows_at(shop, until)
        changes = {
            name: changes_between(before[name], after[name], KEYS.get(name, 0)) for name in after
        }
        for name, one in changes.items():
            write_changes(player.session, player.schema, name, one, player.folder)
        began = time.monotonic()
        ran = player.dbt_run(player.schema, until, {})
        seconds = time.monotonic() - began
        yield ShopStep(until, changes, ran, list(compare_tables(player, until)), seconds)
        before = after


def create_shop(session: SparkSession, schema: str) -> None:
    """The tables of the shop, empty: two that only grow, and two whose rows change."""
    for name in _GROWING:
        create_table(session, f"{schema}.{name}", SHOP_TYPES[name])
    for name in KEYS:
        columns = ", ".join(
            f"{identifier(one)} {type_text(kind)}" for one, kind in SHOP_TYPES[name].items()
        )
        session.run(
            f"CREATE TABLE {relation_name(f'{schema}.{name}')} ({columns}) USING delta"
            f" TBLPROPERTIES ({properties(_PROPERTIES)})"
        )


def compare_tables(player: Player, until: datetime) -> Iterator[TableComparison]:
    """Compare each table with what Spark answers to its text, as bags."""
    for model in player.models:
        expected = rendered(definition_of(player.project, model), player.schema, until)
        table = relation_name(f"{player.schema}.{model}")
        both = (
            f"SELECT struct(*) AS _row, 1 AS _side FROM ({expected}\n)"
            f" UNION ALL SELECT struct(*), -1 FROM {table}"
        )
        counted = f"SELECT sum(_side) AS _n, count_if(_side = 1) AS _e FROM ({both}) GROUP BY _row"
        ((rows, missing, surplus),) = player.session.rows(
            "SELECT coalesce(sum(_e), 0), coalesce(sum(greatest(_n, 0)), 0),"
            f" coalesce(sum(greatest(-_n, 0)), 0) FROM ({counted})"
        )
        yield TableComparison(model, int(rows), int(missing), int(surplus))


def definition_of(project: Path, model: str) -> Path:
    """The text that says what a table holds: what is expected of it, else the model's own."""
    expected = EXPECTED / "shop" / f"{model}.sql"
    return expected if expected.exists() else project / "models" / "shop" / f"{model}.sql"


def rendered(path: Path, schema: str, t: datetime) -> str:
    """A text over the tables of a schema, with now() read as ``t``; nothing of a run takes part."""
    template = jinja2.Template(path.read_text("utf-8"), undefined=jinja2.StrictUndefined)
    text = template.render(
        config=lambda **_: "", source=lambda _, name: relation_name(f"{schema}.{name}")
    )
    return authored(text.replace("now()", timestamp(t)))
