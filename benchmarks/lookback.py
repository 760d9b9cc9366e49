"""How many rows a hand-written incremental model gets wrong: real messages, as they were archived.

The messages of each list become readable in the order of the archive, which is not that of their
``ts``.  They are loaded in monthly batches, and after each batch every model runs once:

- ``append``: ``where ts > (select max(ts) from this)``
- ``3 days``: the same with three days of look-back, merged on a unique key, as dbt's manual has it
- ``rebuild``: the plain query over everything, each time anew
- ``tapestry``: Q^I over the window since the last run, late rows with their effective arrival

The end states are compared, as bags, with what was ever an answer, which is computed in one go from
its definition.  All of it runs in DuckDB: it is about what is right, not about how fast it is.

``python -m benchmarks.lookback``
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

import duckdb

from benchmarks.common import real_messages, save
from benchmarks.options import Options, options_of, parser
from benchmarks.queries import BY_NAME, SOURCE, Lists, scan
from tapestry.sql import Column, Scan, Window

VISIBLE = "(SELECT * FROM loaded WHERE run <= {k})"
DAYS = 3
LISTS = Lists("linux-man", "")


@dataclass(frozen=True)
class Model:
    """A query as a dbt user writes it: select, time column, unique key, and what is the truth."""

    name: str
    query: str
    select: str  # over {visible} at {now}; gives the columns and `since`, the time looked back from
    key: tuple[str, ...]
    truth: str


Q1 = Model(
    "Q1",
    "Q1",
    "SELECT msgid, author, subject, ts AS since FROM {visible} WHERE newsgroup = '{one}'",
    ("msgid",),
    "SELECT msgid, author, subject FROM loaded WHERE newsgroup = '{one}'",
)
_PAIRS = """FROM {visible} m, {visible} m1
WHERE m1.inreplyto = m.msgid AND m1.newsgroup = '{one}'"""
Q3 = Model(
    "Q3, looking back from the reply",
    "Q3",
    "SELECT m.msgid, m.newsgroup, m.author, m1.msgid AS reply, m1.ts AS since " + _PAIRS,
    ("msgid", "newsgroup", "reply"),
    "SELECT m.msgid, m.newsgroup, m.author, m1.msgid AS reply "
    + _PAIRS.replace("{visible}", "loaded"),
)
Q3_FROM_MESSAGE = replace(
    Q3, name="Q3, looking back from the message", select=Q3.select.replace("m1.ts AS", "m.ts AS")
)
Q4 = Model(
    "Q4",
    "Q4",
    """SELECT m.msgid, m.newsgroup, m.author, m.subject, m.ts AS since FROM {visible} m
WHERE m.ts < {now} - INTERVAL 28 DAYS
  AND NOT EXISTS (SELECT 1 FROM {visible} m1 WHERE m1.inreplyto = m.msgid)""",
    ("msgid", "newsgroup"),
    """SELECT m.msgid, m.newsgroup, m.author, m.subject
FROM (SELECT *, greatest(arr, ts + INTERVAL 28 DAYS + INTERVAL 1 MICROSECOND) AS c FROM loaded) m
WHERE m.c <= {end}
  AND NOT EXISTS (SELECT 1 FROM loaded m1 WHERE m1.inreplyto = m.msgid AND m1.arr <= m.c)""",
)
MODELS = (Q1, Q3, Q3_FROM_MESSAGE, Q4)


def run() -> None:
    """Load month by month, run every model after each, compare the end states."""
    path = real_messages()
    if path is None:
        return
    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    runs = load(db, str(path))
    late = db.sql("SELECT count(*) FROM loaded WHERE arr <> ts").fetchall()[0][0]
    results = {}
    for model in MODELS:
        columns = create_targets(db, model)
        before: datetime | None = None
        for k, t in enumerate(runs):
            step(db, model, columns, k, before, t)
            before = t
        results[model.name] = judge(db, model, columns, runs[-1])
        print(model.name, results[model.name], flush=True)
    rows = db.sql("SELECT count(*) FROM loaded").fetchall()[0][0]
    facts: dict[str, Any] = {
        "rows": rows,
        "runs": len(runs),
        "late_rows": late,
        "look_back_days": DAYS,
    }
    facts["list"] = LISTS.one
    save("lookback_real", {"facts": facts, "models": results})


def load(db: duckdb.DuckDBPyConnection, path: str) -> list[datetime]:
    """The messages with the run that first reads them and their effective arrival; the runs' t."""
    db.execute(
        f"""CREATE TABLE read AS SELECT *, max(ts) OVER
        (PARTITION BY newsgroup ORDER BY archive_seq) AS readable FROM '{path}'"""
    )
    db.execute(
        """CREATE TABLE runs AS SELECT row_number() OVER (ORDER BY t) - 1 AS k, t,
        coalesce(lag(t) OVER (ORDER BY t), TIMESTAMPTZ '1970-01-01 00:00:00+00') AS tau FROM
        (SELECT DISTINCT date_trunc('month', readable) + INTERVAL 1 MONTH AS t FROM read)"""
    )
    # A late row arrives at the first instant after the last run that could not see it.
    db.execute(
        """CREATE TABLE loaded AS SELECT read.*, k AS run, row_number() OVER () AS id,
        CASE WHEN ts > tau THEN ts ELSE tau + INTERVAL 1 MICROSECOND END AS arr
        FROM read JOIN runs ON readable > tau AND readable <= t"""
    )
    found = db.sql("SELECT t FROM runs ORDER BY k").fetchall()
    return [row[0].astimezone(timezone.utc) for row in found]


