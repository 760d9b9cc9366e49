"""What one small warm run is made of: seconds by part, statements, Spark jobs, commits, snapshots.

60,000 generated messages, 1,000 new ones a round, one process, one model at a time beside a `table`
of the same query. Stacks of the threads that execute statements are sampled every 5 ms within
Spark's process; each sample belongs to the first part in ``PARTS`` that one of its frames names.
What is left of a run's seconds is Python's: dbt, this adapter, and the way to Spark.

``python -m benchmarks.run_parts [--rounds 9] [--new 1000] [--models filter_off …] [--stacks FILE]``
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.common import ROOT, save, start_spark
from benchmarks.dbt_project import with_config
from benchmarks.options import options_of, parser
from benchmarks.small_runs import QUERIES, ROWS, Project, counting, instants_of
from benchmarks.tables import generated_file
from tapestry.instants import from_micros

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "small_runs"
INTERVAL_MS = 5
MAINTAINED = {"materialized": "maintained", "verify": "off"}
MORE = {
    "filter_maintained": QUERIES["filter"],
    "groups_maintained": "select author, count(*) as n, max(ts) as last from {m} group by author",
    "groups_table": "select author, count(*) as n, max(ts) as last from {m} group by author",
}
MORE_MODELS = {
    name: with_config(
        text.format(m="{{ source('bboard', 'messages') }}"),
        **({"materialized": "table"} if name.endswith("table") else MAINTAINED),
    )
    for name, text in MORE.items()
}
MODELS = ("filter_table", "filter_off", "filter_sample", "join_sample", "not_exists_sample")
MODELS += tuple(MORE)
PARTS = (
    ("compile generated code", r"CodeGenerator\$|codehaus"),
    ("Delta: which transactions a version has", "extractComputedState"),
    ("Delta: which files a scan reads", "convertDataFrameToAddFiles|filesForScan|PrepareDeltaScan"),
    ("Delta: replay of a version's log", "stateReconstruction|CachedDS|cachedState"),
    ("Delta: the log's folder", r"DeltaLog\$\.forTable|SnapshotManagement|LogStore|getSnapshotAt"),
    ("Delta: statistics of what is written", "StatisticsCollection|getStatsColExpr|StatsTracker"),
    ("Delta: rows' files are written", "DeltaFileFormatWriter"),
    ("Delta: after a commit", "runPostCommitHook|updateAfterCommit"),
    ("Delta: the rest of a commit", r"OptimisticTransactionImpl\.\$?(anonfun\$)?(doC|c)ommit"),
    ("Delta: history", "DeltaHistory"),
    ("Spark: parse", "catalyst.parser.AbstractParser"),
    ("Spark: analyse", r"catalyst\.analysis\.Analyzer|CheckAnalysis"),
    ("Spark: optimise", r"optimizedPlan|commandExecuted.*Optimizer|catalyst\.optimizer"),
    ("Spark: plan", r"sparkPlan\b|executedPlan\b|QueryExecution\$?\.prepareForExecution"),
    (
        "wait for the rows of a statement",
        r"DAGScheduler\.runJob|CompletionState|AdaptiveSparkPlan|Broadcast",
    ),
    ("Spark: the rest", "org.apache.spark"),
)


def samples_of(text: str) -> list[tuple[int, str, str]]:
    """Times seen, kind of thread (`T`: a statement's, `E`: a task's, `=`: which were at work)."""
    lines = (line.split(" ", 2) for line in text.splitlines())
    return [(int(times), kind[:1], stack) for times, kind, stack in lines]


def part_of(stack: str) -> str:
    """The first part that a frame of the stack names."""
    return next((name for name, pattern in _PATTERNS if pattern.search(stack)), "other")


_PATTERNS = [(name, re.compile(pattern)) for name, pattern in PARTS]


def sampler(spark: SparkSession) -> Any:
    """The class of the sampler in Spark's process, compiled there."""
    jvm = spark._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(Path(__file__).with_name("StackSampler.java").read_text("utf-8"))
    made = compiler.getClassLoader().loadClass("StackSampler").getConstructors()[0]
    arguments = spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 1)
    arguments[0] = jvm.java.lang.Long.valueOf(INTERVAL_MS)
    return lambda: made.newInstance(arguments)


