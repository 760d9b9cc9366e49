"""Seeds: a cell is in the table as it stands in the file, or nothing is written."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

KEPT = r"""id,code,amount,day,at,local,flag,name,ratio,note
1,001,12345.60,2026-1-3,2026-03-29 02:30:00+02:00,2026-03-29T02:30:00.5,YES,abc,1e3,"two
lines"
9007199254740993,x,-0.10,2026-02-28,2026-01-01,2026-01-01,f,"",NaN,null
-7.0,"  ",1e2,,,,,äö,-Infinity,"a ""b"" ${env:HOME} \"
"""
TYPES = {
    **{"id": "bigint", "code": "string", "amount": "decimal(7,2)", "Day": "date"},
    **{"at": "timestamp", "local": "timestamp_ntz", "flag": "boolean"},
    **{"name": "varchar(3)", "ratio": "double", "note": "string"},
}
BAD = """id,amount,name
1,2.50,abc
abc,2.505,"a
b"
3000000000,"1,234.50",toolong
"""
GUESSED = """id,amount
99999999999999999999,"1,5"
2,3
"""
FEWER = "a,b\n1,2\n\n3\n"


def _rows(project: Any, table: str) -> list[tuple[Any, ...]]:
    found = project.run_sql(f"select * from {{schema}}.{table}", fetch="all")
    return [tuple(row) for row in found]


class TestSeeds:
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {
            "kept.csv": KEPT,
            "bad.csv": BAD,
            "guessed.csv": GUESSED,
            "fewer.csv": FEWER,
            "nested.csv": "a,b\n1,1 02:03:04\n",
            "lengths.csv": "a\n1 02:03:04\n1 month\nx\n",
        }

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {
            "seeds": {
                "test": {
                    "kept": {"+column_types": TYPES},
                    "bad": {
                        "+column_types": {"id": "int", "amount": "decimal(7,2)", "name": "char(3)"}
                    },
                    "nested": {"+column_types": {"a": "array<int>"}},
                    "lengths": {"+column_types": {"a": "interval day to second"}},
                }
            }
        }

    def test_cells_as_they_stand(self, project: Any) -> None:
        run_dbt(["seed", "--select", "kept"])
        found = sorted(_rows(project, "kept"))
        assert [row[:8] for row in found] == [
            (-7, None, Decimal("100.00"), None, None, None, None, "äö"),
            (
                *(1, "001", Decimal("12345.60"), date(2026, 1, 3), datetime(2026, 3, 29, 0, 30)),
                *(datetime(2026, 3, 29, 2, 30, 0, 500000), True, "abc"),
            ),
            (
                *(9007199254740993, "x", Decimal("-0.10"), date(2026, 2, 28)),
                *(datetime(2026, 1, 1), datetime(2026, 1, 1), False, None),
            ),
        ]
        assert [row[8] for row in found if row[0] != 9007199254740993] == [float("-inf"), 1000.0]
        assert [row[9] for row in found] == ['a "b" ${env:HOME} \\', "two\nlines", None]

    def test_nothing_is_written(self, project: Any) -> None:
        """The first cells are named, by lines; a table that stands there keeps its rows."""
        project.run_sql("create table {schema}.bad using delta as select 1 as id")
        (result,) = run_dbt(["seed", "--select", "bad"], expect_pass=False)
        told = str(result.message)
        assert "seeds/bad.csv: 5 cells do not fit; nothing was written" in told
        assert "line 3, id int: 'abc' is no number" in told
        assert "line 3, amount decimal(7,2): '2.505' has more than 2 digits behind" in told
        assert "line 5, id int: '3000000000' is not between -2147483648 and 2147483647" in told
        assert "column_types" in told
        assert _rows(project, "bad") == [(1,)]

    @pytest.mark.parametrize(
        ("seed", "said"),
        [
            ("guessed", ["line 2, id bigint: '99999999999999999999'", "line 2, amount bigint"]),
            ("fewer", ["line 3, an empty line", "line 4, 1 cells"]),
            ("nested", ["column_types: Spark makes no array<int> of the text of a cell"]),
            ("lengths", ["2 cells", "line 3, a interval day to second: '1 month'", "line 4"]),
        ],
    )
    def test_refused(self, project: Any, seed: str, said: list[str]) -> None:
        (result,) = run_dbt(["seed", "--select", seed], expect_pass=False)
        assert all(text in str(result.message) for text in said), result.message
        assert not project.run_sql(f"show tables in {{schema}} like '{seed}'", fetch="all")

    def test_a_parquet_table_is_not_dropped(self, project: Any) -> None:
        """One that cannot be replaced in place keeps its rows, too."""
        path = Path(project.project_root) / "seeds" / "parted.csv"
        path.write_text("a\n1\n")
        (path.parent / "parted.yml").write_text(
            "seeds: [{name: parted, config: {file_format: parquet, column_types: {a: int}}}]"
        )
        run_dbt(["seed", "--select", "parted"])
        path.write_text("a\n1.5\n")
        run_dbt(["seed", "--select", "parted"], expect_pass=False)
        assert _rows(project, "parted") == [(1,)]
