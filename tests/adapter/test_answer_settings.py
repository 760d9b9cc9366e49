"""Settings that change answers: what a session is opened with, asked for, and held against it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from dbt.adapters.contracts.connection import Connection, ConnectionState
from dbt.adapters.exceptions import FailedToConnectError

from dbt.adapters.tapestry.answer_settings import (
    ANSI,
    LOSING,
    SPARKS,
    STANDARD,
    ZONE,
    effective,
    not_taken,
    to_correct,
    unusual,
)
from dbt.adapters.tapestry.credentials import TapestryCredentials
from dbt.adapters.tapestry.invocations import refuse_other_settings
from dbt.adapters.tapestry.servers import PREFIX, open_elsewhere
from dbt.adapters.tapestry.workers import ASKS_CORES
from tapestry.errors import ConfigurationError, QueryChanged
from tapestry.runs.context.clock import read_clock
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.kinds.continuous.query import query_changed
from tapestry.runs.model.model import Model
from tapestry.runs.query.settings import (
    grown_otherwise,
    refuse_grown_otherwise,
    same_query,
    settings_line,
)
from tapestry.runs.sources.too_old import GUARD

CASE, CTES = "spark.sql.caseSensitive", "spark.sql.legacy.ctePrecedencePolicy"


def test_what_nobody_set_is_as_spark_has_it() -> None:
    lower = {key: value.lower() for key, value in SPARKS.items()}
    assert effective({}) == {**lower, ZONE: ""}
    assert unusual({ANSI: "false", ZONE: "Asia/Tokyo"}) == ()
    assert unusual({}) == (f"{ANSI} = true",), "Spark 4's own; ours is off"


@pytest.mark.parametrize("key", sorted(STANDARD))
def test_each_of_them_is_told_apart_and_put_right(key: str) -> None:
    other = "other" if STANDARD[key] not in ("true", "false") else _not(STANDARD[key])
    found = {ANSI: "false", key: other}
    assert unusual(found) == (f"{key} = {other}",)
    assert to_correct(found, {}) == {key: STANDARD[key]}
    assert to_correct(found, {key: other}) == {}, "the profile wins"
    assert to_correct(found, {}, {key}) == {}, "left alone"
    assert list(not_taken(found, STANDARD)) == [key]


def _not(value: str) -> str:
    return {"true": "false", "false": "true"}[value]


BY_CORES = "SET spark.sql.shuffle.partitions=4"


def test_how_a_value_is_written_does_not_matter() -> None:
    found = {ANSI: "FALSE", CTES: " corrected ", "my.key": "A"}
    assert unusual(found) == ()
    assert list(not_taken(found, {ANSI: "False", "my.key": "A", "other.key": "B"})) == ["other.key"]
    assert list(not_taken(found, {"my.key": "a"})) == ["my.key"]


class Server:
    """A Thrift server: what a session is opened with counts, `fixed` stays as it is."""

    def __init__(self, started: dict[str, str], fixed: tuple[str, ...] = ()) -> None:
        self.started, self.fixed = started, fixed
        self.texts: list[str] = []
        self.closed = 0

    def open(self, connection: Connection) -> Connection:
        credentials = cast(TapestryCredentials, connection.credentials)
        given = credentials.server_side_parameters
        said = {k.removeprefix(PREFIX): v for k, v in given.items() if k.startswith(PREFIX)}
        for key in said.keys() & set(self.fixed):
            raise FailedToConnectError(
                f"failed to connect: … AnalysisException: [CANNOT_MODIFY_STATIC_CONFIG] Cannot"
                f' modify the value of the static Spark config: "{key}".'
            )
        self.values = {**self.started, **said}
        connection.state = cast(Any, ConnectionState.OPEN)
        cursors = SimpleNamespace(cursor=lambda: Cursor(self))
        connection.handle = SimpleNamespace(handle=cursors, close=self.close)
        return connection

    def close(self) -> None:
        self.closed += 1


class Cursor:
    """One statement over the driver's own connection."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.rows: list[tuple[str, str]] = []

    @property
    def description(self) -> list[str]:
        return ["key", "value"]

    def execute(self, sql: str) -> None:
        self.server.texts.append(sql)
        if sql == ASKS_CORES:
            self.rows = [("*(1) Range (0, 1, step=1, splits=4)", "")]
            return
        if sql != "SET":
            key, _, value = sql.removeprefix("SET ").partition("=")
            self.server.values[key] = value
        self.rows = sorted(self.server.values.items())

    def fetchall(self) -> list[tuple[str, str]]:
        return self.rows

    def close(self) -> None:
        pass


