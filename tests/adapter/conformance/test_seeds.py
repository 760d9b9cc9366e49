"""Seeds: types, delimiters, names, refreshes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.simple_seed import fixtures, seeds, test_seed, test_seed_type_override
from dbt.tests.util import run_dbt

pytestmark = pytest.mark.conformance

UNICODE = seeds.seed__unicode_csv


class FromPostgres:
    """The suite sets its tables up in PostgreSQL's SQL."""

    @pytest.fixture(scope="class")
    def project(self, project: Any, from_postgres: Callable[[Any], Any]) -> Any:
        return from_postgres(project)


class NoCascade(FromPostgres):
    """A view outlives its table in Spark, so a refreshed seed leaves the view on it alone."""

    def _check_relation_end_state(self, run_result: Any, project: Any, exists: bool) -> None:
        super()._check_relation_end_state(run_result, project, exists=True)  # type: ignore[misc]


class TestBasicSeed(NoCascade, test_seed.BaseBasicSeedTests):
    pass


class TestSeedConfigFullRefreshOn(NoCascade, test_seed.BaseSeedConfigFullRefreshOn):
    pass


class TestSeedConfigFullRefreshOff(FromPostgres, test_seed.BaseSeedConfigFullRefreshOff):
    pass


class TestSeedCustomSchema(FromPostgres, test_seed.BaseSeedCustomSchema):
    pass


class TestSeedWithUniqueDelimiter(FromPostgres, test_seed.BaseSeedWithUniqueDelimiter):
    pass


class TestSeedWithWrongDelimiter(FromPostgres, test_seed.BaseSeedWithWrongDelimiter):
    pass


class TestSeedWithEmptyDelimiter(FromPostgres, test_seed.BaseSeedWithEmptyDelimiter):
    pass


class TestSeedEnabledViaConfig(test_seed.BaseSimpleSeedEnabledViaConfig):
    pass


class TestSeedParsing(FromPostgres, test_seed.BaseSeedParsing):
    pass


class TestSeedWithBom(FromPostgres, test_seed.BaseSimpleSeedWithBOM):
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project: Any) -> None:
        project.run_sql(seeds.seeds__expected_sql)
        path = Path(project.project_root) / "seeds" / "seed_bom.csv"
        path.write_text("\ufeff" + seeds.seed__actual_csv.lstrip(), encoding="utf-8")


class TestSeedSpecificFormats(test_seed.BaseSeedSpecificFormats):
    """Without the file `seed.with.dots`: dots part a name in Spark."""

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        numbers = "\n".join(str(number) for number in range(20000))
        return {"big_seed.csv": f"seed_id\n{numbers}\n", "seed_unicode.csv": UNICODE}

    def test_simple_seed(self, project: Any) -> None:
        assert len(run_dbt(["seed"])) == 2
        rows = project.run_sql("select count(*), sum(seed_id) from {schema}.big_seed", fetch="all")
        assert [tuple(row) for row in rows] == [(20000, sum(range(20000)))]


class TestEmptySeed(test_seed.BaseTestEmptySeed):
    pass


class TestSeedColumnOverride(test_seed_type_override.BaseSimpleSeedColumnOverride):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        """The suite's expectations in Spark's types."""
        schema = fixtures.properties__schema_yml.replace("type: text", "type: string")
        schema = schema.replace("type: timestamp without time zone", "type: timestamp")
        schema = schema.replace("type: date", "type: timestamp")
        return {"schema.yml": schema.replace("type: integer", "type: bigint")}

    @staticmethod
    def seed_enabled_types() -> dict[str, str]:
        """The file has times of day, which a DATE does not keep."""
        return {"seed_id": "string", "birthday": "timestamp"}

    @staticmethod
    def seed_tricky_types() -> dict[str, str]:
        names = ("seed_id_str", "looks_like_a_bool", "looks_like_a_date")
        return dict.fromkeys(names, "string")
