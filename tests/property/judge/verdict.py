"""The one place that calls what is judged: `tapestry.sql.rewrite`."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from itertools import combinations
from typing import Any, Protocol
from zlib import crc32

import duckdb
from sqlglot import exp, parse_one

from judge.case import Case, expected, normalized
from judge.data import Data
from judge.oracle import Answers, literal, load
from judge.schema import ARRIVAL, SPARK_TYPES, TABLES
from tapestry import errors
from tapestry import sql as judged
from tapestry.sql.branches.join_order import written
from tapestry.sql.facts.walk import all_tables
from tapestry.sql.scan import LEFT, RIGHT
from tapestry.sql.write.dialects import for_dialect


@dataclass(frozen=True)
class Verdict:
    """What came of a case: `kind` is equal, refused, slow, engine, crashed or different."""

    kind: str
    text: str = ""
    strategy: str = ""
    answers: int = 0

    @property
    def failed(self) -> bool:
        """Is the rewriter wrong?"""
        return self.kind in ("crashed", "different")


class Problem(Protocol):
    """What is judged: a query over data in windows, random or written down."""

    @property
    def sql(self) -> str: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def data(self) -> Data: ...
    @property
    def ends(self) -> tuple[datetime, ...]: ...
    @property
    def begin(self) -> datetime | None: ...
    @property
    def assume(self) -> tuple[str, ...]: ...
    @property
    def pinned(self) -> bool: ...


Run = Callable[[str], Any]
NEVER = datetime(9999, 12, 31)
SECONDS, LARGEST = (
    5.0,
    150_000,
)  # processor time of a case, characters of a run's SQL: more is "slow"

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


ENDING = judged.Catalog(
    {
        name: replace(source, ends=source.arrival is not None)
        for name, source in CATALOG.relations.items()
        if isinstance(source, judged.Source)
    }
)
"""The same where rows end."""


def catalog_of(data: Data) -> judged.Catalog:
    """What the rewriter is told of the tables."""
    return ENDING if data.ended else CATALOG


def with_ends(table: str) -> str:
    """A relation of the table's rows that says of each when it ends."""
    return f"(SELECT * REPLACE (coalesce(_ended, {literal(NEVER)}) AS _ended) FROM {table})"


def utc(moment: datetime | None) -> datetime | None:
    """The same instant, aware."""
    return None if moment is None else moment.replace(tzinfo=timezone.utc)


def scans(
    case: Problem,
    t: datetime,
    names: tuple[str, ...],
    living: bool = False,
    little: bool = False,
) -> dict[str, Any]:
    """The scans of one run: by effective arrival if rows may be late, else by the column.

    ``living``: without the rows that have ended by t; ``little``: of tables said to be small.
    """
    found = {}
    for name in names:
        relation, arrival = name, ARRIVAL[name]
        if arrival is not None and case.data.ended:
            relation = with_ends(name)
            if living:
                relation = f"(SELECT * FROM {relation} WHERE _ended > {literal(t)})"
        if arrival is not None and case.pinned:
            seen = f"_arr <= {literal(t)} OR _arr IS NULL"
            relation = f"(SELECT * FROM {relation} WHERE {seen})"
        if arrival is not None and case.data.late:
            arrival = "_arr"
        late = arrival is not None and case.data.late
        found[name] = judged.Scan(relation, arrival, "_rid", late, little)
    return found