def _opened(server: Server, parameters: dict[str, Any]) -> Connection:
    data = {"schema": "s", "method": "thrift", "host": "h", "server_side_parameters": parameters}
    TapestryCredentials.validate(data)
    connection = Connection("tapestry", "test", cast(Any, TapestryCredentials.from_dict(data)))
    return open_elsewhere(connection, server.open)


def test_a_session_elsewhere_has_what_the_profile_says_and_else_what_ours_have() -> None:
    pytest.importorskip("pyhive")
    server = Server({ANSI: "true", CASE: "true", CTES: "LEGACY", "spark.other": "x"})
    opened = _opened(server, {"my.key": 'a\'b; "c"', "spark.sql.caseSensitive": True}).handle.opened
    assert opened["my.key"] == 'a\'b; "c"'
    assert unusual(opened) == (f"{CASE} = true",)
    assert opened[ZONE] == "UTC"
    assert server.texts == ["SET", f"SET {CTES}=CORRECTED", "SET", ASKS_CORES, BY_CORES]


def test_a_server_that_is_as_usual_is_asked_once() -> None:
    pytest.importorskip("pyhive")
    server = Server({"spark.other": "x"})
    assert unusual(_opened(server, {}).handle.opened) == ()
    assert server.texts == ["SET", ASKS_CORES, BY_CORES]
    assert server.values["spark.databricks.delta.snapshotPartitions"] == "1"
    assert server.values[GUARD] == "false"
    sized = Server({"spark.sql.shuffle.partitions": "200"})
    _opened(sized, {"spark.databricks.delta.snapshotPartitions": "9"})
    assert sized.texts == ["SET"]
    assert sized.values["spark.databricks.delta.snapshotPartitions"] == "9"


def test_what_the_profile_gives_as_null_stays_as_the_server_has_it() -> None:
    pytest.importorskip("pyhive")
    server = Server({ANSI: "true", CASE: "true", ZONE: "Asia/Tokyo"})
    opened = _opened(server, {ANSI: None, CASE: None, ZONE: None}).handle.opened
    assert unusual(opened) == (f"{ANSI} = true", f"{CASE} = true")
    assert opened[ZONE] == "Asia/Tokyo"


def test_a_setting_that_is_fixed_says_where_it_is_set() -> None:
    pytest.importorskip("pyhive")
    server = Server({}, fixed=("spark.sql.warehouse.dir",))
    with pytest.raises(FailedToConnectError) as refused:
        _opened(server, {"spark.sql.warehouse.dir": "s3a://secret"})
    assert "another value of spark.sql.warehouse.dir" in refused.value.msg
    assert "where the server is started" in refused.value.msg
    assert "secret" not in refused.value.msg


def test_a_setting_that_a_server_ignores_is_no_connection() -> None:
    """Nothing of it in silence; the session is closed, and the next try opens a new one."""
    pytest.importorskip("pyhive")

    class Deaf(Server):
        def open(self, connection: Connection) -> Connection:
            super().open(connection)
            self.values = dict(self.started)
            return connection

    server = Deaf({})
    for times in (1, 2):
        with pytest.raises(FailedToConnectError, match=r"value of spark\.sql\.session\.timeZone"):
            _opened(server, {ZONE: "Asia/Tokyo"})
        assert server.closed == times


def _session(found: dict[str, str]) -> Any:
    return SimpleNamespace(settings={ANSI: "false", ZONE: "UTC", **found})


