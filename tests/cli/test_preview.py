"""Costs of a run that is only looked at."""

from __future__ import annotations

from tapestry.runs.kinds.continuous.after.cost import size_in

PLAN = """== Optimized Logical Plan ==
Project [id#1], Statistics(sizeInBytes=99.0 MiB)
+- Join Inner, (parent#2 = id#1), Statistics(sizeInBytes=1.0 EiB)
   :- Filter (ts#3 > 1), Statistics(sizeInBytes=25.1 KiB)
   :  +- Relation db.m[id#1,ts#3] parquet, Statistics(sizeInBytes=25.1 KiB)
   +- Relation db.n[parent#2] parquet, Statistics(sizeInBytes=2.0 MiB, rowCount=7)

== Physical Plan ==
Relation db.x[id#1] parquet, Statistics(sizeInBytes=5.0 GiB)
"""


def test_bytes_of_a_plan_are_those_of_its_relations() -> None:
    assert size_in(PLAN) == int(25.1 * 1024) + 2 * 2**20
    assert size_in("== Optimized Logical Plan ==\nLocalRelation <empty>, [id#1]\n") == 0
