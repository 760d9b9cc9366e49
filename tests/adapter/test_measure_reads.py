"""Files and bytes that a statement read, as Spark's metrics tell them."""

from __future__ import annotations

from dbt.adapters.tapestry.measure_reads import files_of, sizes_of


def test_files_are_told_from_what_spark_says_of_its_metrics() -> None:
    metrics = (
        "List(SQLPlanMetric(number of files read,12,sum), SQLPlanMetric(scan time,13,timing),"
        " SQLPlanMetric(number of files read,112,sum), SQLPlanMetric(number of files read,7,sum))"
    )
    times = "total (min, med, max (stageId: taskId))\n12 ms (1 ms, 5 ms, 6 ms (stage 3.0: task 7))"
    values = f"HashMap(112 -> 1,234, 13 -> {times}, 12 -> 5)"
    assert sum(files_of(metrics, values)) == 1_239


def test_sizes_are_told_in_all_the_ways_in_which_spark_writes_them() -> None:
    numbers = (12, 1, 112, 2)
    metrics = ", ".join(f"SQLPlanMetric(size of files read,{one},size)" for one in numbers)
    several = "total (min, med, max (stageId: taskId))\n1.5 KiB (0.0 B, 512.0 B, 1024.0 B (s: t))"
    values = f"HashMap(112 -> 818.9 MiB, 2 -> 0.0 B, 1 -> 1,023 B, 12 -> {several})"
    wanted = [1_536, 1_023, round(818.9 * 2**20), 0]
    assert list(sizes_of(f"List({metrics})", values)) == wanted
