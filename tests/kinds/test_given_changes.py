"""The query of a unit test of a rule, asked in DuckDB: the rows that it binds for given changes."""

from __future__ import annotations

import re
from typing import Any

import duckdb
import pytest
import sqlglot

from dbt.adapters.tapestry.tested_rules import GivenTables
from tapestry.errors import CannotPair, ConfigurationError
from tapestry.instants import now_utc
from tapestry.quoting import Sql, authored
from tapestry.runs.context.clock import Clock
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Capabilities, Session
from tapestry.runs.kinds.registry import parse_config
from tapestry.runs.kinds.rule.given_changes import GivenRows, rows_of_test
from tapestry.runs.model.model import Model

TIME = (
    r"element_at\(\(SELECT map_from_entries\(collect_list\(struct\(v, t\)\)\)"
    r"(.*?) GROUP BY 1\)\),"
)
COMPS = """/* triggered_by ["__dbt__cte__stocks"] */
select comps_list.comp, comps_list.symbol, weight, old.price as old_price, new.price as new_price
from s.comps_list as comps_list, new, old
where comps_list.symbol = new.symbol and new.execute_order = old.execute_order"""
CALLED = {"__dbt__cte__stocks": "stocks", "s.comps_list": "comps_list", "s.stocks": "stocks"}
LISTED = "select 'C1' as comp, 'S1' as symbol, 0.5D as weight union all select 'C2', 'S2', 0.7D"
NOON = "'2026-01-01 12:00:00'"


class InDuckDB(Session):
    """A session on DuckDB with views."""

    time_zone = "UTC"
    can = Capabilities()

    def __init__(self) -> None:
        self.database = duckdb.connect()
        self.database.execute("SET TimeZone = 'UTC'")

    def run(self, sql: str) -> None:
        if not sql.startswith("CACHE"):
            self.database.execute(self.translated(sql))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        if not sql.startswith("DESCRIBE QUERY "):
            return self.database.execute(self.translated(sql)).fetchall()
        asked = self.translated(sql.removeprefix("DESCRIBE QUERY "))
        found = self.database.execute(f"DESCRIBE {asked}").fetchall()
        kinds = {"VARCHAR": "string", "TIMESTAMP WITH TIME ZONE": "timestamp"}
        return [(name, kinds.get(kind, kind.lower()), None) for name, kind, *_ in found]

    def translated(self, sql: str) -> str:
        # a map from commits to their times
        text = re.sub(
            TIME, r"(SELECT max(t)\1 GROUP BY 1) AS k WHERE k.v = commit_version", sql, flags=re.S
        )
        text = text.replace("k.v = commit_version commit_version)", "k.v = commit_version)")
        return sqlglot.transpile(text, read="spark", write="duckdb")[0]


def stocks(*rows: tuple[object, ...]) -> str:
    return " union all ".join(
        f"select '{symbol}' as symbol, cast({price} as decimal(9,2)) as price,"
        f" '{kind}' as _change_type, cast({version} as bigint) as _commit_version,"
        f" cast({at} as timestamp) as _commit_timestamp"
        for symbol, price, kind, version, at in rows
    )


def update(symbol: str, old: int, new: int, version: int, at: str = "null") -> list[tuple]:
    return [(symbol, old, "update_preimage", version, at),
            (symbol, new, "update_postimage", version, at)]  # fmt: skip


def bound(given: dict[str, str], sql: str = COMPS, **config: Any) -> list[tuple[Any, ...]]:
    session = InDuckDB()
    rows = {name: Sql(select) for name, select in given.items()}
    invocation = Invocation("test", Clock(now_utc(), True), "tapestry_state", "UTC")
    invocation.pins = GivenTables(rows, CALLED)
    parsed = parse_config("rule", {"when": "updated price", "key": "symbol", **config})
    model = Model("r", "s.r", authored(sql), parsed, {}, "models/r.sql", materialized="rule")
    text = rows_of_test(session, model, invocation, GivenRows(rows, CALLED))
    found = session.database.execute(session.translated(text)).fetchall()
    return sorted(tuple(str(value) for value in row) for row in found)


def test_what_commits_bind() -> None:
    """The second one changes no value: it triggers nothing."""
    changes = [*update("S1", 30, 31, 7), *update("S2", 40, 40, 8), *update("S2", 40, 44, 9, NOON)]
    assert bound({"stocks": stocks(*changes), "comps_list": LISTED}) == [
        ("C1", "S1", "0.5", "30.00", "31.00", "7", "None"),
        ("C2", "S2", "0.7", "40.00", "44.00", "9", "2026-01-01 12:00:00+00:00"),
    ]


def test_every_condition_has_to_find_a_row() -> None:
    sql = """/* triggered_by ["__dbt__cte__stocks"] */
    with big as (select 1 as one from inserted where price > 5) select symbol from inserted"""
    changes = [("S1", 3, "insert", 1, "null"), ("S2", 30, "insert", 2, NOON)]
    more = {"when": "inserted", "if": ["big", "matches"]}
    assert [row[0] for row in bound({"stocks": stocks(*changes)}, sql, **more)] == ["S2"]
    whole = "select 'S9' as symbol, 7 as price"
    assert bound({"stocks": whole}, sql, **more) == [("S9", "1", "None")], "all inserted"


def test_what_cannot_be_told_is_refused() -> None:
    alone = stocks(("S1", 30, "update_preimage", 7, "null"))
    with pytest.raises(CannotPair):
        bound({"stocks": alone, "comps_list": LISTED})
    own = COMPS.replace("s.comps_list", "s.stocks").replace("comps_list.comp, ", "")
    own = own.replace("weight, ", "")
    with pytest.raises(ConfigurationError, match="whose commits trigger it"):
        bound({"stocks": stocks(*update("S1", 30, 31, 7))}, own)
