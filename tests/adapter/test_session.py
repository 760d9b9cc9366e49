"""The session that runs work with, over connections that only look like dbt's: no Spark."""

from __future__ import annotations

import os
import weakref
from contextlib import nullcontext
from dataclasses import fields
from threading import get_ident
from types import SimpleNamespace
from typing import Any, cast

import pytest
from dbt.adapters.contracts.connection import Connection

from dbt.adapters.tapestry import connect_client
from dbt.adapters.tapestry.handle import EmbeddedConnection
from dbt.adapters.tapestry.overrides import Overrides
from dbt.adapters.tapestry.session import DbtSession
from tapestry.runs.engine.session import ONLY_SQL, Capabilities


class Conf:
    """Spark's settings of a session, as far as they are asked for."""

    def __init__(self, **given: str) -> None:
        self.values = {
            "spark.sql.codegen.wholeStage": "true",
            "spark.sql.codegen.factoryMode": "FALLBACK",
            "spark.sql.inMemoryColumnarStorage.compressed": "true",
            "spark.sql.adaptive.enabled": "true",
            "spark.sql.shuffle.partitions": "2",
            **{name.replace("_", "."): value for name, value in given.items()},
        }

    def get(self, name: str, *default: str | None) -> str | None:
        return self.values.get(name, *default) if default else self.values[name]

    def set(self, name: str, value: str) -> None:
        self.values[name] = value

    def unset(self, name: str) -> None:
        self.values.pop(name, None)

    def isModifiable(self, name: str) -> bool:
        return name != "spark.master"


def _session(conf: Conf, embedded: bool = True) -> Any:
    handle = SimpleNamespace(
        session=SimpleNamespace(conf=conf), overrides=Overrides(cast(Any, conf))
    )
    connections = SimpleNamespace(
        get_thread_connection=lambda: SimpleNamespace(handle=handle),
        exception_handler=lambda sql: nullcontext(),
    )
    config = SimpleNamespace(credentials=SimpleNamespace(embedded=embedded))
    adapter: Any = SimpleNamespace(connections=connections, config=config)
    return DbtSession(adapter)


class OneThreadOneConnection:
    """dbt's connections, over sessions that answer a statement with its own text."""

    def __init__(self) -> None:
        spark = SimpleNamespace(sql=self._frame)
        self.there = {get_ident(): Connection("tapestry", "test", cast(Any, None))}
        handle = EmbeddedConnection.__new__(EmbeddedConnection)
        handle.session, handle._frame, handle._rows = spark, None, None  # type: ignore[assignment]
        self.get_thread_connection().handle = handle

    def _frame(self, sql: str) -> Any:
        fields: list[Any] = []
        return SimpleNamespace(schema=SimpleNamespace(fields=fields), collect=lambda: [(sql,)])

    def get_thread_connection(self) -> Connection:
        return self.there[get_ident()]

    def set_thread_connection(self, connection: Connection) -> None:
        assert get_ident() not in self.there
        self.there[get_ident()] = connection

    def clear_thread_connection(self) -> None:
        del self.there[get_ident()]

    def add_query(self, sql: str, auto_begin: bool) -> tuple[Connection, Any]:
        connection = self.get_thread_connection()
        cursor = connection.handle.cursor()
        cursor.execute(sql)
        return connection, cursor

    def exception_handler(self, sql: str) -> Any:
        return nullcontext()


def _offered(session: DbtSession) -> set[str]:
    """What a session can do that one with SQL only cannot."""
    names = {one.name for one in fields(Capabilities)}
    return {name for name in names if getattr(session.can, name) is not getattr(ONLY_SQL, name)}


def test_what_is_done_meanwhile_has_a_cursor_of_its_own() -> None:
    """Else a statement of the one thread would get the rows of the other's."""
    connections = OneThreadOneConnection()
    config = SimpleNamespace(credentials=SimpleNamespace(embedded=True))
    session = DbtSession(cast(Any, SimpleNamespace(connections=connections, config=config)))
    _, cursor = connections.add_query("mine", auto_begin=False)
    for _ in range(3):
        assert session.can.meanwhile(lambda: session.rows("beside")).result() == [("beside",)]
    assert cursor.fetchall() == [("mine",)]
    assert list(connections.there) == [get_ident()]
    with pytest.raises(ZeroDivisionError):
        session.can.meanwhile(lambda: 1 / 0).result()
    assert list(connections.there) == [get_ident()]