def jobs_since(spark: SparkSession, first: int) -> Counter[str]:
    """What Spark's jobs from that number on say of themselves, numbers left out."""
    listed = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    found: Counter[str] = Counter()
    for place in range(listed.size()):
        job = listed.apply(place)
        if job.jobId() >= first:
            said = job.description()
            text = said.get() if said.isDefined() else job.name()
            text = re.sub(r"\d+", "N", text.replace(f"{ROOT}/", ""))
            found[" ".join(text.split())[:60]] += 1
    return found


class Parts:
    """What was seen of one model's runs."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.parts: list[Counter[str]] = []
        self.counts: list[dict[str, float]] = []
        self.jobs: Counter[str] = Counter()
        self.stacks: Counter[str] = Counter()

    def add(self, seconds: float, text: str, wall: float, counts: dict[str, float]) -> None:
        """One run: its samples, as seconds."""
        samples = samples_of(text)
        each = wall / max(1, sum(times for times, kind, _ in samples if kind == "="))
        parts: Counter[str] = Counter()
        for times, kind, stack in samples:
            if kind == "T":
                parts[part_of(stack)] += times * each
                self.stacks[stack] += times
            elif kind == "=" and stack != "T":
                parts["Python, dbt, py4j"] += times * each
        self.seconds.append(seconds)
        self.parts.append(parts)
        self.counts.append(counts)

    def medians(self) -> dict[str, Any]:
        """Medians over the runs."""
        names = [*(name for name, _ in PARTS), "other", "Python, dbt, py4j"]
        parts = {name: statistics.median(one[name] for one in self.parts) for name in names}
        counts = {
            name: statistics.median(one[name] for one in self.counts) for name in self.counts[0]
        }
        jobs = {name: round(n / len(self.seconds), 1) for name, n in self.jobs.most_common(12)}
        seconds = statistics.median(self.seconds)
        return {"seconds": seconds, "parts": parts, "counts": counts, "jobs": jobs}


def measure(spark: SparkSession, models: Sequence[str], rounds: int, new: int) -> dict[str, Parts]:
    """Each model by itself after each load of new rows, in turn."""
    project = Project(spark, 1, MORE_MODELS)
    frame = spark.read.parquet(str(generated_file(ROWS + (rounds + 5) * new + 10_000)))
    instants = instants_of(frame, rounds + 4, new)
    schema = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema)
    spark.sql(f"CREATE TABLE {SCHEMA}.messages ({schema}) USING delta")
    project.grow(frame, from_micros(0), instants[0], timedelta(0))
    project.run(instants[0], models)
    begin, found = sampler(spark), {model: Parts() for model in models}
    for number in range(rounds + 3):
        project.grow(frame, instants[number], instants[number + 1], timedelta(0))
        for model in models:
            first = spark.sparkContext._jsc.sc().dagScheduler().nextJobId()
            with counting(project) as counts:
                sampling = begin()
                ran, wall = project.run(instants[number + 1], [model])
                text = sampling.stop()
            if number >= 3:
                found[model].add(ran[model].seconds, text, wall, counts)
                found[model].jobs += jobs_since(spark, int(first))
        print(number, {m: round(p.seconds[-1], 2) for m, p in found.items() if p.seconds})
    return found


def main() -> None:
    """Measure, show and keep it."""
    wanted = parser(__doc__)
    wanted.set_defaults(rounds=9)
    wanted.add_argument("--new", type=int, default=1_000)
    wanted.add_argument("--models", nargs="+", default=MODELS)
    wanted.add_argument("--stacks", type=Path, help="write the stacks that were seen")
    arguments = wanted.parse_args()
    options_of(arguments)
    found = measure(start_spark(), arguments.models, arguments.rounds, arguments.new)
    result = {model: parts.medians() for model, parts in found.items()}
    for model, one in result.items():
        print(f"{model} {one['seconds']:.2f} s", one["counts"])
        for name, seconds in sorted(one["parts"].items(), key=lambda pair: -pair[1]):
            print(f"  {name:36} {seconds:.3f}")
        print("  ", one["jobs"], flush=True)
    if arguments.stacks:
        lines = (
            f"{model} {n} {stack}"
            for model, parts in found.items()
            for stack, n in parts.stacks.most_common()
        )
        arguments.stacks.write_text("\n".join(lines), "utf-8")
    facts = {"rounds": arguments.rounds, "new": arguments.new}
    save("run_parts", {**facts, "found": result})


if __name__ == "__main__":
    main()
