"""ARGUS, Figure 5: what the hidden conditions of Examples 2 and 4 are worth.

``python -m benchmarks.figures.argus_fig5 [--rows 320006] [--rounds 5]``
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.common import save
from benchmarks.fedwire import EXAMPLES, HIDDEN, Example, Split, facts, increment, main, splits
from benchmarks.figures._compare import report, with_ratios
from benchmarks.measure import Action, Answering, measure
from benchmarks.options import Options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(spark: SparkSession, options: Options) -> None:
    """Figure 5 of ARGUS: what hidden conditions are worth, added by hand or inferred."""
    for data in splits(spark, options.rows):
        results: dict[str, Any] = {}
        for example in EXAMPLES:
            if example.model not in HIDDEN:
                continue
            measured = measure(
                spark, variants(spark, example, data), options.rounds, budget=options.budget
            )
            results[example.name] = with_ratios(measured)
            report(data.name, example.name, results[example.name])
        name = f"argus_fig5_{data.name.lower()}_{options.rows}"
        save(name, {"data": facts(data), "queries": results})


def variants(spark: SparkSession, example: Example, data: Split) -> dict[str, Action]:
    """The query as written and with what the paper adds by hand; its increment without inference
    and with it."""
    hidden = HIDDEN[example.model]
    as_written, inferred = example.rewriting(data, infer=False), example.rewriting(data)
    return {
        "Q": Answering(spark, example.plain(data)),
        "Q, hidden": Answering(spark, example.plain(data, hidden)),
        "Q^I": Answering(spark, lambda: increment(spark, as_written, data)),
        "Q^I, inferred": Answering(spark, lambda: increment(spark, inferred, data)),
    }


if __name__ == "__main__":
    main(run)
