"""Columns with odd names, through every clause in which dbt names a column, on Spark."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from dbt.tests.util import run_dbt

EVERYTHING = "Größe-no. 1"
"""An umlaut, a hyphen, a dot and a space; written in small letters wherever it is named."""
MAPPED = {"delta.columnMapping.mode": "name"}
DOCS = {"persist_docs": {"relation": True, "columns": True}}
FAILED = ("error", "fail")
TESTS = ["not_null", "unique", {"accepted_values": {"arguments": {"values": [1, 2, 3]}}}]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def first_and_later(name: str, later: str) -> str:
    first = f"select 1 as {quoted(name)}, 'x' as v union all select 2, 'y'"
    return f"{{% if is_incremental() %}}{later}{{% else %}}{first}{{% endif %}}"


def incremental(strategy: str, **more: Any) -> dict[str, Any]:
    config = {"materialized": "incremental", "incremental_strategy": strategy, **more}
    return {"tblproperties": MAPPED, **config}


class Project:
    """Models whose one column has the name; what is configured names it in small letters."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.said = name.lower()
        self.files: dict[str, str] = {}
        self.models: list[dict[str, Any]] = []
        both = f"select 2 as {quoted(name)}, 'z' as v union all select 3, 'w'"
        self.rows = first_and_later(name, both)
        self.tables()
        self.incremental_models()
        self.refuse()

    def add(self, model: str, sql: str, config: dict[str, Any], **more: Any) -> None:
        ending = more.pop("ending", "sql")
        self.files[f"{model}.{ending}"] = sql
        self.models.append({"name": model, "config": config, **more})

    def described(self, model: str) -> list[dict[str, Any]]:
        other = {"relationships": {"arguments": {"to": f"ref('{model}')", "field": self.said}}}
        return [{"name": self.said, "description": "it's", "data_tests": [*TESTS, other]}]

    def typed(self) -> list[dict[str, Any]]:
        column = {"name": self.name, "data_type": "int", "constraints": [{"type": "not_null"}]}
        return [{**column, "description": "it's"}, {"name": "v", "data_type": "string"}]

    def tables(self) -> None:
        made = f"select 1 as {quoted(self.name)}, 'x' as v"
        mapped = {"tblproperties": MAPPED}
        table = {"materialized": "table", **mapped, **DOCS}
        self.add("as_table", made, table, columns=self.described("as_table"))
        self.add("as_view", made, DOCS, columns=self.described("as_view"))
        python = f"return session.createDataFrame([(1, 'x')], [{self.name!r}, 'v'])"
        python = f"def model(dbt, session):\n    dbt.config(materialized='table')\n    {python}\n"
        by_it = {**mapped, **DOCS, "partition_by": self.said}
        columns = self.described("in_python")
        self.add("in_python", python, by_it, ending="py", columns=columns)
        bucketed = {"file_format": "parquet", "clustered_by": self.said, "buckets": 2}
        self.add("bucketed", made, {"materialized": "table", **bucketed})
        check = {"type": "check", "name": "over-0", "expression": f"{quoted(self.name)} > 0"}
        contract = {"contract": {"enforced": True}, "on_schema_change": "fail"}
        strict = incremental("append", **contract, **DOCS)
        self.add("strict", self.rows, strict, columns=self.typed(), constraints=[check])

    def incremental_models(self) -> None:
        by = self.said
        self.add("merged", self.rows, incremental("merge", unique_key=by, **DOCS))
        self.add("merged_by_two", self.rows, incremental("merge", unique_key=[by, "v"]))
        later = f"select 7 as {quoted(self.name)}, 'y' as v"
        config = incremental("merge", unique_key="v")
        updated = first_and_later(self.name, later)
        self.add("updated", updated, {**config, "merge_update_columns": [by]})
        self.add("spared", updated, {**config, "merge_exclude_columns": [by]})
        self.add("overwritten", self.rows, incremental("insert_overwrite", partition_by=by))
        grown = first_and_later(self.name, f"{later}, 9 as {quoted(self.name + '2')}")
        self.add("grown", grown, incremental("append", on_schema_change="append_new_columns"))

    def refuse(self) -> None:
        good = set(self.files)
        wrong = incremental("merge", unique_key="nix-da")
        self.add("wrong_key", self.rows, wrong)
        check = {"type": "check", "name": "over_0", "expression": "nix-da > 0"}
        contract = {"materialized": "table", "contract": {"enforced": True}}
        mapped = {**contract, "tblproperties": MAPPED}
        made = f"select 1 as {quoted(self.name)}, 'x' as v"
        self.add("wrong_check", made, mapped, columns=self.typed(), constraints=[check])
        if set(self.name) & set(" ()"):
            self.add("unmapped", made, {"materialized": "table"})
            self.add("unmapped_contract", made, contract, columns=self.typed())
        self.refused = {file.removesuffix(".sql") for file in set(self.files) - good}