class TooLongError(BaseException):
    """A case takes more time than a test of thousands can give it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """At most so much processor time, where the platform can measure it."""

    def stop(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


ENGINE_FAULT = "Duplicate named argument"
"""DuckDB 2.0 cannot copy a plan with greatest(a.x, b.x): nothing can be said of such a query."""


def dated(data: Data, read: dict[str, Any], tau: datetime | None) -> dict[str, Any]:
    """The scans, which say how early the rows are that came late after tau."""
    found = dict(read)
    for name, scan in read.items():
        column = ARRIVAL[name]
        if column is None or tau is None or not scan.late:
            continue
        place = list(TABLES[name]).index(column)
        rows = [row for row in data.rows[name] if row[-2] is not None and row[-2] > tau]
        late = [row[place] for row in rows if row[place] <= tau]
        found[name] = replace(scan, late_from=utc(min(late, default=datetime.max)))
    return found


def condition_of(text: str) -> exp.Expr:
    """A condition that was written for Spark; sqlglot reads what it writes for an instant from
    microseconds as a function that it does not know."""

    def instant(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and node.name.upper() == "TIMESTAMP_MICROS":
            return exp.UnixToTime(this=node.expressions[0], scale=exp.UnixToTime.MICROS)
        return node

    return parse_one(text, dialect="spark").transform(instant)


def remembered(rewriting: Any, read: dict[str, Any], dialect: str) -> dict[str, Any]:
    """Each use of a source without the rows that its own conditions leave out, as memories are.

    A memory may be of some of the conditions only: two of three are left.
    """
    apart = {}
    for use in rewriting.uses:
        scan = read[use.source]
        held = [one for one in use.conditions if crc32(one.encode()) % 3]
        if held:
            spark = condition_of(" AND ".join(f"({one})" for one in held))
            kept = for_dialect(spark, dialect).sql(dialect)
            apart[use.alias] = replace(
                scan, relation=f"(SELECT * FROM {scan.relation} WHERE {kept})"
            )
    return apart


def joined(
    rewriting: Any, read: dict[str, Any], dialect: str, ended: bool
) -> dict[tuple[str, str], Any]:
    """Some uses of sources in pairs that their own conditions leave, as stored joins are.

    Of the two first uses that are joined, the later one stands left.
    """
    of_all = ["_arr", "_rid", *(["_ended"] if ended else [])]
    for right, left in combinations(rewriting.uses, 2):
        pair = rewriting.pairing(left.alias, right.alias)
        if pair is None:
            continue
        sides = []
        for use, side in ((left, LEFT), (right, RIGHT)):
            names = [*TABLES[use.source], *of_all]
            listed = ", ".join(f"{name} AS {side}{name}" for name in names)
            wanted = " AND ".join(f"({one})" for one in use.conditions) or "true"
            spark = condition_of(wanted)
            kept = for_dialect(spark, dialect).sql(dialect)
            sides.append(f"(SELECT {listed} FROM {read[use.source].relation} WHERE {kept})")
        spark = condition_of(" AND ".join(f"({one})" for one in pair.conditions))
        kept = for_dialect(spark, dialect).sql(dialect)
        both = f"(SELECT * FROM {sides[0]} AS a CROSS JOIN {sides[1]} AS b WHERE {kept})"
        scans_ = read[left.source], read[right.source]
        arrivals = LEFT + scans_[0].arrival, RIGHT + scans_[1].arrival
        ids = LEFT + scans_[0].row_id, RIGHT + scans_[1].row_id
        return {pair.aliases: judged.JoinScan(both, arrivals, ids)}
    return {}


def ordered(case: Problem, rewriting: Any, read: dict[str, Any], tau: datetime | None) -> Any:
    """The query with its tables joined in some order: the author's, or by sizes made up."""
    rng = random.Random(f"{len(case.sql)} {tau}")
    sized = {
        name: replace(
            scan,
            size=rng.choice((0, 1, 10**6, 10**9)),
            since=rng.choice((None, utc((tau or NEVER) - timedelta(days=30)))),
        )
        for name, scan in read.items()
    }
    named = sorted({written(table) for table in all_tables(rewriting.arms)})
    names = rng.sample(named, rng.randint(0, len(named))) if rng.random() < 0.5 else []
    return rewriting.joining(names), sized


def knowing(rewriting: Any, window: Any, read: dict[str, Any], dialect: str, run: Run) -> Any:
    """The rewriting, where the rows of its branches were measured as a run measures them."""
    large = {name: replace(scan, little=False) for name, scan in read.items()}
    measurement = rewriting.measurement(window, large, dialect)
    if measurement is None:
        return rewriting
    return rewriting.knowing(measurement.read(run(measurement.sql)))


