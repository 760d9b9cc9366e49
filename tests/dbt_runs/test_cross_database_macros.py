"""dbt's cross-database macros give what DuckDB's give: one model, run by both adapters."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import duckdb
import pytest
from dbt.tests.util import run_dbt
from tests.seeds import seed

pytestmark = pytest.mark.gate

UNITS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"]
FINE = [*UNITS, "millisecond", "microsecond"]
EDGES = [
    datetime(2024, 2, 29, 23, 59, 59, 999999),
    datetime(2023, 12, 31),
    datetime(2024, 1, 1, 0, 0, 0, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(1970, 1, 1),
    datetime(2019, 12, 29, 0, 0),  # a Sunday
    datetime(2019, 12, 30, 12, 30, 30, 500000),
    datetime(2, 1, 1),
    datetime(2100, 3, 31, 1, 2, 3, 4567),
    datetime(2400, 12, 31, 23, 59, 59, 999999),  # more microseconds than a DOUBLE can tell apart
]
TEXTS = ["a.b.c", "a||b", "", "x", "a.*b.*c", "ä|ö|ü", "-a--b-", "12", "1.5", "no", "a\\b"]
DELIMITERS = [".", "||", ".*", "|", "-", "ö", "zz", "\\"]

MODEL = """
with cases as (select * from {{ source('given', 'cases') }})
select id
  {% for unit in FINE %}
  , {{ dbt.dateadd(unit, 'n - 1', 'a') }} as add_{{ unit }}
  , {{ dbt.date_trunc(unit, 'a') }} as trunc_{{ unit }}
  , {{ dbt.datediff('a', 'b', unit) }} as diff_{{ unit }}
  {% endfor %}
  , {{ dbt.dateadd('DAY', -1, "cast(a as date)") }} as add_to_date
  , {{ dbt.datediff("cast(a as date)", "cast(b as date)", 'month') }} as diff_of_dates
  {% for unit in ['year', 'quarter', 'month'] %}
  , {{ dbt.last_day('a', unit) }} as last_{{ unit }}
  {% endfor %}
  {#- Behind the last part PostgreSQL has '', dbt-duckdb NULL. #}
  , coalesce({{ dbt.split_part('s', 'd', 1) }}, '') as part_1
  , coalesce({{ dbt.split_part('s', 'd', 2) }}, '') as part_2
  , coalesce({{ dbt.split_part('s', 'd', -1) }}, '') as part_last
  , coalesce({{ dbt.split_part('s', "'.'", 2) }}, '') as part_dot
  , {{ dbt.hash('s') }} as hashed
  , {{ dbt.position("'b'", 's') }} as place
  , {{ dbt.right('s', 2) }} as ending
  , {{ dbt.length('s') }} as long
  , {{ dbt.replace('s', "'.'", "'é'") }} as replaced
  , {{ dbt.concat(['s', "'-'", 'd']) }} as joined
  , {{ dbt.cast_bool_to_text('n > 0') }} as truth
  , {{ dbt.date(2024, 2, 29) }} as leap
  , {{ dbt.date(7, 1, 2) }} as old
from cases
"""
GROUPS = """
select k
  , {{ dbt.listagg('s', "', '", 'order by id') }} as listed
  , {{ dbt.listagg('s', "', '", 'order by id desc') }} as backwards
  , {{ dbt.listagg('s', "'|'", 'order by id', 3) }} as first_three
  , {{ dbt.listagg('distinct s', "'|'", 'order by s', 2) }} as first_two
  , {{ dbt.listagg('distinct s', "'|'", 'order by s desc', 2) }} as last_two
  , {{ dbt.bool_or('n > 0') }} as any_positive
  , {{ dbt.any_value('k') }} as same
from {{ source('given', 'cases') }} group by k
"""
SPINES = """
{% for unit, first, last in SPINES %}
  {% if not loop.first %} union all {% endif %}
  select '{{ unit }}' as unit, cast(date_{{ unit }} as timestamp) as at
  from ({{ dbt.date_spine(unit, first, last) }}) as s{{ loop.index }}
{% endfor %}
"""
SPANS = [
    ("minute", "cast('2024-01-01' as date)", "cast('2024-01-01 00:20:00' as timestamp)"),
    ("hour", "cast('2024-02-28 22:30:00' as timestamp)", "cast('2024-03-01' as timestamp)"),
    ("second", "cast('1969-12-31 23:59:50.5' as timestamp)", "cast('1970-01-01' as timestamp)"),
    ("day", "cast('2024-02-27' as date)", "cast('2024-03-03' as date)"),
    ("week", "cast('2024-02-27' as date)", "cast('2024-04-03' as date)"),
    ("month", "cast('2024-01-31' as date)", "cast('2025-03-01' as date)"),
    ("quarter", "cast('2023-11-30' as date)", "cast('2025-03-01' as date)"),
    ("year", "cast('2020-02-29' as date)", "cast('2025-03-01' as date)"),
]
SOURCES = "sources: [{name: given, schema: '{{ target.schema }}', tables: [{name: cases}]}]"
DUCKDB = "macros: {outputs: {default: {type: duckdb, path: '%s', schema: main}}, target: default}"


def _rows() -> Iterator[tuple[Any, ...]]:
    random = Random(seed())
    instants: list[datetime | None] = [*EDGES, None]
    for _ in range(25):
        days = random.choice([3, 400, 40_000])
        at = datetime(1990, 1, 1) + timedelta(days=random.uniform(-days, days))
        instants += [at, at.replace(microsecond=0, second=0)]
    for number in range(150):
        text = random.choice([*TEXTS, None])
        yield (
            number,
            random.choice(instants),
            random.choice(instants),
            random.choice([0, 1, 2, 13, 1000, 100]),
            text,
            random.choice(DELIMITERS),
            random.choice(["p", "q", "r"]),
        )


@pytest.fixture(scope="module")
def rows() -> list[tuple[Any, ...]]:
    return list(_rows())


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, ...]]) -> Any:
    """The tables that dbt makes with DuckDB, by name."""
    folder = tmp_path_factory.mktemp("duckdb")
    database = folder / "macros.duckdb"
    (folder / "models").mkdir()
    for name, text in _models().items():
        (folder / "models" / name).write_text(text, "utf-8")
    (folder / "dbt_project.yml").write_text("{name: macros, profile: macros}", "utf-8")
    (folder / "profiles.yml").write_text(DUCKDB % database, "utf-8")
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            "create table cases (id int, a timestamp, b timestamp, n int, s text, d text, k text)"
        )
        connection.executemany("insert into cases values (?, ?, ?, ?, ?, ?, ?)", rows)
    code = "import sys; from dbt.cli.main import cli; sys.exit(cli())"
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "--project-dir", str(folder)],
        cwd=folder,
        env={**os.environ, "DBT_PROFILES_DIR": str(folder), "DBT_SEND_ANONYMOUS_USAGE_STATS": "0"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    with duckdb.connect(str(database)) as connection:
        found = {name: _dicts(connection, name) for name in ("scalars", "grouped", "spines")}
    for row in found["scalars"]:
        row["diff_week"] = _weeks_between(*rows[row["id"]][1:3])
    return found


def _weeks_between(first: datetime | None, second: datetime | None) -> int | None:
    """How many Sundays begin between them: dbt-duckdb is one off for whole weeks backwards."""
    if first is None or second is None:
        return None
    return second.toordinal() // 7 - first.toordinal() // 7


def _models() -> dict[str, str]:
    return {
        "scalars.sql": MODEL.replace("FINE", repr(FINE)),
        "grouped.sql": GROUPS,
        "spines.sql": SPINES.replace("SPINES", repr(SPANS)),
        "sources.yml": SOURCES,
    }


def _dicts(connection: duckdb.DuckDBPyConnection, name: str) -> list[dict[str, Any]]:
    found = connection.execute(f"select * from {name}")
    columns = [column[0] for column in found.description or ()]
    return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]


def _plain(value: Any) -> Any:
    """One Python value for what the two drivers give as several types."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, float | Decimal):
        return int(value) if value == int(value) else float(value)
    return value


class TestMacros:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return _models()

    def test_as_duckdb(
        self, project: Any, embedded_spark: Any, rows: list[tuple[Any, ...]], expected: Any
    ) -> None:
        schema = "id int, a timestamp_ntz, b timestamp_ntz, n int, s string, d string, k string"
        name = f"{project.test_schema}.cases"
        embedded_spark.createDataFrame(rows, schema).write.format("delta").saveAsTable(name)
        run_dbt(["run"])
        for table, keys in {"scalars": ["id"], "grouped": ["k"], "spines": ["unit", "at"]}.items():
            frame = embedded_spark.table(f"{project.test_schema}.{table}")
            columns = [
                # A TIMESTAMP is read as Python's local time otherwise.
                f"cast(`{f.name}` as timestamp_ntz) as `{f.name}`"
                if f.dataType.typeName() == "timestamp"
                else f"`{f.name}`"
                for f in frame.schema
            ]
            ours = [row.asDict() for row in frame.selectExpr(*columns).collect()]
            _compare(ours, expected[table], keys)


def _compare(ours: list[dict[str, Any]], theirs: list[dict[str, Any]], keys: list[str]) -> None:
    def sort(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        plain = [{key: _plain(value) for key, value in row.items()} for row in found]
        return sorted(plain, key=lambda row: [row[key] for key in keys])

    assert len(ours) == len(theirs)
    for mine, other in zip(sort(ours), sort(theirs), strict=True):
        wrong = {key: (mine[key], other[key]) for key in other if mine[key] != other[key]}
        assert not wrong, [mine[key] for key in keys]
