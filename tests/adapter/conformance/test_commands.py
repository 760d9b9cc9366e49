"""Commands and flags: show, debug, clone, --empty, --sample, unit tests, caching, comments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.aliases import fixtures as alias_fixtures
from dbt.tests.adapter.aliases import test_aliases
from dbt.tests.adapter.caching import test_caching
from dbt.tests.adapter.column_types import fixtures as column_fixtures
from dbt.tests.adapter.column_types import test_column_types
from dbt.tests.adapter.concurrency import test_concurrency
from dbt.tests.adapter.dbt_clone import test_dbt_clone
from dbt.tests.adapter.dbt_debug import test_dbt_debug
from dbt.tests.adapter.dbt_show import test_dbt_show
from dbt.tests.adapter.empty import test_empty
from dbt.tests.adapter.ephemeral import test_ephemeral
from dbt.tests.adapter.query_comment import test_query_comment
from dbt.tests.adapter.relations import test_changing_relation_type, test_dropping_schema_named
from dbt.tests.adapter.sample_mode import test_sample_mode
from dbt.tests.adapter.unit_testing import (
    test_case_insensitivity,
    test_invalid_input,
    test_quoted_reserved_word_column_names,
    test_types,
)
from dbt.tests.util import check_relations_equal, run_dbt, write_file

pytestmark = pytest.mark.conformance


class TestShowLimit(test_dbt_show.BaseShowLimit):
    pass


class TestShowSqlHeader(test_dbt_show.BaseShowSqlHeader):
    pass


class TestShowDoubleLimit(test_dbt_show.BaseShowDoesNotHandleDoubleLimit):
    DATABASE_ERROR_MESSAGE = "Syntax error at or near 'limit'"


class TestDebug(test_dbt_debug.BaseDebugPostgres):
    def test_wronguser(self, project: Any) -> None:
        pytest.skip("an embedded Spark knows no users")


class TestDebugProfileVariable(test_dbt_debug.BaseDebugProfileVariable):
    pass


class TestDebugInvalidProject(test_dbt_debug.BaseDebugInvalidProjectPostgres):
    pass


class TestEmpty(test_empty.BaseTestEmpty):
    pass


class TestEmptyInlineSourceRef(test_empty.BaseTestEmptyInlineSourceRef):
    pass


class TestEmptySeedFlag(test_empty.BaseTestEmptySeedFlag):
    NO_FLAG = pytest.mark.xfail(reason="dbt-core 1.11 has no `dbt seed --empty`", strict=True)

    test_seed_empty_creates_table_with_zero_rows = NO_FLAG(
        test_empty.BaseTestEmptySeedFlag.test_seed_empty_creates_table_with_zero_rows
    )
    test_seed_empty_preserves_column_types = NO_FLAG(
        test_empty.BaseTestEmptySeedFlag.test_seed_empty_preserves_column_types
    )


class TestSampleMode(test_sample_mode.BaseSampleModeTest):
    pass


class TestUnitTestingTypes(test_types.BaseUnitTestingTypes):
    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        return [
            ["1", "1"],
            ["2.0", "2.0"],
            ["'12345'", "12345"],
            ["'string'", "string"],
            ["true", "true"],
            ["date '2011-11-11'", "2011-11-11"],
            ["timestamp '2013-11-03 00:00:00-0'", "2013-11-03 00:00:00-0"],
            ["array(1, 2, 3)", "'array(1, 2, 3)'"],
            ["map('10', 't', '15', 'f')", """'map("10", "t", "15", "f")'"""],
            ['named_struct("a", 1, "b", 2)', """'named_struct("a", 1, "b", 2)'"""],
        ]


class TestUnitTestCaseInsensitivity(test_case_insensitivity.BaseUnitTestCaseInsensivity):
    pass


class TestUnitTestInvalidInput(test_invalid_input.BaseUnitTestInvalidInput):
    pass


class TestUnitTestReservedWords(
    test_quoted_reserved_word_column_names.BaseUnitTestQuotedReservedWordColumnNames
):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        """Spark quotes names with backticks."""
        module = test_quoted_reserved_word_column_names
        upstream = module.my_upstream_model_with_reserved_word_column_name_sql
        return {
            "my_model.sql": module.my_model_sql,
            "my_upstream_model.sql": upstream.replace('"', "`"),
            "unit_tests.yml": module.test_my_model_csv_fixtures_yml,
        }


class Cached:
    """One relation after the first run, the same after the second; Spark has no databases."""

    def run_and_inspect_cache(self, project: Any, run_args: list[str] | None = None) -> None:
        for _ in range(2):
            run_dbt(run_args)
            (relation,) = project.adapter.cache.relations
            assert relation.database is None
            assert relation.schema == project.test_schema
            assert relation.identifier.lower() == "model"


class TestCachingLowercaseModel(Cached, test_caching.BaseCachingLowercaseModel):
    pass


class TestCachingUppercaseModel(Cached, test_caching.BaseCachingUppercaseModel):
    pass


class TestCachingSelectedSchemaOnly(Cached, test_caching.BaseCachingSelectedSchemaOnly):
    pass


class TestNoPopulateCache(Cached, test_caching.BaseNoPopulateCache):
    pass


class SparkText:
    """The suite's macro casts to `text`, which Spark calls string; a literal needs no cast."""

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {
            "cast.sql": alias_fixtures.MACROS__CAST_SQL.replace("::text", ""),
            "expect_value.sql": alias_fixtures.MACROS__EXPECT_VALUE_SQL,
        }