def statements(
    case: Problem, rewriting: Any, dialect: str, run: Run, living: Any = None
) -> list[tuple[datetime, str]]:
    """The SQL of every run; every other one is told that its rows are few, some that all are, two
    of three read their sources from memories, the first of them two of them joined, and two of
    three know what was measured of rows. Tables are joined in any order.

    ``living`` is for what comes after the last end of a window, or for all of a window in which no
    row ends: over the rows that have not ended by then.
    """
    texts: list[tuple[datetime, str]] = []
    tau: datetime | None = None
    for t in case.ends:
        few, parts = len(texts) % 2 == 1, [(rewriting, tau, t)]
        little = (len(case.sql) + len(texts)) % 3 == 0
        if living is not None and tau is not None:
            last = max((end for end in case.data.ended.values() if tau < end <= t), default=tau)
            parts = [(rewriting, tau, last), (living, last, t)]
        asked = []
        for one, low, high in parts:
            if low is None or low < high:
                read = scans(case, t, one.sources, one is living, little)
                read = dated(case.data, read, low) if few else read
                apart = remembered(one, read, dialect) if len(texts) % 3 else {}
                window = judged.Window(utc(low), utc(high))
                pairs = (
                    joined(one, read, dialect, bool(case.data.ended)) if len(texts) % 3 == 1 else {}
                )
                form = knowing(one, window, read, dialect, run) if (few or little) else one
                form, read = ordered(case, form.reading(apart, pairs), read, low)
                asked.append(form.incremental(window, read, dialect=dialect, few=few))
        texts.append((t, "\nUNION ALL ".join(f"SELECT * FROM ({text}) AS asked" for text in asked)))
        tau = t
    return texts


def judge(
    case: Case, connection: duckdb.DuckDBPyConnection, rewrite: Any = judged.rewrite
) -> Verdict:
    """Compare the runs of a case in DuckDB with the definition."""
    right = expected(case, connection)
    try:
        with limited(SECONDS):
            return compare(case, right, duck_runs(case.data, connection), "duckdb", rewrite)
    except TooLongError:  # time was up while something else was told
        return Verdict("slow", case.sql, "", right.total())


def duck_runs(data: Data, connection: duckdb.DuckDBPyConnection) -> Run:
    """Executes in DuckDB over these rows."""
    load(connection, data)
    return lambda text: connection.execute(text).fetchall()


def compare(
    case: Problem, right: Answers, run: Run, dialect: str, rewrite: Any = judged.rewrite
) -> Verdict:
    """Compare the runs of a case with what is right."""
    total, strategy, text = right.total(), "", ""
    try:
        rewriting = rewrite(case.sql, CATALOG, assume=case.assume, begin=utc(case.begin))
        strategy, living = rewriting.strategy, None
        if case.data.ended:
            living = rewriting if rewriting.forgets_ended else None
            rewriting = rewrite(case.sql, ENDING, assume=case.assume, begin=utc(case.begin))
            strategy = "forgetting" if living is not None else rewriting.strategy
        if tuple(rewriting.columns) != case.names:
            names = f"columns {rewriting.columns} for {case.names}"
            return Verdict("different", names, strategy, total)
        tau: datetime | None = None
        for t, text in statements(case, rewriting, dialect, run, living):
            if len(text) > LARGEST:
                raise TooLongError
            difference = _difference(normalized(run(text)), right, tau, t)
            if difference:
                return Verdict("different", f"{difference}\n{text}", strategy, total)
            tau = t
    except errors.Refusal as refusal:
        return Verdict("refused", refusal.reason, strategy, total)
    except TooLongError:
        return Verdict("slow", case.sql, strategy, total)
    except Exception as error:
        if "Query interrupted" in str(error):
            return Verdict("slow", case.sql, strategy, total)
        if ENGINE_FAULT in str(error):
            return Verdict("engine", case.sql, strategy, total)
        return Verdict("crashed", f"{type(error).__name__}: {error}\n{text}", strategy, total)
    return Verdict("equal", "", strategy, total)


def _difference(got: Answers, right: Answers, tau: datetime | None, t: datetime) -> str:
    """How a run's rows differ from the answers whose first instant lies in its window."""
    mine = {row: n for row, n in right.items() if row[-1] <= t and (tau is None or row[-1] > tau)}
    part = Counter(mine)
    if got == part:
        return ""
    missing, unexpected = _rows(part - got), _rows(got - part)
    return f"window ({tau}, {t}]\n  missing    {missing}\n  unexpected {unexpected}"


def _rows(rows: Answers) -> str:
    texts = (f"{n}x({', '.join(str(cell) for cell in row)})" for row, n in rows.items())
    return "; ".join(texts) or "none"
