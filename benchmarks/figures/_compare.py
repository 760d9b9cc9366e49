"""Q(t) against Q^I over windows of several sizes: what figures 5, 6 and 9 measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarks.common import load, save
from benchmarks.measure import Action, Answering, PlainSession, measure, ratio
from benchmarks.options import Options
from benchmarks.queries import Query, scan
from benchmarks.tables import Dataset, taus
from tapestry.runs.kinds.continuous.window.measured_first import few_rows
from tapestry.sql import Rewriting, Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def label(share: float) -> str:
    """``1 %`` for 0.01."""
    return f"{100 * share:g} %"


def compare(
    spark: SparkSession,
    data: Dataset,
    queries: tuple[Query, ...],
    shares: tuple[float, ...] = Options.shares,
    rounds: int = 5,
    budget: float = 240.0,
    name: str | None = None,
) -> dict[str, Any]:
    """Query -> variant (``Q`` or a share) -> what was measured, with its ratio to Q.

    With a name the results are kept under it after each query, beside those of other queries.
    """
    windows = {share: Window(tau, data.now) for share, tau in taus(spark, data, shares).items()}
    known = load(name) if name else None
    results = known["queries"] if known and known["data"] == data.facts() else {}
    for query in queries:
        rewriting = query.rewriting(data.columns, data.lists)
        plain = query.text(data.relation, data.lists, data.now)
        variants: dict[str, Action] = {"Q": Answering(spark, plain)}
        for share, window in windows.items():
            sql = as_a_run(spark, rewriting, window, data)
            variants[label(share)] = Answering(spark, sql)
        results[query.name] = with_ratios(measure(spark, variants, rounds, budget=budget))
        report(data.name, query.name, results[query.name])
        if name:
            save(name, {"data": data.facts(), "queries": results})
    return {"data": data.facts(), "queries": results}


def as_a_run(
    spark: SparkSession, rewriting: Rewriting, window: Window, data: Dataset
) -> Callable[[], str]:
    """What makes Q^I each time as a run does: it counts first what it narrows to."""
    scans = scan(data.relation)

    def text() -> str:
        found = few_rows(PlainSession(spark), rewriting, window, scans, [data.file_bytes])
        known = rewriting if found.measured is None else rewriting.knowing(found.measured)
        return known.incremental(window, scans, few=found.few)

    return text


def with_ratios(measured: dict[str, Any], to: str = "Q") -> dict[str, Any]:
    """Each variant with its ratio to one of them."""
    for name, one in measured.items():
        one["ratio"] = round(ratio(measured, name, to), 4)
        one["cpu_ratio"] = round(ratio(measured, name, to, of="cpu_rounds"), 4)
    return measured


def report(data: str, title: str, measured: dict[str, Any]) -> None:
    """Say on the terminal what was found, while the next one runs."""
    for name, one in measured.items():
        read = one["reading"]
        print(
            f"{data} {title:4} {name:>14}: {one['seconds']:8.3f} s ×{one['ratio']:.3f}"
            f" cpu {one['cpu']:7.2f} s ×{one['cpu_ratio']:.3f}"
            f"  {one['answers']} answers, {read['files']} files, {read['rows']} rows",
            flush=True,
        )
