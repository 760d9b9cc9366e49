"""ARGUS, Figure 4: the seven examples, incrementally over Data1 and Data2, against the queries.

``python -m benchmarks.figures.argus_fig4 [--rows 320006] [--queries Q2 Q4] [--rounds 5]``
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.common import load, save
from benchmarks.fedwire import EXAMPLES, Example, Split, facts, increment, kept, main, splits
from benchmarks.figures._compare import report, with_ratios
from benchmarks.measure import Action, Answering, measure
from benchmarks.options import Options
from tapestry.sql import Window
from tapestry.sql.scan import KnownAnswers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AIMS = {"Q1": 1.3, "Q2": 0.7, "Q4": 0.7, "Q6": 1.3, "Q7": 1.3}
"""The most that an increment may take of its query's time, with as many rows as the paper has."""


def run(spark: SparkSession, options: Options) -> None:
    """Figure 4 of ARGUS: each example's increment against the query itself."""
    for data in splits(spark, options.rows):
        name = f"argus_fig4_{data.name.lower()}_{options.rows}"
        known = load(name)
        results: dict[str, Any] = known["queries"] if known else {}
        for example in EXAMPLES:
            if options.queries and example.name not in options.queries:
                continue
            measured = measure(
                spark, variants(spark, example, data), options.rounds, budget=options.budget
            )
            results[example.name] = with_ratios(measured)
            report(data.name, example.name, results[example.name])
            save(name, {"data": facts(data), "queries": results})


def variants(spark: SparkSession, example: Example, data: Split) -> dict[str, Action]:
    """The query, and its increment; of groups also with what a run keeps of them."""
    rewriting, known = example.rewriting(data), None
    if rewriting.asks_known:
        known = KnownAnswers(_kept(spark, "known", example.text(lambda: data.old)))
    found: dict[str, Action] = {"Q": Answering(spark, example.plain(data))}
    for name, scans in {"Q^I": data.scans(), "Q^I, split": data.scans(split=True)}.items():
        text = partial(increment, spark, rewriting, data, known, scans)
        if name == "Q^I" or text() != increment(spark, rewriting, data, known):
            found[name] = Answering(spark, text)
    if known is not None and rewriting.keeps_states:
        assert data.window.tau is not None
        before = rewriting.states(Window(None, data.window.tau), data.scans())
        at_hand = replace(known, states=_kept(spark, "memory", before))
        found["Q^I + memory"] = Answering(
            spark, partial(increment, spark, rewriting, data, at_hand)
        )
    return found


def _kept(spark: SparkSession, what: str, sql: str) -> str:
    return kept(spark, f"bench.{what}_{hashlib.sha256(sql.encode()).hexdigest()[:12]}", sql)


if __name__ == "__main__":
    main(run)