class TestAliases(SparkText, test_aliases.BaseAliases):
    pass


class TestAliasErrors(SparkText, test_aliases.BaseAliasErrors):
    pass


class TestSameAliasDifferentSchemas(SparkText, test_aliases.BaseSameAliasDifferentSchemas):
    pass


class TestConcurrency(test_concurrency.BaseConcurrency):
    pass


class TestEphemeralMulti(test_ephemeral.BaseEphemeralMulti):
    def test_ephemeral_multi(self, project: Any) -> None:
        """As the suite's, whose expected text is another database's CREATE VIEW."""
        run_dbt(["seed"])
        assert len(run_dbt(["run"])) == 3
        for model in ("dependent", "double_dependent", "super_dependent"):
            check_relations_equal(project.adapter, ["seed", model])
        assert _executed("double_dependent").endswith(
            "with__dbt__cte__baseas("
            f"select*from{project.test_schema}.seed"
            "),__dbt__cte__base_copyas("
            "select*from__dbt__cte__base"
            ")--base_copyjustpullsfrombase.Makesurethelisted"
            "--graphofCTEsallsharethesamedbt_cte__basecte"
            "select*from__dbt__cte__basewheregender='Male'unionall"
            "select*from__dbt__cte__base_copywheregender='Female'"
        )


class TestEphemeralNested(test_ephemeral.BaseEphemeralNested):
    def test_ephemeral_nested(self, project: Any) -> None:
        assert len(run_dbt(["run"])) == 2
        assert _executed("root_view").endswith(
            "with__dbt__cte__ephemeral_level_twoas("
            f"select*from{project.test_schema}.source_table"
            "),__dbt__cte__ephemeralas(select*from__dbt__cte__ephemeral_level_two)"
            "select*from__dbt__cte__ephemeral"
        )


def _executed(model: str) -> str:
    """What ran for a model, without white space."""
    return "".join(Path(f"target/run/test/models/{model}.sql").read_text().split())


class TestEphemeralErrorHandling(test_ephemeral.BaseEphemeralErrorHandling):
    pass


class TestQueryComments(test_query_comment.BaseQueryComments):
    pass


class TestMacroQueryComments(test_query_comment.BaseMacroQueryComments):
    pass


class TestMacroArgsQueryComments(test_query_comment.BaseMacroArgsQueryComments):
    pass


class TestMacroInvalidQueryComments(test_query_comment.BaseMacroInvalidQueryComments):
    pass


class TestNullQueryComments(test_query_comment.BaseNullQueryComments):
    pass


class TestEmptyQueryComments(test_query_comment.BaseEmptyQueryComments):
    pass


class TestChangeRelationTypes(test_changing_relation_type.BaseChangeRelationTypeValidator):
    pass


class TestDropSchemaNamed(test_dropping_schema_named.BaseDropSchemaNamed):
    pass


@pytest.mark.xfail(
    reason="dbt-spark's class Column knows types by PostgreSQL's names, not string, int, double",
    strict=True,
)
class TestColumnTypes(test_column_types.BaseColumnTypes):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        """The suite's model in Spark's types."""
        return {
            "model.sql": """
select smallint(1) as smallint_col, int(2) as int_col, bigint(3) as bigint_col,
       float(4.0) as real_col, double(5.0) as double_col, cast(6.0 as decimal) as numeric_col,
       string('7') as text_col, cast('8' as varchar(20)) as varchar_col
""",
            "schema.yml": column_fixtures.schema_yml,
        }

    def test_run_and_test(self, project: Any) -> None:
        self.run_and_test()


class TestClonePossible(test_dbt_clone.BaseClonePossible):
    pass


class TestCloneSameTargetAndState(test_dbt_clone.BaseCloneSameTargetAndState):
    pass


class TestRetry:
    """`dbt retry` runs what failed and what was skipped for it."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "good.sql": "select 1 as a",
            "bad.sql": "select nothing as a",
            "after.sql": "select * from {{ ref('bad') }}",
        }

    def test_retry(self, project: Any) -> None:
        run_dbt(["run"], expect_pass=False)
        write_file("select 2 as a", project.project_root, "models", "bad.sql")
        results = run_dbt(["retry"])
        assert {result.node.name for result in results} == {"bad", "after"}
