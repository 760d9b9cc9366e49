"""ARGUS, Figure 6: Example 4 over memories of what its conditions on single tables leave.

``Q10`` reads a memory for each of its three tables, two of which hold 85 % of the rows as the
conditions are written; ``Q11`` only the selective one; ``joined`` besides those of ``Q10`` the
stored join of the first two. They hold the old rows; what came since is read from the source, as in
a run. The same without the conditions on dates, which else leave out
old files.

``python -m benchmarks.figures.argus_fig6 [--rows 320006] [--rounds 5]``
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarks.common import save
from benchmarks.fedwire import EXAMPLES, SOURCE, Split, facts, increment, main, splits
from benchmarks.figures._compare import report, with_ratios
from benchmarks.measure import Action, Answering, PlainSession, measure
from benchmarks.options import Options
from tapestry.quoting import relation_name
from tapestry.runs.memories.definition import MemoryDefinition, MemorySide
from tapestry.runs.memories.find import find, scan_of_join
from tapestry.runs.memories.keep import build, flush
from tapestry.runs.memories.log import MemoryLog
from tapestry.runs.memories.state import MemoryState, look_at
from tapestry.runs.sources.describe import DeltaSource, arrival_column, describe
from tapestry.runs.sources.pins import Pin
from tapestry.sql import Catalog, Rewriting, Scan, Source, rewrite
from tapestry.sql.look.joined_uses import JoinedUse
from tapestry.sql.look.uses_of_sources import Use
from tapestry.sql.scan import JoinScan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLE = EXAMPLES[3]
ALIASES = ("r1", "r2", "r3")
PAIR = ("r1", "r2")
IDS = ("l_tran_id", "r_tran_id")
LOG = MemoryLog("bench")
UPKEEP_ROUNDS = 3


def run(spark: SparkSession, options: Options) -> None:
    """Figure 6 of ARGUS: memories for all tables of Example 4, for one, for none."""
    for data in splits(spark, options.rows):
        results: dict[str, Any] = {}
        for name, dates in ((EXAMPLE.name, True), (f"{EXAMPLE.name} without dates", False)):
            text = _text(data.relation, dates)
            found = variants(spark, data, text, _rewriting(data, dates))
            results[name] = with_ratios(
                measure(spark, found, options.rounds, budget=options.budget)
            )
            report(data.name, name, results[name])
        upkeep = _upkeep(spark, data)
        print(f"{data.name} {upkeep}", flush=True)
        name = f"argus_fig6_{data.name.lower()}_{options.rows}"
        save(name, {"data": facts(data), "queries": results, "upkeep": upkeep})


def variants(
    spark: SparkSession, data: Split, plain: str, rewriting: Rewriting
) -> dict[str, Action]:
    """The query; its increment over the source, over three memories, over one."""

    def over(*aliases: str, pair: bool = False) -> Action:
        for alias in aliases:
            _built(spark, data, _use(rewriting, alias))
        if pair:
            _built_join(spark, data, rewriting)

        def text() -> str:
            apart: dict[str, Scan] = {}
            found: dict[tuple[str, ...], Scan] = {}  # as a run does: each memory is looked at once
            for alias in aliases:
                use = _use(rewriting, alias)
                if use.conditions not in found:
                    found[use.conditions] = _scan(spark, data, use)
                apart[alias] = found[use.conditions]
            joined = _joined(spark, data, rewriting) if pair else {}
            return increment(spark, rewriting.reading(apart, joined), data)

        return Answering(spark, text)

    return {
        "Q": Answering(spark, plain),
        "Q^I": over(),
        "Q10": over(*ALIASES),
        "Q11": over("r1"),
        "joined": over(*ALIASES, pair=True),
    }


def _text(relation: str, dates: bool) -> str:
    lines = EXAMPLE.text(lambda: relation).splitlines()
    return "\n".join(line for line in lines if dates or "tran_date" not in line)


def _rewriting(data: Split, dates: bool) -> Rewriting:
    catalog = Catalog({SOURCE: Source(SOURCE, data.columns, "arrived_at")})
    return rewrite(_text(SOURCE, dates), catalog)


def _use(rewriting: Rewriting, alias: str) -> Use:
    return next(use for use in rewriting.uses if use.written == alias)


def _wanted(spark: SparkSession, data: Split, use: Use, version: int) -> MemoryDefinition:
    """What a run at a version of the table asks for."""
    table = describe(PlainSession(spark), data.relation.split()[0])
    assert isinstance(table, DeltaSource)
    arrival = arrival_column(table, "arrived_at")
    pin = Pin(table.table_id, version)
    side = MemorySide(table, pin, arrival, use.conditions)
    return MemoryDefinition((side,), "bench", ("UTC",))


def _version(data: Split) -> int:
    return int(data.relation.split()[-1])


def _built(spark: SparkSession, data: Split, use: Use) -> None:
    """A memory of the old rows."""
    wanted = _wanted(spark, data, use, 0)
    if isinstance(look_at(PlainSession(spark), wanted.name), str):
        session = PlainSession(spark)
        LOG.append_deeds(session, "bench", [build(session, wanted, LOG)])


def _scan(spark: SparkSession, data: Split, use: Use) -> Scan:
    """The memory and what came since, looked up as a run does."""
    found = find(PlainSession(spark), _wanted(spark, data, use, _version(data)), LOG)
    assert found.relation, found.reason
    return replace(data.scans()[SOURCE], relation=found.relation, row_id="tran_id")


def _wanted_join(
    spark: SparkSession, data: Split, rewriting: Rewriting, version: int
) -> tuple[JoinedUse, MemoryDefinition]:
    """The pairs of the first two tables that a run at a version of the table asks for."""
    left, right = _use(rewriting, PAIR[0]), _use(rewriting, PAIR[1])
    use = rewriting.pairing(left.alias, right.alias)
    assert use is not None
    sides = [_wanted(spark, data, one, version) for one in (left, right)]
    return use, sides[0].joined(sides[1], use.conditions)


def _built_join(spark: SparkSession, data: Split, rewriting: Rewriting) -> None:
    """A stored join of the old rows."""
    session, (_, wanted) = PlainSession(spark), _wanted_join(spark, data, rewriting, 0)
    if isinstance(look_at(session, wanted.name), str):
        LOG.append_deeds(session, "bench", [build(session, wanted, LOG)])


def _joined(
    spark: SparkSession, data: Split, rewriting: Rewriting
) -> dict[tuple[str, str], JoinScan]:
    """The stored join and what came since, looked up as a run does."""
    use, wanted = _wanted_join(spark, data, rewriting, _version(data))
    found = find(PlainSession(spark), wanted, LOG)
    assert found.relation, found.reason
    return {use.aliases: replace(scan_of_join(wanted, found.relation), row_ids=IDS)}


def _upkeep(spark: SparkSession, data: Split) -> dict[str, Any]:
    """What it takes to build the selective memory, and to add the new rows; its size."""
    session, use = PlainSession(spark), _use(_rewriting(data, True), "r1")
    old = _wanted(spark, data, use, 0)
    old = replace(old, session=("upkeep",))
    new = replace(old, sides=(old.side.at(_version(data)),))
    builds, flushes, size = [], [], 0
    for _ in range(UPKEEP_ROUNDS):
        builds.append(build(session, old, LOG).seconds)
        held = look_at(session, old.name)
        assert isinstance(held, MemoryState)
        (deed,) = flush(session, new, held, LOG)
        flushes.append(deed.seconds)
        size = held.size
    spark.sql(f"DROP TABLE {relation_name(old.name)}")
    return {
        "build_seconds": round(statistics.median(builds), 2),
        "flush_seconds": round(statistics.median(flushes), 2),
        "bytes": size,
    }


if __name__ == "__main__":
    main(run)
