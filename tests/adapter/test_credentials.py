"""Credentials of a profile: what is enough, and what wins."""

from __future__ import annotations

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry.credentials import TapestryCredentials


def _credentials(**given: object) -> TapestryCredentials:
    data = {"schema": "s", **given}
    TapestryCredentials.validate(TapestryCredentials.translate_aliases(data))
    return TapestryCredentials.from_dict(data)


def test_a_schema_is_enough() -> None:
    credentials = _credentials()
    assert credentials.embedded
    assert credentials.type == "tapestry"
    assert dict(credentials.connection_info()) == {
        "method": "session",
        "master": None,
        "keep_warm": None,
        "schema": "s",
    }
    assert credentials.warm_seconds is None
    # What macros have as `target`: packages ask for its database, which Spark has not.
    assert dict(credentials.connection_info(with_aliases=True))["database"] is None


def test_how_long_spark_is_kept() -> None:
    assert _credentials(keep_warm="10 minutes").warm_seconds == 600
    assert _credentials(keep_warm="0s").warm_seconds is None
    with pytest.raises(DbtRuntimeError, match="keep_warm: 'a while' is not a length of time"):
        _ = _credentials(keep_warm="a while").warm_seconds


def test_the_profile_wins_over_ansi_off() -> None:
    assert _credentials().server_side_parameters["spark.sql.ansi.enabled"] == "false"
    given = {"spark.sql.ansi.enabled": True}
    credentials = _credentials(server_side_parameters=given)
    assert credentials.server_side_parameters["spark.sql.ansi.enabled"] == "true"
