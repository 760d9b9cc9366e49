"""The hash of an answer's values: one for values that `<=>` holds equal, another for others."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest
from tests.seeds import seeds

from tapestry.errors import Refusal
from tapestry.runs.engine.column_types import columns_of_query
from tapestry.runs.kinds.continuous.known.value_hash import value_hash

VALUES = {
    "string": ["''", "'n'", "'1:a'", "'a'", "'A'", "'a '", "'a,b'", "'0:'", "x'27'"],
    "binary": ["x''", "x'00'", "x'0000'", "x'6E'"],
    "double": ["0.0D", "-0.0D", "double('NaN')", "1D", "1.5D", "1e16D", "-1e300D", "1e15D"],
    "float": ["float(0.1)", "-float(0.0)", "float('NaN')", "float('Infinity')"],
    "decimal(38,10)": ["0", "1.0000000001", "1234567890123456789012345678.0000000001", "-1", "100"],
    "decimal(5,0)": ["0", "100", "1"],
    "bigint": ["0", "9223372036854775807", "-9223372036854775808", "1000", "1"],
    "date": ["date'2026-01-01'", "date'0001-01-01'"],
    "timestamp": ["timestamp'2026-10-25 00:30:00Z'", "timestamp'2026-10-25 01:30:00Z'"],
    "timestamp_ntz": ["timestamp_ntz'2026-01-01 00:00:00'", "timestamp_ntz'2026-01-01 00:00:00.1'"],
    "boolean": ["true", "false"],
    "array<double>": ["array()", "array(null)", "array(0D, 1D)", "array(-0D, 1D)", "array(1D, 0D)"],
    "array<string>": ["array('a', 'b')", "array('a,b')", "array('')", "array(null)", "array()"],
    "struct<a:string,b:double>": [
        "named_struct('a', null, 'b', null)",
        "named_struct('a', 'x', 'b', -0D)",
        "named_struct('a', 'x', 'b', 0D)",
        "named_struct('a', 'x', 'b', null)",
    ],
    "interval day to second": ["interval '1' day", "interval '24' hour", "interval '1' hour"],
}


def typed(kind: str) -> list[str]:
    return [f"cast({value} as {kind})" for value in ["null", *VALUES[kind]]]


@pytest.mark.parametrize("seed", seeds(1))
def test_one_hash_for_equal_values_and_no_other(session: Any, seed: int) -> None:
    rng = random.Random(seed)
    kinds = list(VALUES)
    pairs = [(kind, kind) for kind in kinds]
    pairs += [(rng.choice(kinds), rng.choice(kinds)) for _ in range(4)]
    for one, other in pairs:
        rows = list(product(typed(one), typed(other)))[:60]
        values = " union all ".join(f"select {a} as a, {b} as `b c`" for a, b in rows)
        types = {name.lower(): kind for name, kind in columns_of_query(session, values)}
        hashed = value_hash(["a", "b c"], types, "r")
        session.run(
            f"create or replace temporary view hashed as select *, {hashed} as h"
            f" from ({values}) as r"
        )
        wrong = session.rows(
            "select x.a, x.`b c`, y.a, y.`b c` from hashed x cross join hashed y where"
            " (x.a <=> y.a and x.`b c` <=> y.`b c`) <> (x.h = y.h) or x.h is null"
        )
        assert not wrong, (one, other)


def test_texts_under_a_collation_have_no_hash() -> None:
    with pytest.raises(Refusal, match="collated-hash"):
        value_hash(["a"], {"a": "array<string collate UTF8_LCASE>"}, "r")


def test_a_hash_outlives_settings_and_wider_columns(session: Any) -> None:
    def hash_of(value: str, kind: str) -> str:
        hashed = value_hash(["v"], {"v": kind}, "r")
        return str(session.rows(f"select {hashed} from (select cast({value} as {kind}) as v) r"))

    for value, narrow, *wider in [
        ("-1000", "smallint", "int", "bigint", "double", "decimal(12,2)"),
        ("1.50", "decimal(4,2)", "decimal(20,5)"),
        ("0.1", "float", "float"),
        ("date'2026-01-02'", "date", "timestamp_ntz"),
    ]:
        assert {hash_of(value, kind) for kind in wider} == {hash_of(value, narrow)}, value
    as_is = hash_of("timestamp'2026-10-25 01:30:00Z'", "timestamp")
    small = hash_of("0.0000001", "decimal(10,7)")
    for setting in ("spark.sql.session.timeZone = Europe/Berlin", "spark.sql.ansi.enabled = false"):
        session.run(f"set {setting}")
        try:
            assert hash_of("timestamp'2026-10-25 01:30:00Z'", "timestamp") == as_is
            assert hash_of("0.0000001", "decimal(10,7)") == small
        finally:
            session.run(f"reset {setting.split()[0]}")
    session.run("set spark.sql.session.timeZone = UTC")
