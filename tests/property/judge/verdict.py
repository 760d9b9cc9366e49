"""The one place that calls what is judged: `tapestry.sql.rewrite`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import duckdb

from judge.case import Case, expected, normalized
from judge.oracle import Answers, literal, load
from judge.schema import ARRIVAL, SPARK_TYPES, TABLES
from tapestry import errors
from tapestry import sql as judged


@dataclass(frozen=True)
class Verdict:
    """What came of a case: `kind` is equal, refused, crashed or different."""

    kind: str
    text: str = ""
    strategy: str = ""
    answers: int = 0

    @property
    def failed(self) -> bool:
        """Is the rewriter wrong?"""
        return self.kind in ("crashed", "different")


CATALOG = judged.Catalog(
    {
        name: judged.Source(
            name,
            tuple(judged.Column(column, SPARK_TYPES[type_]) for column, type_ in columns.items()),
            ARRIVAL[name],
        )
        for name, columns in TABLES.items()
    }
)


def utc(moment: datetime | None) -> datetime | None:
    """The same instant, aware."""
    return None if moment is None else moment.replace(tzinfo=timezone.utc)


def scans(case: Case, t: datetime, names: tuple[str, ...]) -> dict[str, Any]:
    """The scans of one run: by effective arrival if rows may be late, by the arrival column otherwise."""
    found = {}
    for name in names:
        relation, arrival = name, ARRIVAL[name]
        if arrival is not None and case.pinned:
            relation = f"(SELECT * FROM {name} WHERE _arr <= {literal(t)} OR _arr IS NULL)"
        if arrival is not None and case.data.late:
            arrival = "_arr"
        found[name] = judged.Scan(
            relation, arrival, "_rid", late=arrival is not None and case.data.late
        )
    return found


def statements(case: Case, rewriting: Any, dialect: str) -> list[tuple[datetime, str]]:
    """The SQL of every run."""
    texts, tau = [], None
    for t in case.ends:
        window = judged.Window(utc(tau), utc(t))
        texts.append(
            (t, rewriting.incremental(window, scans(case, t, rewriting.sources), dialect=dialect))
        )
        tau = t
    return texts


def judge(
    case: Case, connection: duckdb.DuckDBPyConnection, rewrite: Any = judged.rewrite
) -> Verdict:
    """Compare the runs of a case with the definition."""
    right = expected(case, connection)
    try:
        rewriting = rewrite(case.sql, CATALOG, assume=case.assume, begin=utc(case.begin))
    except errors.Refusal as refusal:
        return Verdict("refused", refusal.reason, answers=right.total())
    except Exception as error:
        return Verdict(
            "crashed", f"rewrite: {type(error).__name__}: {error}", answers=right.total()
        )
    try:
        texts = statements(case, rewriting, "duckdb")
    except Exception as error:
        return Verdict(
            "crashed",
            f"incremental: {type(error).__name__}: {error}",
            rewriting.strategy,
            right.total(),
        )
    return _compare(case, connection, rewriting, texts, right)


def _compare(
    case: Case,
    connection: duckdb.DuckDBPyConnection,
    rewriting: Any,
    texts: list[tuple[datetime, str]],
    right: Answers,
) -> Verdict:
    load(connection, case.data)
    total = right.total()
    if tuple(rewriting.columns) != case.query.names:
        return Verdict(
            "different",
            f"columns {rewriting.columns} for {case.query.names}",
            rewriting.strategy,
            total,
        )
    tau: datetime | None = None
    for t, text in texts:
        try:
            got = normalized(connection.execute(text).fetchall())
        except (duckdb.Error, RuntimeError) as error:
            return Verdict("crashed", f"DuckDB: {error}\n{text}", rewriting.strategy, total)
        part = Counter(
            {row: n for row, n in right.items() if row[-1] <= t and (tau is None or row[-1] > tau)}
        )
        if got != part:
            difference = f"window ({tau}, {t}]\n  missing    {_rows(part - got)}\n  unexpected {_rows(got - part)}"
            return Verdict("different", f"{difference}\n{text}", rewriting.strategy, total)
        tau = t
    return Verdict("equal", "", rewriting.strategy, total)


def _rows(rows: Answers) -> str:
    return (
        "; ".join(f"{n}x({', '.join(str(cell) for cell in row)})" for row, n in rows.items())
        or "none"
    )
