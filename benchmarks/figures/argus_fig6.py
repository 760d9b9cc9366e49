"""ARGUS, Figure 6: Example 4 over copies of what its conditions on single tables leave.

``Q10`` reads a copy for each of its three tables, two of which hold 85 % of the rows; ``Q11`` only
the selective one. A copy holds the old rows; those that came since are read from the source.

``python -m benchmarks.figures.argus_fig6 [--rows 320006] [--rounds 5]``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.common import save
from benchmarks.fedwire import EXAMPLES, SOURCE, Split, facts, increment, kept, main, splits
from benchmarks.figures._compare import report, with_ratios
from benchmarks.measure import Action, Answering, measure
from benchmarks.options import Options
from benchmarks.queries import instant
from tapestry.sql import Catalog, Rewriting, Scan, Source, rewrite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLE = EXAMPLES[3]
ALIASES = ("r1", "r2", "r3")
COMMON = "type_code = 1000"
CONDITIONS = {"r1": f"{COMMON} AND amount > 1000000", "r2": COMMON, "r3": COMMON}


def run(spark: SparkSession, options: Options) -> None:
    """Figure 6 of ARGUS: copies for all tables of Example 4, for one, for none."""
    for data in splits(spark, options.rows):
        measured = measure(spark, variants(spark, data), options.rounds, budget=options.budget)
        results = {EXAMPLE.name: with_ratios(measured)}
        report(data.name, EXAMPLE.name, results[EXAMPLE.name])
        name = f"argus_fig6_{data.name.lower()}_{options.rows}"
        save(name, {"data": facts(data), "queries": results})


def variants(spark: SparkSession, data: Split) -> dict[str, Action]:
    """The query; its increment over the source, over three copies, over one."""
    rewriting = _apart(data)

    def over(*copied: str) -> Action:
        scans = {
            alias: Scan(
                _copy(spark, data, alias) if alias in copied else data.relation,
                "arrived_at",
                "tran_id",
            )
            for alias in ALIASES
        }
        return Answering(spark, lambda: increment(spark, rewriting, data, scans=scans))

    return {
        "Q": Answering(spark, EXAMPLE.plain(data)),
        "Q^I": over(),
        "Q10": over(*ALIASES),
        "Q11": over("r1"),
    }


def _apart(data: Split) -> Rewriting:
    """Example 4 with a source for each of its tables, so that each has a scan of its own."""
    names = iter(ALIASES)
    sources = {alias: Source(alias, data.columns, "arrived_at") for alias in ALIASES}
    return rewrite(EXAMPLE.text(lambda: next(names)), Catalog(sources))


def _copy(spark: SparkSession, data: Split, alias: str) -> str:
    """The old rows that pass a table's own conditions, kept, and the new ones of the source."""
    passed = CONDITIONS[alias]
    name = f"bench.{SOURCE}_{data.rows - data.new}_{'common' if alias != 'r1' else 'big'}"
    table = kept(spark, name, f"SELECT * FROM {data.old} WHERE {passed} ORDER BY arrived_at")
    assert data.window.tau is not None
    new = f"{passed} AND arrived_at > {instant(data.window.tau)}"
    return f"(SELECT * FROM {table} UNION ALL SELECT * FROM {data.relation} WHERE {new})"


if __name__ == "__main__":
    main(run)