def create_targets(db: duckdb.DuckDBPyConnection, model: Model) -> str:
    """Empty targets; the names of the model's own columns."""
    select = model.select.format(visible="loaded", one=LISTS.one, now="now()")
    columns = [name for name in db.sql(select).columns if name != "since"]
    for target in ("append", "merge", "rebuild"):
        db.execute(f"CREATE OR REPLACE TABLE {target}_ AS {select} LIMIT 0")
    listed = ", ".join(columns)
    db.execute(f"CREATE OR REPLACE TABLE tapestry_ AS SELECT {listed}, since FROM append_")
    return listed


def step(
    db: duckdb.DuckDBPyConnection,
    model: Model,
    columns: str,
    k: int,
    tau: datetime | None,
    t: datetime,
) -> None:
    """One run of every model after the k-th batch."""
    visible = VISIBLE.format(k=k)
    now = f"TIMESTAMPTZ '{t:%Y-%m-%d %H:%M:%S}+00'"
    select = model.select.format(visible=visible, one=LISTS.one, now=now)
    db.execute(f"CREATE OR REPLACE TABLE rebuild_ AS {select}")
    last = "coalesce((SELECT max(since) FROM {}), TIMESTAMPTZ '1970-01-01 00:00:00+00')"
    db.execute(
        f"INSERT INTO append_ SELECT * FROM ({select}) WHERE since > {last.format('append_')}"
    )
    keys = ", ".join(model.key)
    db.execute(
        f"""CREATE OR REPLACE TEMP TABLE source AS SELECT * FROM rebuild_
        WHERE since > {last.format("merge_")} - INTERVAL {DAYS} DAYS
        QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY since) = 1"""
    )
    db.execute(f"DELETE FROM merge_ WHERE ({keys}) IN (SELECT ({keys}) FROM source)")
    db.execute("INSERT INTO merge_ SELECT * FROM source")
    answers = new(db, model, visible, tau, t)
    db.execute(f"INSERT INTO tapestry_ SELECT {columns}, _matched_at FROM ({answers})")


def new(
    db: duckdb.DuckDBPyConnection, model: Model, visible: str, tau: datetime | None, t: datetime
) -> str:
    """Q^I for DuckDB, over the rows that this run can see."""
    described = db.sql("SELECT * FROM loaded LIMIT 0")
    types = ["timestamp" if "TIME" in str(one) else "string" for one in described.types]
    schema = tuple(Column(*pair) for pair in zip(described.columns, types, strict=True))
    rewriting = BY_NAME[model.query].rewriting(schema, LISTS)
    late = scan(visible, "arr", late=True)[SOURCE]
    scans = {SOURCE: Scan(late.relation, late.arrival, "id", late=True)}
    return rewriting.incremental(Window(tau, t), scans, dialect="duckdb")


def judge(
    db: duckdb.DuckDBPyConnection, model: Model, columns: str, end: datetime
) -> dict[str, Any]:
    """For each target: its rows, answers never delivered, copies lost, rows that are no answer."""
    at = f"TIMESTAMPTZ '{end:%Y-%m-%d %H:%M:%S}+00'"
    db.execute(f"CREATE OR REPLACE TABLE truth AS {model.truth.format(one=LISTS.one, end=at)}")
    result: dict[str, Any] = {"truth": _count(db, "SELECT 1 FROM truth")}
    for target in ("append", "merge", "rebuild", "tapestry"):
        mine = f"SELECT {columns} FROM {target}_"
        truth = f"SELECT {columns} FROM truth"
        missing = _count(db, f"{truth} EXCEPT ALL {mine}")
        result[target] = {
            "rows": _count(db, mine),
            "missing": missing,
            "never_delivered": _count(db, f"{truth} EXCEPT {mine}"),
            "surplus": _count(db, f"{mine} EXCEPT ALL {truth}"),
        }
    return result


def _count(db: duckdb.DuckDBPyConnection, sql: str) -> int:
    return int(db.sql(f"SELECT count(*) FROM ({sql})").fetchall()[0][0])


if __name__ == "__main__":
    options: Options = options_of(parser(__doc__).parse_args())
    run()
