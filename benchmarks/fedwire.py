"""Transfers as the ARGUS paper's experiments have them: old rows, then new ones in two ways.

The table grows by two commits: some 20,000 rows (the paper's Data2), then six more that complete
what most of the queries look for (with them: Data1). Each is a version, and a window after the old
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from benchmarks.common import ROOT, bench_root, start_spark
from benchmarks.measure import PlainSession
from benchmarks.options import Options, options_of, parser
from benchmarks.tables import detail
from tapestry.demo.transfers import PLANTED, TransferPlan, write_transfers
from tapestry.instants import from_micros
from tapestry.runs.kinds.continuous.window.measured_first import few_rows
from tapestry.runs.query.holding import SMALL
from tapestry.sql import Catalog, Column, Rewriting, Scan, Source, Window, rewrite
from tapestry.sql.passes.sequence import passes_with
from tapestry.sql.scan import KnownAnswers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = "transaction"
NEW = 20_000
PER_DAY = 100_000
"""Rows of a day where there are more than in the paper."""
CHAINS = 1_500
"""There is one chain in so many rows then."""
ROW_ID = "struct(_metadata.file_path, _metadata.row_index)"
HIDDEN = {
    "q2_left_within_ten_days": ("r2.amount > 500000",),
    "q4_left_through_another_bank": ("r2.amount > 500000", "r3.amount > 500000"),
}
"""What follows from the conditions of Examples 2 and 4, as the paper adds it by hand."""
_MODELS = ROOT / "models/transfers"


@dataclass(frozen=True)
class Split:
    """The transfers up to some row, cut into old and new ones."""

    name: str
    relation: str  # with its version, as a run would pin it
    old: str  # the old rows alone
    rows: int
    new: int
    file_bytes: int
    columns: tuple[Column, ...]
    window: Window

    def scans(self, split: bool = False) -> dict[str, Scan]:
        """How a run reads the table; ``split``: as if it was a large one, in any case."""
        little = self.file_bytes <= SMALL and not split
        return {SOURCE: Scan(self.relation, "arrived_at", ROW_ID, little=little)}


@dataclass(frozen=True)
class Example:
    """One of the paper's seven examples: a model of ``models/transfers``."""

    model: str

    @property
    def name(self) -> str:
        """``Q4``."""
        return self.model.split("_")[0].upper()

    def text(self, relation: Callable[[], str], conditions: tuple[str, ...] = ()) -> str:
        """The query, each of its tables as ``relation`` names it; further conditions at its end."""
        template = jinja2.Template((_MODELS / f"{self.model}.sql").read_text("utf-8"))
        text = template.render(source=lambda *_: relation())
        return "\n  and ".join([text.rstrip(), *conditions])

    def plain(self, data: Split, conditions: tuple[str, ...] = ()) -> str:
        """The query over all rows, as plain SQL."""
        return self.text(lambda: data.relation, conditions)

    def rewriting(self, data: Split, infer: bool = True) -> Rewriting:
        """The query, ready to be rendered as Q^I; ``infer``: with what its conditions imply."""
        catalog = Catalog({SOURCE: Source(SOURCE, data.columns, "arrived_at")})
        return rewrite(self.text(lambda: SOURCE), catalog, passes=passes_with(infer))


EXAMPLES = tuple(Example(path.stem) for path in sorted(_MODELS.glob("q*.sql")))


def plan_of(rows: int) -> TransferPlan:
    """The paper's transfers, or a day for each 100,000 rows where more are asked for."""
    if rows <= TransferPlan().rows:
        return TransferPlan()
    days = rows // PER_DAY
    return TransferPlan(days, PER_DAY, accounts=min(2_000_000, rows // 15), chains=rows // CHAINS)


def splits(spark: SparkSession, rows: int) -> tuple[Split, Split]:
    """Data1 and Data2, made once."""
    plan = plan_of(rows)
    table = f"bench.fedwire_{plan.rows}"
    last = plan.rows - len(PLANTED)
    if not spark.catalog.tableExists(table):
        _fill(spark, table, plan, last)
    return _split(spark, table, "Data1", 2), _split(spark, table, "Data2", 1)


def main(run: Callable[[SparkSession, Options], None]) -> None:
    """Run one figure from the command line, over as many transfers as the paper has."""
    wanted = parser(run.__doc__)
    wanted.set_defaults(rows=TransferPlan().rows, no_real=True)
    options = options_of(wanted.parse_args())
    run(start_spark(), options)


def kept(spark: SparkSession, table: str, sql: str) -> str:
    """What a query gives as a table, made once."""
    if not spark.catalog.tableExists(table):
        spark.sql(sql).write.format("delta").saveAsTable(table)
    return table


def increment(
    spark: SparkSession,
    rewriting: Rewriting,
    data: Split,
    known: KnownAnswers | None = None,
    scans: Mapping[str, Scan] | None = None,
) -> str:
    """Q^I as a run makes it: it counts first what it narrows to, where that can matter."""
    scans = scans or data.scans()
    found = few_rows(PlainSession(spark), rewriting, data.window, scans, [data.file_bytes])
    if found.measured is not None:
        rewriting = rewriting.knowing(found.measured)
    return rewriting.incremental(data.window, scans, few=found.few, known=known)


def _fill(spark: SparkSession, table: str, plan: TransferPlan, last: int) -> None:
    """One commit with the old rows, one with the new ones, one with the last six."""
    folder = bench_root() / f"transfers_{plan.rows}"
    files = [str(path) for path in _files(folder, plan)]
    frame = spark.read.parquet(*files)
    old, most = last - NEW, NEW if plan.days == TransferPlan().days else PER_DAY
    for low, high in ((0, old), (old, last), (last, plan.rows)):
        part = frame.where(f"tran_id > {low} AND tran_id <= {high}")
        writer = part.write.format("delta").mode("append")
        writer.option("maxRecordsPerFile", most).saveAsTable(table)


def _files(folder: Path, plan: TransferPlan) -> list[Path]:
    found = sorted(folder.glob("*.parquet"))
    return found if len(found) == plan.days else write_transfers(folder, plan)


def _split(spark: SparkSession, table: str, name: str, version: int) -> Split:
    pinned = f"{table} VERSION AS OF {version}"
    old = f"{table} VERSION AS OF 0"
    ends = [
        spark.sql(f"SELECT unix_micros(max(arrived_at)), count(*) FROM {one}").collect()[0]
        for one in (old, pinned)
    ]
    columns = tuple(Column(f.name, f.dataType.simpleString()) for f in spark.table(table).schema)
    window = Window(*(from_micros(end[0]) for end in ends))
    rows, size = ends[1][1], int(detail(spark, table)["sizeInBytes"])
    return Split(name, pinned, old, rows, rows - ends[0][1], size, columns, window)


def facts(data: Split) -> dict[str, Any]:
    """What the page says of the data."""
    return {"rows": data.rows, "mib": round(data.file_bytes / 2**20, 1), "new": data.new}
