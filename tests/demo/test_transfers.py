"""The generated transfers are those of the paper's experiment, and the examples find what is there.

The answers are DuckDB's to the plain queries; a rewritten model must deliver just these.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tapestry.demo.transfers import TransferPlan, transfers, write_transfers
from tapestry.sql import Scan

from .fedwire import MODELS, Target, bag, database, text_of

OLD, DATA2, DATA1 = 300_000, 320_000, 320_006
ANSWERS = {
    OLD: (0, 0, 0, 0, 0, 40, 0),
    DATA2: (0, 0, 0, 0, 0, 48, 0),
    DATA1: (3, 2, 2, 1, 1, 49, 1),
}


@pytest.fixture(scope="module")
def filled() -> duckdb.DuckDBPyConnection:
    """The paper's D, its rows numbered in order of arrival."""
    connection, made = database(), transfers(TransferPlan())
    connection.register("made", made)
    connection.execute(
        "create table transaction as select row_number() over () as rid, * from made"
    )
    return connection


def _one(connection: duckdb.DuckDBPyConnection, query: str) -> Any:
    row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


def _first(rows: int) -> str:
    return f"(select * from main.transaction where rid <= {rows})"


def _last_arrival(connection: duckdb.DuckDBPyConnection, rows: int) -> datetime:
    found = _one(connection, f"select max(arrived_at) from {_first(rows)}")
    assert isinstance(found, datetime)
    return found


def _answers(
    connection: duckdb.DuckDBPyConnection, model: str, rows: int
) -> Counter[tuple[Any, ...]]:
    return Counter(connection.execute(text_of(model, _first(rows))).fetchall())


@pytest.mark.parametrize("rows", [OLD, DATA2, DATA1])
def test_the_plain_queries_answer(filled: duckdb.DuckDBPyConnection, rows: int) -> None:
    assert tuple(_answers(filled, model, rows).total() for model in MODELS) == ANSWERS[rows]


@pytest.mark.parametrize("rows", [DATA2, DATA1])
@pytest.mark.parametrize("model", MODELS)
def test_old_then_new_gives_what_the_plain_query_answers(
    filled: duckdb.DuckDBPyConnection, model: str, rows: int
) -> None:
    target = Target(filled, model)
    tau = _last_arrival(filled, OLD)
    scan = Scan("main.transaction", "arrived_at", "rid")
    assert bag(target.run(scan, tau)) == _answers(filled, model, OLD)
    target.tau = tau
    new = target.run(scan, _last_arrival(filled, rows))
    assert bag(new) == _answers(filled, model, rows) - _answers(filled, model, OLD)
    assert all(row[-1] > tau for row in new)
    at_once = Target(filled, model)
    at_once.run(scan, _last_arrival(filled, rows))
    assert Counter(at_once.rows()) == Counter(target.rows())


def test_the_cuts_of_the_experiment_lie_between_arrivals(
    filled: duckdb.DuckDBPyConnection,
) -> None:
    for rows in (OLD, DATA2):
        assert _last_arrival(filled, rows) < _one(
            filled, f"select min(arrived_at) from transaction where rid > {rows}"
        )


@pytest.mark.parametrize(
    ("share", "low", "high"),
    [
        ("avg((amount > 500000)::int)", 0.0009, 0.0011),
        ("avg((amount > 1000000)::int)", 0.00024, 0.0003),
        ("avg((type_code = 1000)::int)", 0.84, 0.86),
        ("avg((orig_account is null)::int)", 0.0005, 0.002),
        ("avg((sbank_name is null)::int)", 0.0005, 0.002),
        ("avg((ibank_aba is null)::int)", 0.94, 0.98),
        ("avg((tran_date < arrived_at::date)::int)", 0.005, 0.02),
        ("1 - count(distinct arrived_at) / count(*)", 0.01, 0.03),
        ("1 - count(distinct amount) / count(*)", 0.1, 0.6),
        ("count(distinct tran_id) / count(*)", 1, 1),
        ("count(distinct arrived_at::date)", 3, 3),
    ],
)
def test_shares(filled: duckdb.DuckDBPyConnection, share: str, low: float, high: float) -> None:
    assert low <= _one(filled, f"select {share} from transaction") <= high


def test_rows_stand_in_order_of_arrival(filled: duckdb.DuckDBPyConnection) -> None:
    query = "select count(*) from (select arrived_at < lag(arrived_at) over (order by rid) as back"
    assert _one(filled, f"{query} from transaction) where back") == 0


def test_nobody_passes_on_big_money(filled: duckdb.DuckDBPyConnection) -> None:
    passed = (
        "select count(*) from transaction r1, transaction r2 where r1.amount >= 400000"
        f" and r2.amount >= 400000 and r2.sbank_aba = r1.rbank_aba and r2.rid <= {DATA2}"
    )
    assert _one(filled, f"{passed} and r1.rid <= {DATA2}") == 0


def test_files_hold_the_rows_of_a_day_each(tmp_path: Path) -> None:
    plan = TransferPlan(days=4, per_day=500, accounts=3_000, chains=30)
    files = write_transfers(tmp_path, plan)
    made = pa.concat_tables(pq.read_table(file) for file in files)
    assert made.equals(transfers(plan))
    assert len(made) == plan.rows
    assert not made.equals(transfers(TransferPlan(4, 500, 3_000, 31)))


def test_chains_are_found_on_all_days() -> None:
    plan = TransferPlan(days=30, per_day=1_000, accounts=20_000, chains=300)
    connection = database()
    connection.register("transaction", transfers(plan))
    moved = Counter(connection.execute(text_of("q4_left_through_another_bank", "transaction"))
                    .fetchall())  # fmt: skip
    ids = [row[2] // plan.per_day for row in moved]
    assert 200 < moved.total() <= 301
    assert len(set(ids)) > 20