def test_a_hook_that_sets_what_changes_answers_is_refused() -> None:
    usual = Invocation("i", read_clock({}, {}), "s.t")
    strict = Invocation("i", read_clock({}, {}), "s.t", settings=(f"{ANSI} = true",))
    refuse_other_settings(_session({"spark.sql.shuffle.partitions": "7"}), usual, "m.sql")
    refuse_other_settings(_session({ANSI: "true"}), strict, "m.sql")
    for invocation, found, said in (
        (usual, {ANSI: "true"}, f"{ANSI} is true for this model"),
        (strict, {ANSI: "false"}, f"{ANSI} is false for this model"),
        (usual, {CTES: "LEGACY"}, f"{CTES} is legacy for this model"),
        (usual, {ZONE: "Asia/Tokyo"}, "the session time zone is Asia/Tokyo"),
    ):
        with pytest.raises(ConfigurationError, match=said) as refused:
            refuse_other_settings(_session(found), invocation, "m.sql")
        assert "server_side_parameters" in refused.value.hint


@pytest.mark.parametrize("key", LOSING)
@pytest.mark.parametrize("given", [True, False])
def test_what_reads_a_lost_file_as_an_empty_one_is_refused(key: str, given: bool) -> None:
    """In the profile, so that the invocation has it, or by a hook."""
    settings = (f"{key} = true",) if given else ()
    invocation = Invocation("i", read_clock({}, {}), "s.t", settings=settings)
    with pytest.raises(ConfigurationError, match=f"{key} is true: rows of a file"):
        refuse_other_settings(_session({ANSI: "false", key: "TRUE"}), invocation, "m.sql")


OLD = "SELECT 1\n-- session time zone UTC\n-- arrival of s.m: ts"


def test_a_query_under_other_settings_is_another_query() -> None:
    usual, strict = settings_line([]), settings_line([f"{ANSI} = true"])
    assert same_query(f"{OLD}\n{usual}", f"{OLD}\n{usual}")
    assert not same_query(f"{OLD}\n{usual}", f"{OLD}\n{strict}")
    assert not same_query(f"{OLD}\n{strict}", f"{OLD}\n{usual}")
    assert not same_query(f"{OLD}\n{usual}", f"{OLD.replace('1', '2')}\n{usual}")


def test_a_row_of_before_there_was_such_a_record_goes_on() -> None:
    for line in (settings_line([]), settings_line([f"{ANSI} = true"])):
        assert same_query(OLD, f"{OLD}\n{line}")
        assert not same_query(OLD.replace("1", "2"), f"{OLD}\n{line}")


@pytest.mark.parametrize("zone", ["Etc/UTC", "Z", "GMT", "UTC"])
def test_utc_has_several_names(zone: str) -> None:
    """A server's own zone was written down as the server called it."""
    assert same_query(OLD.replace("UTC", zone), OLD)
    assert not same_query(OLD.replace("UTC", "Asia/Tokyo"), OLD)


def test_a_value_cannot_leave_its_line() -> None:
    line = settings_line(["spark.sql.x = a\n*/ DROP TABLE `t`; --", f"{ANSI} = true"])
    assert line == f"-- settings: spark.sql.x = a ?? DROP TABLE ?t?? --, {ANSI} = true"
    assert unusual({ANSI: "false", CTES: "a\n; DROP"}) == (f"{CTES} = a ; drop",)


def test_a_table_is_not_checked_under_other_settings_than_its_own() -> None:
    model = Model("m", "s.m", "select 1", file="m.sql")
    grown = f"{OLD}\n{settings_line([f'{ANSI} = true'])}"
    assert not grown_otherwise(OLD, [f"{ANSI} = true"])
    refuse_grown_otherwise(model, grown, [f"{ANSI} = true"])
    with pytest.raises(QueryChanged, match=f"m was grown with {ANSI} = true; .* has as usual"):
        refuse_grown_otherwise(model, grown, [])


def test_the_change_is_shown_with_what_it_was() -> None:
    """A comment that went begins like the head of a listing of differences."""
    query: Any = SimpleNamespace(canonical=f"{OLD}\n{settings_line([f'{ANSI} = true'])}")
    model = Model("m", "s.m", "select 1", file="m.sql")
    shown = query_changed(model, f"{OLD}\n{settings_line([])}", query).reason
    assert shown.endswith(f": - -- settings: as usual + -- settings: {ANSI} = true")
    moved = query_changed(model, OLD.replace("UTC", "Asia/Tokyo"), query).reason
    assert moved.endswith(": - -- session time zone Asia/Tokyo + -- session time zone UTC")