def test_little_data_is_interpreted_and_the_settings_come_back() -> None:
    conf = Conf()
    before = dict(conf.values)
    with _session(conf).can.for_little():
        assert conf.get("spark.sql.codegen.factoryMode") == "NO_CODEGEN"
        assert conf.get("spark.sql.codegen.wholeStage") == "false"
        assert conf.get("spark.sql.adaptive.enabled") == "false"
    assert conf.values == before
    with pytest.raises(ZeroDivisionError), _session(conf).can.for_little():
        _ = 1 / 0
    assert conf.values == before


def test_many_partitions_stay_with_adaptive_execution() -> None:
    conf = Conf(spark_sql_shuffle_partitions="200")
    with _session(conf).can.for_little():
        assert conf.get("spark.sql.adaptive.enabled") == "true"
        assert conf.get("spark.sql.codegen.wholeStage") == "false"

    with _session(conf).can.planned_once():
        assert conf.get("spark.sql.adaptive.enabled") == "true"


def test_what_joins_nothing_is_compiled_and_planned_once() -> None:
    conf = Conf()
    before = dict(conf.values)
    with _session(conf).can.planned_once():
        assert conf.values == {**before, "spark.sql.adaptive.enabled": "false"}
    assert conf.values == before


@pytest.mark.parametrize(
    ("master", "stays"),
    [
        ("local[2]", True),
        ("local", True),
        ("local-cluster[1,1,1024]", False),
        ("spark://host:7077", False),
        ("", False),
    ],
)
def test_what_spark_keeps_stays_only_where_all_of_it_is_in_one_process(
    master: str, stays: bool
) -> None:
    conf = Conf(spark_master=master)
    assert _session(conf).can.keeps_memory() is stays
    assert not _session(conf, embedded=False).can.keeps_memory()


def test_a_spark_elsewhere_is_left_as_it_is() -> None:
    assert _offered(_session(Conf(), embedded=False)) == {
        "keeps_memory",
        "input_files",
        "apart",
        "stop_after",
    }


def test_a_closed_connection_lets_go_of_its_session() -> None:
    """dbt keeps closed connections; Spark would keep their sessions."""

    class Session:
        """As little as is asked of it."""

        conf = Conf()
        _jsparkSession = None

    session: Any = Session()
    seen = weakref.ref(session)
    handle = EmbeddedConnection(session, {})
    del session
    assert seen() is handle.session
    handle.close()
    assert seen() is None
    handle.cancel()
    handle.close()


def test_a_closed_connection_ends_its_session_on_a_server() -> None:
    """A Connect server would keep it for an hour."""

    class Session:
        conf, stopped = Conf(), 0
        client = SimpleNamespace(set_retry_policies=lambda policies: None)

        def stop(self) -> None:
            self.stopped += 1

    session: Any = Session()
    handle = EmbeddedConnection(session, {})
    beside = handle.beside()
    handle.close()
    handle.close()
    assert session.stopped == 1
    assert beside.session is session


def test_a_server_s_session_is_never_set_for_a_while() -> None:
    conf = Conf()
    session = _session(conf)
    config = SimpleNamespace(credentials=SimpleNamespace(embedded=True, connect=True))
    there = DbtSession(
        cast(Any, SimpleNamespace(connections=session._adapter.connections, config=config))
    )
    assert _offered(there) == {
        "keeps_memory",
        "input_files",
        "apart",
        "frame",
        "meanwhile",
        "stop_after",
    }
    assert _offered(session) == {one.name for one in fields(Capabilities)}


def test_an_embedded_spark_can_start_once_the_sessions_on_a_server_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """pyspark's variable holds for the process: while one session is open, and no longer."""
    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED", raising=False)
    mode = connect_client._Mode()
    mode.enter()
    mode.enter()
    mode.leave()
    assert os.environ["SPARK_CONNECT_MODE_ENABLED"] == "1"
    mode.leave()
    assert "SPARK_CONNECT_MODE_ENABLED" not in os.environ
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")  # somebody else's
    mode.enter()
    mode.leave()
    assert os.environ["SPARK_CONNECT_MODE_ENABLED"] == "1"
