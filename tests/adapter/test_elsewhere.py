"""What comes from a Spark in another process: a Thrift server's errors, maps and waiting."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.tapestry.connections import TapestryConnectionManager
from dbt.adapters.tapestry.credentials import TapestryCredentials
from tapestry.runs.engine.session import Session
from tapestry.runs.engine.values import as_map
from tapestry.runs.sources.describe import properties_in
from tapestry.runs.tables.target import look, properties_of

SERVED = (
    "org.apache.hive.service.cli.HiveSQLException: Error running query: [PARSE_SYNTAX_ERROR]"
    " org.apache.spark.sql.catalyst.parser.ParseException: [PARSE_SYNTAX_ERROR] Syntax error.\n"
    "\tat org.apache.spark.sql.hive.thriftserver.HiveThriftServerErrors$.f(Hive.scala:43)\n"
)


@pytest.mark.parametrize(
    "error",
    [
        DbtDatabaseError(SERVED),
        ValueError(SimpleNamespace(status=SimpleNamespace(errorMessage=SERVED))),
    ],
    ids=["while a statement is polled", "at once"],
)
def test_the_stack_of_a_thrift_server_is_not_shown(error: Exception) -> None:
    manager = TapestryConnectionManager.__new__(TapestryConnectionManager)
    with pytest.raises(DbtDatabaseError) as short, manager.exception_handler("select"):
        raise error
    assert short.value.msg == "[PARSE_SYNTAX_ERROR] Syntax error."


def test_errors_without_a_stack_stay_as_they_are() -> None:
    manager = TapestryConnectionManager.__new__(TapestryConnectionManager)
    ours = DbtRuntimeError("one\n  do: two")
    with pytest.raises(DbtRuntimeError) as same, manager.exception_handler("select"):
        raise ours
    assert same.value is ours


@pytest.mark.parametrize(
    ("parameters", "properties"),
    [
        ({"properties": '{"a.b":"1"}', "isManaged": "true"}, {"a.b": "1"}),
        (None, {}),
        # As a Thrift server writes a map: what is in it is not escaped.
        (
            '{"isManaged":"true","properties":"{"a.b":"1","c":"}\\""}","x":"y"}',
            {"a.b": "1", "c": '}"'},
        ),
        ('{"isManaged":"true","properties":"{}"}', {}),
        ('{"isManaged":"true","properties":"}', {}),
        ('{"mode":"Append"}', {}),
    ],
)
def test_properties_in_a_table_s_history(parameters: Any, properties: dict[str, str]) -> None:
    assert properties_of(parameters) == properties


@pytest.mark.parametrize(
    ("value", "pairs"),
    [
        ({"a": "1"}, {"a": "1"}),
        ('{"a":"1","b.c":"x, y"}', {"a": "1", "b.c": "x, y"}),
        (
            '{"a":"say "no", or not","b":"}","c":"{"d":1}"}',
            {"a": 'say "no", or not', "b": "}", "c": '{"d":1}'},
        ),
        ("{}", {}),
        ("no map", {}),
        ("", {}),
        (None, {}),
    ],
)
def test_maps_as_such_and_as_text(value: Any, pairs: dict[str, str]) -> None:
    """Quotes in it are not escaped by a Thrift server."""
    assert as_map(value) == pairs


def test_a_table_whose_properties_hold_json() -> None:
    """The table of rejected rows names its columns so; over Thrift it could not be looked at."""
    held = '{"tapestry.rejected":"{"n":"_n","x":"_x"}","tapestry.generation":"g"}'
    at = "2026-01-01"
    detail = ("delta", "id-1", "s.t", None, "file:/t", at, at, (), (), 2, 30, held)

    class Served(Session):
        def rows(self, sql: str) -> list[tuple[Any, ...]]:
            return [detail]

        def run(self, sql: str) -> None:
            raise AssertionError(sql)

    seen = look(Served(), "s.t")
    assert seen is not None
    assert (seen.table_id, seen.generation) == ("id-1", "g")
    assert properties_in(detail)["tapestry.generation"] == "g"


def test_a_server_is_asked_often() -> None:
    """A run makes dozens of statements of some milliseconds; dbt-spark waits 5 s for each."""
    assert TapestryCredentials(database=None, schema="s").poll_interval == 0.2
    data = {"schema": "s", "poll_interval": 3}
    TapestryCredentials.validate(data)
    assert TapestryCredentials.from_dict(data).poll_interval == 3
