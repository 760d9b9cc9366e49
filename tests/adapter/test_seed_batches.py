"""The statements that load a seed."""

from __future__ import annotations

import agate

from dbt.adapters.tapestry.seeds import seed_batches


def test_an_empty_seed_keeps_its_columns() -> None:
    table = agate.Table([], ["id", "na`me"], [agate.Number(), agate.Text()])
    (select,) = seed_batches(table, ["bigint", "string"])
    assert select.startswith("select cast(c0 as bigint) as `id`, cast(c1 as string) as `na``me`")
    assert select.endswith("where false")


def test_a_seed_holds_what_its_file_does() -> None:
    """Names and values as they are: no variable of Spark's, and nothing that ends a literal."""
    table = agate.Table(
        [[1, "${env:HOME}"], [2, "it's"], [None, "\\"]],
        ["id", "a -- b"],
        [agate.Number(), agate.Text()],
    )
    (select,) = seed_batches(table, ["bigint", "string"])
    assert "as `a -- b`" in select
    assert "('1', ('$' || '{env:HOME}'))" in select
    assert "('2', ('it' || CAST(X'27' AS STRING) || 's'))" in select
    assert "(cast(null as string), CAST(X'5C' AS STRING))" in select
    assert "${" not in select
