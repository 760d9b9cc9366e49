"""The judge's random cases as the verification sees them: definitions, runs, instants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import duckdb
from judge.case import Case, ending_case, random_case
from judge.data import Data
from judge.oracle import beginning, load
from judge.schema import ARRIVAL, TABLES
from judge.verdict import catalog_of, scans, with_ends

from tapestry.errors import Refusal
from tapestry.sql import Rewriting, Scan, Window, rewrite
from tapestry.sql.facts import keys
from tapestry.verification.definition import Definition

EVERYTHING = {
    name: Scan(name, None if ARRIVAL[name] is None else "_arr", "_rid") for name in TABLES
}
"""All rows of the judge's tables, by their effective arrival."""
WITH_ENDS = {
    name: scan if scan.arrival is None else replace(scan, relation=with_ends(name))
    for name, scan in EVERYTHING.items()
}

NO_ROWS = Data({})
LONGEST = 60_000  # characters of a run's SQL: DuckDB plans the others too slowly for a test


def cases(numbers: range) -> Iterator[tuple[Case, Rewriting]]:
    """The random cases of these numbers that the rewriting takes and that have a first instant.

    In every third one rows end.
    """
    for number in numbers:
        case = ending_case(number) if number % 3 == 2 else random_case(number)
        if beginning(case.query, case.data, case.begin) is None:
            continue
        try:
            yield case, rewrite(case.sql, catalog_of(case.data), begin=utc(case.begin))
        except Refusal:
            continue


def everything_of(data: Data) -> dict[str, Scan]:
    """Scans of all rows of the judge's tables, with their ends where ``data`` has any."""
    return WITH_ENDS if data.ended else EVERYTHING


def over_everything(sql: str, data: Data = NO_ROWS) -> Definition:
    """The definition of a query over all rows of the judge's tables, which ``data`` tells of."""
    return Definition.read(sql, catalog_of(data), everything_of(data), "duckdb")


def staged_runs(
    case: Case, rewriting: Rewriting, connection: duckdb.DuckDBPyConnection
) -> Iterator[tuple[int, datetime | None, datetime, Definition]]:
    """Run after run: its rows stand in ``staged``, those of the runs before in ``published``."""
    load(connection, case.data)
    connection.execute("DROP TABLE IF EXISTS published")
    tau: datetime | None = None
    for n, t in enumerate(case.ends, start=1):
        read = {name: stamped(name, s) for name, s in scans(case, t, rewriting.sources).items()}
        window = Window(tau, aware(t))
        text = rewriting.incremental(window, read, "duckdb", few=n % 2 == 0, keyed=True)
        if len(text) > LONGEST:
            return
        connection.execute(f"CREATE OR REPLACE TEMP TABLE staged AS {text}")
        connection.execute("CREATE TABLE IF NOT EXISTS published AS FROM staged WHERE false")
        yield n, tau, aware(t), Definition.read(case.sql, catalog_of(case.data), read, "duckdb")
        connection.execute("INSERT INTO published FROM staged")
        tau = aware(t)


def stamped(name: str, scan: Scan) -> Scan:
    """The scan as a run verifies with it: its row ids end in what the arrival column says."""
    if ARRIVAL[name] is None:
        return scan
    us = f"epoch_us({ARRIVAL[name]})"
    return replace(scan, row_id=keys.stamped(scan.row_id, us))


def aware(moment: datetime) -> datetime:
    """The same instant in UTC."""
    return moment.replace(tzinfo=timezone.utc)


def utc(moment: datetime | None) -> datetime | None:
    """The same instant in UTC, or none."""
    return None if moment is None else aware(moment)


def asking(connection: duckdb.DuckDBPyConnection) -> Any:
    """Executes a statement."""
    return lambda text: connection.execute(text).fetchall()
