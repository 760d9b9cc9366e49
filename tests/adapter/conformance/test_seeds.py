"""Seeds: types, delimiters, names, refreshes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt.tests.adapter.simple_seed import fixtures, test_seed, test_seed_type_override

pytestmark = pytest.mark.conformance


class FromPostgres:
    """The suite sets its tables up in PostgreSQL's SQL."""

    @pytest.fixture(scope="class")
    def project(self, project: Any, from_postgres: Callable[[Any], Any]) -> Any:
        return from_postgres(project)


class TestBasicSeed(FromPostgres, test_seed.BaseBasicSeedTests):
    pass


class TestSeedConfigFullRefreshOn(FromPostgres, test_seed.BaseSeedConfigFullRefreshOn):
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
    pass


class TestSeedSpecificFormats(test_seed.BaseSeedSpecificFormats):
    pass


class TestEmptySeed(test_seed.BaseTestEmptySeed):
    pass


class TestSeedColumnOverride(test_seed_type_override.BaseSimpleSeedColumnOverride):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        """The suite's expectations in Spark's types."""
        schema = fixtures.properties__schema_yml.replace("type: text", "type: string")
        schema = schema.replace("type: timestamp without time zone", "type: timestamp")
        return {"schema.yml": schema.replace("type: integer", "type: bigint")}

    @staticmethod
    def seed_enabled_types() -> dict[str, str]:
        return {"seed_id": "string", "birthday": "date"}

    @staticmethod
    def seed_tricky_types() -> dict[str, str]:
        names = ("seed_id_str", "looks_like_a_bool", "looks_like_a_date")
        return dict.fromkeys(names, "string")
