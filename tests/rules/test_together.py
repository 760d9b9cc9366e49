"""One statement over many batches, where it is said to be that, against each of them by itself."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import duckdb
import pytest
from tests.seeds import seeds

from tapestry.runs.kinds.action.statement import ActionStatement, statements_in
from tapestry.runs.kinds.action.together import NotTogetherError, OneStatement, Unit, together_of

SUM = "(select k, sum(v) as s from m group by k) as d"
ADD = "when matched then update set v = t.v + d.s"
NEW = "when not matched then insert (k, v) values (d.k, d.s)"
MERGE = f"merge into t using {SUM} on t.k = d.k {ADD} {NEW}"
KEYED, EACH = Unit(("m",), ("m", "whole"), ("k",)), Unit(("m",), ("m",), single=True)
TWO = Unit(("m",), ("m",), ("k", "x"))

SAME = (
    MERGE,
    MERGE.replace("t.k = d.k", "d.k <=> t.k and t.v >= 0"),
    MERGE.replace("from m", "from m as b join o using (k) where o.w > 1"),
    MERGE.replace("(select k", "(select K").replace("from m ", "from M "),
    f"merge into t using (select m.k as key, sum(m.v + o.w) as s from m left join o on m.k = o.k"
    f" group by 1 having count(*) > 1) as d on t.k = d.key {ADD}",
    f"merge into t using (select k, max(x) as s from m group by x, k) as d on t.k = d.k {ADD}",
    f"merge into t using (select k, sum(v) as s from (select * from m where v > 1) as i group by k)"
    f" as d on t.k = d.k {ADD} {NEW}",
    "merge into t using m as d on t.k = d.k when matched and d.v > 2 then delete",
    f"merge into t using {SUM} on t.k = d.k when matched then update set v = d.s, k = d.k {NEW}",
    "insert into t select k, v from m",
    "insert into t (k, v) select x, v from m where x > 0",
    "insert into t select k, v from m union all select k, x from m where v > 1",
    "insert into t select k, sum(v) from m group by k",
    "insert into t select k, row_number() over (partition by k order by v, x) from m",
    "insert into t select m.k, o.w from m left join o on m.k = o.k",
    "insert into t select m.k, m.v from m where exists (select 1 from o where o.k = m.k)",
    "insert into t select m.k, (select max(w) from o) from m",
)
"""Statements that are the same over batches of k together."""
OTHERWISE = (
    (MERGE.replace("group by k", "group by x").replace("select k", "select x as k"), "GROUP BY"),
    (MERGE.replace("select k", "select k % 2 as k").replace("by k", "by 1"), "GROUP BY is not by"),
    (MERGE.replace("(select k", "(select k % 2 as k"), "ON does not equate k"),
    (MERGE.replace("t.k = d.k", "t.k = d.s"), "ON does not equate k"),
    (MERGE.replace("t.k = d.k", "t.k = d.k or t.v = 1"), "ON does not equate k"),
    (MERGE.replace(ADD, "when matched then update set k = t.k + 1"), "another value than the key"),
    (MERGE.replace("values (d.k,", "values (d.k + 1,"), "another value than the key"),
    (MERGE.replace("insert (k, v) values (d.k, d.s)", "insert (v) values (d.s)"), "their key"),
    (MERGE + " when not matched by source then delete", "NOT MATCHED BY SOURCE"),
    (MERGE.replace("from m", "from m join t as q using (k)"), "reads t"),
    (MERGE.replace("from m", "from m join (select max(v) as a from m) as b on m.v = b.a"), "once"),
    (MERGE.replace("from m", "from whole"), "goes whole"),
    (MERGE.replace("from m", "from o right join m using (k)"), "outer join"),
    (MERGE.replace("from m", "from m right join o using (k)"), "outer join"),
    (MERGE.replace("from m", "from m full join o using (k)"), "outer join"),
    (MERGE.replace("by k", "by all"), "does not name"),
    (MERGE.replace("by k)", "by k limit 1)"), "LIMIT"),
    (f"merge into t using o as d on t.k = d.k {ADD.replace('d.s', 'd.w')}", "no query of a bound"),
    ("insert into t select distinct x, v from m", "DISTINCT"),
    ("insert into t select x, v from m limit 1", "LIMIT"),
    ("insert into t select x, v from m union select x, v from m", "different batches"),
    ("insert into t select x, v from m except select x, v from m", "different batches"),
    ("insert into t select 1, 2 union all select k, v from m", "exactly once"),
    ("insert into t select max(k), sum(v) from m", "may be an aggregate"),
    ("insert into t select 1, 2 from m having true", "HAVING"),
    ("insert into t select x, some_function(v) from m", "may be an aggregate"),
    ("insert into t select x, sum(v) from m group by x", "GROUP BY is not by k"),
    ("insert into t select k, sum(v) from m group by rollup (k)", "GROUP BY"),
    ("insert into t select k, row_number() over (order by v) from m", "a window is not by k"),
    ("insert into t select k, v from m where v > (select avg(v) from m)", "exactly once"),
    ("insert into t select k, v from m where v > (select max(v) from t)", "reads t"),
    ("insert into t select m.k, m.v from o left join m on m.k = o.k", "outer join"),
    ("insert into t with m2 as (select * from m) select k, v from m2", "WITH"),
    ("insert into t select k, cast(rand() * 9 as int) from m", "differs from statement"),
    ("insert into t select 1, 2", "exactly once"),
    ("insert into t values (1, 2)", "rows of a query"),
    ("insert overwrite t select k, v from m", "overwrites"),
    ("insert into t select k, v from m tablesample (10 percent)", "part of a table"),
    ("delete from t where k in (select k from m)", "only a MERGE or an INSERT"),
    ("insert into t select k, v from m; insert into t select k, v from m", "several statements"),
    ("insert into t select '{tapestry.batch:key.k}', v from m", "differs from batch to batch"),
    ("with a as (select 1) insert into t select k, v from m", "a WITH of its own"),
)
"""Statements that are not, or of which it is not known, with the reason."""


def decided(sql: str, unit: Unit) -> OneStatement | str:
    try:
        return together_of(statements_in(sql), unit)
    except NotTogetherError as reason:
        return str(reason)


@pytest.mark.parametrize("sql", SAME)
def test_what_is_the_same(sql: str) -> None:
    found = decided(sql, KEYED)
    assert isinstance(found, OneStatement), found
    assert (found.target, found.bound) == ("t", "m")
    assert found.others in ((), ("o",))


@pytest.mark.parametrize(("sql", "why"), OTHERWISE)
def test_why_not(sql: str, why: str) -> None:
    assert why in str(decided(sql, KEYED))


def test_each_firing_a_batch() -> None:
    """Rows are inserted as they are; two firings may merge into one row."""
    assert isinstance(decided("insert into t select k, v from m", EACH), OneStatement)
    assert "each firing" in str(decided(MERGE, EACH))
    assert "several firings" in str(
        decided("insert into t select k, sum(v) from m group by k", EACH)
    )


def test_two_columns_are_both_told_apart() -> None:
    both = "(select k, x, sum(v) as s from m group by k, x) as d"
    found = decided(f"merge into t using {both} on t.k = d.k and t.v = d.x {ADD}", TWO)
    assert "another value" in str(found)  # v is a key then
    found = decided(
        f"merge into t using {both} on t.k = d.k and t.x = d.x when matched then delete", TWO
    )
    assert isinstance(found, OneStatement)
    assert found.equal == (("k", "k"), ("x", "x"))
    assert "equate x" in str(decided(f"merge into t using {both} on t.k = d.k {ADD}", TWO))
    assert "not by x" in str(decided(MERGE, TWO))


AGGREGATES = (
    *("any", "any_value", "approx_count_distinct", "approx_percentile", "approx_top_k"),
    *("array_agg", "avg", "bit_and", "bit_or", "bit_xor", "bitmap_construct_agg", "bitmap_or_agg"),
    *("bool_and", "bool_or", "collect_list", "collect_set", "corr", "count", "count_if"),
    *("count_min_sketch", "covar_pop", "covar_samp", "every", "first", "first_value"),
    *("histogram_numeric", "hll_sketch_agg", "hll_union_agg", "kurtosis", "last", "last_value"),
    *("listagg", "max", "max_by", "mean", "median", "min", "min_by", "mode", "percentile"),
    *("percentile_approx", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2"),
    *("regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "schema_of_variant_agg", "skewness"),
    *("some", "std", "stddev", "stddev_pop", "stddev_samp", "string_agg", "sum", "try_avg"),
    *("try_sum", "var_pop", "var_samp", "variance"),
)
TWO_ARGUMENTS = ("corr", "covar", "max_by", "min_by", "percentile", "approx_percentile", "regr")


@pytest.mark.parametrize("name", AGGREGATES)
def test_every_aggregate_of_spark_is_known(name: str) -> None:
    two = ", 0.5" if name.startswith(TWO_ARGUMENTS) else ""
    sql = f"insert into t select 1, {name}(v{two}) from m"
    assert "may be an aggregate" in str(decided(sql, KEYED))


@pytest.mark.parametrize("number", seeds(12))
def test_together_is_one_by_one(number: int) -> None:
    """In DuckDB, over random rows; whatever the order of the batches."""
    rng = random.Random(number)
    small = (None, 0, 1, 2, 3)
    rows = [tuple(rng.choice(small) for _ in range(3)) for _ in range(rng.randint(1, 9))]
    there = [(key, rng.choice(small)) for key in rng.sample(small, rng.randint(0, 4))]
    others = [(rng.choice(small), rng.choice(small)) for _ in range(rng.randint(0, 4))]
    keys = list(dict.fromkeys(row[0] for row in rows))
    tried = 0
    for sql in SAME:
        if "group by x, k" in sql:
            continue  # several rows merge into one: refused by Delta, by chance in DuckDB
        text = sql.replace("d.k <=> t.k", "d.k is not distinct from t.k")
        one_by_one = [[row for row in rows if row[0] == key] for key in keys]
        rng.shuffle(one_by_one)
        wanted = _executed(text, one_by_one, there, others)
        found = _executed(text, [rows], there, others)
        if wanted is not None:
            tried += 1
            assert found == wanted, (sql, rows, there, others)
    assert tried > len(SAME) // 2


def _executed(
    sql: str, batches: list[list[Any]], there: list[Any], others: list[Any]
) -> Counter[Any] | None:
    """The target after a statement over batches; None: the statement is refused for one of them."""
    base = duckdb.connect(config={"threads": 1})
    base.execute("create table t (k int, v int)")
    base.execute("create table o (k int, w int)")
    for table, rows in (("t", there), ("o", others)):
        for row in rows:
            base.execute(f"insert into {table} values (?, ?)", list(row))
    for batch in batches:
        base.execute("create or replace table m (k int, x int, v int)")
        for row in batch:
            base.execute("insert into m values (?, ?, ?)", list(row))
        try:
            base.execute(sql)
        except duckdb.Error:
            return None
    return Counter(base.execute("select * from t").fetchall())


def test_a_part_is_a_statement() -> None:
    assert decided(MERGE, KEYED) == together_of([ActionStatement(MERGE, False)], KEYED)