class TestOddNames:
    """One project, built twice."""

    NAME = EVERYTHING

    @pytest.fixture(scope="class")
    def odd(self, request: pytest.FixtureRequest) -> Project:
        return Project(request.cls.NAME)

    @pytest.fixture(scope="class")
    def models(self, odd: Project) -> dict[str, str]:
        schema = {"version": 2, "models": odd.models}
        return {**odd.files, "schema.yml": yaml.safe_dump(schema, allow_unicode=True)}

    def rows(self, project: Any, table: str) -> list[tuple[Any, ...]]:
        return sorted(project.run_sql(f"select * from {{schema}}.{table}", fetch="all"))

    def test_every_clause(self, project: Any, odd: Project) -> None:
        results = run_dbt(["build"], expect_pass=False)
        failed = {r.node.name: str(r.message) for r in results if str(r.status) in FAILED}
        assert set(failed) == odd.refused
        assert "unique_key: nix-da is no column" in failed["wrong_key"]
        assert f"Its columns are {odd.name}, v" in failed["wrong_key"]
        assert "constraint over_0: " in failed["wrong_check"]
        for name in {"unmapped", "unmapped_contract"} & odd.refused:
            said = failed[name].replace("`", "")  # Delta writes some names in backticks
            assert f"column {odd.name} of " in said
            assert "delta.columnMapping.mode: name" in said
        there = {row[1] for row in project.run_sql("show tables in {schema}", fetch="all")}
        assert not there & set(failed)  # nothing was written that could be refused

    def test_each_once_more(self, project: Any, odd: Project) -> None:
        run_dbt(["run", "--exclude", *odd.refused])
        later = [(2, "z"), (3, "w")]
        assert self.rows(project, "merged") == [(1, "x"), *later]
        assert self.rows(project, "merged_by_two") == [(1, "x"), (2, "y"), *later]
        assert self.rows(project, "updated") == [(1, "x"), (7, "y")]
        assert self.rows(project, "spared") == [(1, "x"), (2, "y")]
        assert self.rows(project, "overwritten") == [(1, "x"), *later]
        assert self.rows(project, "strict") == [(1, "x"), (2, "y"), *later]
        assert (7, "y", 9) in project.run_sql("select * from {schema}.grown", fetch="all")

    def test_descriptions(self, project: Any, odd: Project) -> None:
        for table in ("as_table", "as_view", "in_python", "strict"):
            told = project.run_sql(f"describe table {{schema}}.{table}", fetch="all")
            assert (odd.name, "it's") in [(row[0], row[2]) for row in told]

    def test_layout(self, project: Any, odd: Project) -> None:
        for table in ("overwritten", "in_python"):
            (told,) = project.run_sql(f"describe detail {{schema}}.{table}", fetch="all")
            assert list(told[7]) == [odd.name]


@pytest.mark.more
class TestHyphen(TestOddNames):
    NAME = "order-no"


@pytest.mark.more
class TestDot(TestOddNames):
    NAME = "a.b"


@pytest.mark.more
class TestKeyword(TestOddNames):
    NAME = "order"


@pytest.mark.more
class TestOtherCase(TestOddNames):
    NAME = "Id"


@pytest.mark.more
class TestBacktick(TestOddNames):
    NAME = "ba`ck"


@pytest.mark.more
class TestDigit(TestOddNames):
    NAME = "1st"


@pytest.mark.more
class TestCall(TestOddNames):
    NAME = "sum(x)"


@pytest.mark.more
class TestQuote(TestOddNames):
    NAME = "it's"
