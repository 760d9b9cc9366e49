"""dbt's cross-database macros, each with its own seed of examples."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.utils import (
    fixture_get_intervals_between,
    fixture_listagg,
    test_any_value,
    test_array_append,
    test_array_concat,
    test_array_construct,
    test_bool_or,
    test_cast,
    test_cast_bool_to_text,
    test_concat,
    test_current_timestamp,
    test_date,
    test_date_spine,
    test_date_trunc,
    test_dateadd,
    test_datediff,
    test_equals,
    test_escape_single_quotes,
    test_except,
    test_generate_series,
    test_get_intervals_between,
    test_get_powers_of_two,
    test_hash,
    test_intersect,
    test_last_day,
    test_length,
    test_listagg,
    test_null_compare,
    test_position,
    test_replace,
    test_right,
    test_safe_cast,
    test_split_part,
    test_string_literal,
    test_validate_sql,
)
from dbt.tests.adapter.utils.data_types import (
    test_type_bigint,
    test_type_boolean,
    test_type_float,
    test_type_int,
    test_type_numeric,
    test_type_string,
    test_type_timestamp,
)

pytestmark = pytest.mark.conformance

UNORDERED = """
with calculate as (
    select group_col, {{ listagg('string_text', "', '") }} as actual,
           'comma_whitespace_unordered' as version
    from {{ ref('data_listagg') }} where group_col = 3 group by group_col
    union all
    select group_col, {{ listagg('DISTINCT string_text', "','") }}, 'distinct_comma'
    from {{ ref('data_listagg') }} where group_col = 3 group by group_col
    union all
    select group_col, {{ listagg('string_text') }}, 'no_params'
    from {{ ref('data_listagg') }} where group_col = 3 group by group_col
)
select calculate.actual, expected.expected
from calculate
left join {{ ref('data_listagg_output') }} expected
on calculate.group_col = expected.group_col and calculate.version = expected.version
"""


class TestAnyValue(test_any_value.BaseAnyValue):
    pass


class TestArrayAppend(test_array_append.BaseArrayAppend):
    pass


class TestArrayConcat(test_array_concat.BaseArrayConcat):
    pass


class TestArrayConstruct(test_array_construct.BaseArrayConstruct):
    pass


class TestBoolOr(test_bool_or.BaseBoolOr):
    pass


class TestCast(test_cast.BaseCast):
    pass


class TestCastBoolToText(test_cast_bool_to_text.BaseCastBoolToText):
    pass


class TestConcat(test_concat.BaseConcat):
    pass


class TestCurrentTimestamp(test_current_timestamp.BaseCurrentTimestampNaive):
    pass


class TestDate(test_date.BaseDate):
    pass


class TestDateAdd(test_dateadd.BaseDateAdd):
    pass


class TestDateDiff(test_datediff.BaseDateDiff):
    pass


class TestDateSpine(test_date_spine.BaseDateSpine):
    pass


class TestDateTrunc(test_date_trunc.BaseDateTrunc):
    pass


class TestEquals(test_equals.BaseEquals):
    pass


class TestEscapeSingleQuotes(test_escape_single_quotes.BaseEscapeSingleQuotesBackslash):
    pass


class TestExcept(test_except.BaseExcept):
    pass


class TestGenerateSeries(test_generate_series.BaseGenerateSeries):
    pass


class TestGetIntervalsBetween(test_get_intervals_between.BaseGetIntervalsBetween):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, Any]:
        """The suite's dates in the order that Spark reads."""
        yml = fixture_get_intervals_between.models__test_get_intervals_between_yml
        sql = fixture_get_intervals_between.models__test_get_intervals_between_sql
        sql = sql.replace("'09/01/2023'", "'2023-09-01'").replace("'09/12/2023'", "'2023-09-12'")
        return {
            "test_get_intervals_between.yml": yml,
            "test_get_intervals_between.sql": self.interpolate_macro_namespace(
                sql, "get_intervals_between"
            ),
        }


class TestGetPowersOfTwo(test_get_powers_of_two.BaseGetPowersOfTwo):
    pass


class TestHash(test_hash.BaseHash):
    pass


class TestIntersect(test_intersect.BaseIntersect):
    pass


class TestLastDay(test_last_day.BaseLastDay):
    pass


class TestLength(test_length.BaseLength):
    pass


class TestListagg(test_listagg.BaseListagg):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, Any]:
        """Without the arms that order: dbt-spark's listagg ignores `order by` and says so."""
        return {
            "test_listagg.yml": fixture_listagg.models__test_listagg_yml,
            "test_listagg.sql": self.interpolate_macro_namespace(UNORDERED, "listagg"),
        }


class TestMixedNullCompare(test_null_compare.BaseMixedNullCompare):
    pass


class TestNullCompare(test_null_compare.BaseNullCompare):
    pass


class TestPosition(test_position.BasePosition):
    pass


class TestReplace(test_replace.BaseReplace):
    pass


class TestRight(test_right.BaseRight):
    pass


class TestSafeCast(test_safe_cast.BaseSafeCast):
    pass


class TestSplitPart(test_split_part.BaseSplitPart):
    pass


class TestStringLiteral(test_string_literal.BaseStringLiteral):
    pass


class TestValidateSql(test_validate_sql.BaseValidateSqlMethod):
    pass


class TestTypeBigInt(test_type_bigint.BaseTypeBigInt):
    pass


class TestTypeBoolean(test_type_boolean.BaseTypeBoolean):
    pass


def _typed(csv: str, column: str, type_: str) -> dict[str, str]:
    """The suite's seed with its column's type given: dbt infers the widest one from a CSV file."""
    return {
        "expected.csv": csv,
        "expected.yml": f"""
version: 2
seeds:
  - name: expected
    config: {{column_types: {{{column}: {type_}}}}}
""",
    }


class TestTypeFloat(test_type_float.BaseTypeFloat):
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return _typed(test_type_float.seeds__expected_csv, "float_col", "float")


class TestTypeInt(test_type_int.BaseTypeInt):
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return _typed(test_type_int.seeds__expected_csv, "int_col", "int")


class TestTypeNumeric(test_type_numeric.BaseTypeNumeric):
    def numeric_fixture_type(self) -> str:
        return "decimal(28,6)"


class TestTypeString(test_type_string.BaseTypeString):
    pass


class TestTypeTimestamp(test_type_timestamp.BaseTypeTimestamp):
    pass
