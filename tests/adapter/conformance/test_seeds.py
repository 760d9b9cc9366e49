"""Seeds: types, delimiters, names, refreshes."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.simple_seed import test_seed, test_seed_type_override

pytestmark = pytest.mark.conformance


class TestBasicSeed(test_seed.BaseBasicSeedTests):
    pass


class TestSeedConfigFullRefreshOn(test_seed.BaseSeedConfigFullRefreshOn):
    pass


class TestSeedConfigFullRefreshOff(test_seed.BaseSeedConfigFullRefreshOff):
    pass


class TestSeedCustomSchema(test_seed.BaseSeedCustomSchema):
    pass


class TestSeedWithUniqueDelimiter(test_seed.BaseSeedWithUniqueDelimiter):
    pass


class TestSeedWithWrongDelimiter(test_seed.BaseSeedWithWrongDelimiter):
    pass


class TestSeedWithEmptyDelimiter(test_seed.BaseSeedWithEmptyDelimiter):
    pass


class TestSeedEnabledViaConfig(test_seed.BaseSimpleSeedEnabledViaConfig):
    pass


class TestSeedParsing(test_seed.BaseSeedParsing):
    pass


class TestSeedWithBom(test_seed.BaseSimpleSeedWithBOM):
    pass


class TestSeedSpecificFormats(test_seed.BaseSeedSpecificFormats):
    pass


class TestEmptySeed(test_seed.BaseTestEmptySeed):
    pass


class TestSeedColumnOverride(test_seed_type_override.BaseSimpleSeedColumnOverride):
    pass
