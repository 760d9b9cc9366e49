"""Values that nobody expects in a column: of every type, and texts that look like others."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

DEEP = "[" * 50_000
JSON_TEXTS = (
    "null",
    "[]",
    "{}",
    '"x"',
    "7",
    "NaN",
    "-Infinity",
    "1e999",
    '{"db.s": null}',
    '{"db.s": []}',
    '{"db.s": ["id"]}',
    '{"db.s": ["id", -1]}',
    '{"db.s": ["id", 1.5]}',
    '{"db.s": ["id", true]}',
    '{"db.s": ["id", "1"]}',
    '{"db.s": ["id", 1e999]}',
    '{"db.s": ["id", NaN]}',
    '{"db.s": ["id", 1, false]}',
    '{"db.s": ["id", 1, true, true]}',
    '{"db.s": [null, 1]}',
    '{"db.s": ["", 1]}',
    '{"": ["id", 1]}',
    '{"db.s": ["id", 1], "db.s": ["id", 2]}',
    '{"db.s": ["\\ud800", 1]}',
    '{"db.s": ["id", ' + "9" * 5000 + "]}",
    '{"db.s": {"id": 1}}',
    DEEP,
    '{"a":' * 20_000,
    "[1, 2",
    "[-1]",
    "[true]",
    "['1']",
)
TEXTS = (
    "",
    " ",
    "x" * 1_000_000,
    "\x00\x07\x1b[2J\r\n",
    "\u202egnihton",
    "half \ud83d",
    "'; drop table x; --",
    "${env:HOME}",
    "1:" + "0" * 32,
    "1:",
    "2:later",
    "select from where ((",
    "2026-01-01",
)
INSTANTS = (
    datetime.min,
    datetime.max,
    datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
    datetime.max.replace(tzinfo=timezone(timedelta(hours=-14))),
    datetime(2026, 3, 29, 2, 30),
    datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    date(1, 1, 1),
)
NUMBERS: tuple[Any, ...] = (
    True,
    0,
    -1,
    1,
    2**62,
    2**63 - 1,
    -(2**63),
    10**4000,
    float("nan"),
    float("inf"),
    -float("inf"),
    -0.5,
    1e308,
    Decimal("NaN"),
    Decimal(1),
)
OTHERS: tuple[Any, ...] = (None, b"\xff\x00", [], [1], {}, {"a": 1}, (), object, timedelta(days=1))
EVERY: tuple[Any, ...] = (*JSON_TEXTS, *TEXTS, *INSTANTS, *NUMBERS, *OTHERS)

anything = st.one_of(
    st.sampled_from(EVERY),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(max_size=20),
    st.datetimes(),
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        ),
        max_leaves=8,
    ).map(json.dumps),
)
"""Any value; most of them are none that a run has written."""
