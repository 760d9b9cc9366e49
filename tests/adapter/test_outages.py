"""What breaks between dbt and a Spark elsewhere is said in words (no Spark here)."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.exceptions import FailedToConnectError
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.tapestry.connections import TapestryConnectionManager
from dbt.adapters.tapestry.credentials import TapestryCredentials
from dbt.adapters.tapestry.naming import TapestryRelation
from dbt.adapters.tapestry.outages import HERE, outage, place_of, within
from dbt.adapters.tapestry.python_models import refuse_without_session
from tapestry.cli.checks import trouble
from tapestry.errors import Refusal
from tapestry.sql import relation_names

sys.path.insert(0, str(Path(__file__).parent))

from reached import Reached

PLACE = "sc://host:15002"
NOBODY, GONE, LATE = "nobody answers", "server has ended", "did not answer in time"
NO_SERVER, NO_TLS = "ended the connection before", "no encrypted connection"
NO_SESSION, NO_JARS, ENDED = "no longer knows this session", "lack Delta's classes", "has ended"


def _named(name: str, text: str, base: type[Exception] = Exception) -> Exception:
    """An exception of a driver's class, which need not be installed."""
    error: Exception = type(name, (base,), {})(text)
    return error


def _wrapped(inner: Exception) -> Exception:
    try:
        try:
            raise inner
        except Exception as error:
            raise DbtRuntimeError(f"failed to connect: {type(error).__name__}: {error}") from error
    except DbtRuntimeError as outer:
        return outer


GRPC = '<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.{}\n\tdetails = "{}"'
LAMBDA = (
    "Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, most recent failure:"
    " java.lang.ClassCastException: cannot assign instance of java.lang.invoke.SerializedLambda to"
    " field org.apache.spark.rdd.MapPartitionsRDD.f of type scala.Function3"
)
TOLD = [
    (_named("TTransportException", "unexpected exception"), GONE),
    (_named("TTransportException", "TSocket read 0 bytes"), GONE),
    (_named("TTransportException", "Could not connect to any of [('127.0.0.1', 1)]"), NOBODY),
    (_wrapped(_named("TTransportException", "Could not connect to any of [('::1', 1)]")), NOBODY),
    (_named("TTransportException", "read timed out"), LATE),
    (ConnectionRefusedError(111, "Connection refused"), NOBODY),
    (socket.gaierror(-2, "Name or service not known"), NOBODY),
    (BrokenPipeError(32, "Broken pipe"), GONE),
    (ConnectionResetError(104, "Connection reset by peer"), GONE),
    (EOFError(), GONE),
    (TimeoutError("no answer within 3 s"), LATE),
    (DbtRuntimeError("Connection lost while polling query status after 1 attempts."), GONE),
    (_named("_InactiveRpcError", GRPC.format("UNAVAILABLE", "Socket closed")), GONE),
    (
        _named(
            "SparkConnectGrpcException",
            GRPC.format("UNAVAILABLE", "failed to connect to all addresses; Connection refused"),
        ),
        NOBODY,
    ),
    (_named("_InactiveRpcError", GRPC.format("DEADLINE_EXCEEDED", "Deadline Exceeded")), LATE),
    (
        _named("SparkConnectGrpcException", "[INVALID_HANDLE.SESSION_NOT_FOUND] The handle x"),
        NO_SESSION,
    ),
    (_named("SparkException", "[INVALID_HANDLE.SESSION_CLOSED] The handle x is"), NO_SESSION),
    (
        Exception(SimpleNamespace(status=SimpleNamespace(errorMessage="Invalid SessionHandle: a"))),
        NO_SESSION,
    ),
    (_named("SparkException", LAMBDA), NO_JARS),
    (DbtDatabaseError(LAMBDA), NO_JARS),
    (
        _named("SparkException", "java.lang.NoClassDefFoundError: io/delta/kernel/Table\n\tat x"),
        NO_JARS,
    ),
    (
        _named("SparkException", "java.lang.ClassNotFoundException: org.apache.spark.sql.delta.X"),
        NO_JARS,
    ),
    (_wrapped(ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number")), NO_TLS),
    (_wrapped(_named("TTransportException", "CERTIFICATE_VERIFY_FAILED: self-signed")), NO_TLS),
    (_named("_InactiveRpcError", GRPC.format("UNAVAILABLE", "Ssl handshake: SSL_ERROR")), NO_TLS),
    (_named("Py4JNetworkError", "Answer from Java side is empty"), ENDED),
]
OTHERS = [
    ValueError("timed out"),
    DbtRuntimeError("a model of mine: Connection refused"),
    _named("SparkException", "java.net.ConnectException: s3.example: Connection refused"),
    _named("SparkRuntimeException", "[USER_RAISED_EXCEPTION] Broken pipe, UNAVAILABLE"),
    _named("SparkRuntimeException", f"[USER_RAISED_EXCEPTION] {LAMBDA}"),
    _named("SparkRuntimeException", "[USER_RAISED_EXCEPTION] x [INVALID_HANDLE.SESSION] y"),
    _named("AnalysisException", "[TABLE_OR_VIEW_NOT_FOUND] `timed out`"),
    _named("SparkException", "java.lang.ClassCastException: Integer cannot be cast to Long"),
    _named("SparkException", "javax.net.ssl.SSLException: s3.example: CERTIFICATE_VERIFY_FAILED"),
    _named("SparkException", "java.lang.ClassNotFoundException: com.example.MyFunction"),
    PermissionError(13, "Permission denied"),
]


@pytest.mark.parametrize(("error", "said"), TOLD, ids=lambda one: str(one)[:40])
def test_what_a_driver_says(error: Exception, said: str) -> None:
    found = outage(error, PLACE)
    assert found is not None
    assert said in found.reason
    assert found.where == (PLACE if said != ENDED else "logs/spark.log")
    assert found.hint
    assert len(str(found).splitlines()) == 3


@pytest.mark.parametrize("error", OTHERS, ids=lambda one: str(one)[:40])
def test_what_spark_or_a_user_says_is_no_outage(error: Exception) -> None:
    assert outage(error, PLACE) is None


@pytest.mark.parametrize("error", [one for one, said in TOLD if said == GONE], ids=str)
def test_who_hangs_up_before_a_session_is_open_may_be_another_server(error: Exception) -> None:
    found = outage(error, PLACE, opening=True)
    assert found is not None
    assert NO_SERVER in found.reason
    assert "auth" in found.hint
    assert "use_ssl" in found.hint


def test_an_error_that_hides_its_context_is_not_the_context() -> None:
    """pyspark raises Spark's answer in place of the call that brought it."""

    def answered() -> None:
        try:
            raise _named("_InactiveRpcError", GRPC.format("INTERNAL", "timed out"))
        except Exception:
            raise _named("SparkRuntimeException", "[DIVIDE_BY_ZERO] timed out") from None

    with pytest.raises(Exception, match="DIVIDE_BY_ZERO") as shown:
        answered()
    assert outage(shown.value, PLACE) is None


def test_a_driver_of_our_own_that_is_gone_is_no_server() -> None:
    found = outage(ConnectionRefusedError(111, "Connection refused"), HERE)
    assert found is not None
    assert ENDED in found.reason


@pytest.mark.parametrize("error", [one for one, _ in TOLD], ids=lambda one: str(one)[:40])
def test_dbt_shows_it(error: Exception) -> None:
    manager = TapestryConnectionManager.__new__(TapestryConnectionManager)
    with pytest.raises(DbtDatabaseError) as shown, manager.exception_handler("select"):
        raise error
    assert "  do: " in shown.value.msg

    class Cursor:
        description = (("a", "string"),)

        def fetchall(self) -> Any:
            raise error

    with pytest.raises(DbtDatabaseError) as shown:
        TapestryConnectionManager.get_result_from_cursor(Cursor(), None)
    assert "  do: " in shown.value.msg


def test_doctor_shows_what_to_do() -> None:
    said = str(outage(ConnectionRefusedError(111, "Connection refused"), PLACE))
    for error in (FailedToConnectError(said), DbtRuntimeError(f"Database Error\n  {said}")):
        found = trouble("connection", error, "look into a log")
        assert found.told.endswith(f"are another's in: {PLACE}")
        assert found.fix.startswith("start it, or correct host and port")
    assert trouble("connection", DbtRuntimeError("odd"), "look into a log").fix == "look into a log"


def test_a_place_has_no_token() -> None:
    data = {"schema": "s", "method": "session", "master": "sc://h:1/;token=secret;use_ssl=true"}
    assert place_of(TapestryCredentials.from_dict(data)) == "sc://h:1"


def test_a_connection_that_cannot_be_closed_ends_no_run() -> None:
    def close() -> None:
        raise _named("TTransportException", "unexpected exception")

    connection: Any = SimpleNamespace(name="m", handle=SimpleNamespace(close=close))
    TapestryConnectionManager._close_handle(connection)


@pytest.fixture
def silent() -> Iterator[int]:
    """A server that lets everyone in and never says a word."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=8)) as listening:
        yield int(listening.getsockname()[1])


def _reached(method: str, port: int) -> Reached:
    if method == "thrift":
        pytest.importorskip("pyhive", reason="dbt-spark[PyHive] is not installed")
        return Reached(method="thrift", host="127.0.0.1", port=port, user="u", open_timeout=2)
    pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
    return Reached(method="session", master=f"sc://127.0.0.1:{port}", open_timeout=2)


@pytest.mark.parametrize("method", ["thrift", "connect"])
def test_opening_ends(method: str, silent: int) -> None:
    began = time.monotonic()
    with pytest.raises(FailedToConnectError) as late, _reached(method, silent).session() as one:
        one.rows("SELECT 1")
    assert LATE in late.value.msg
    assert f"127.0.0.1:{silent}" in late.value.msg
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("method", ["thrift", "connect"])
def test_nobody_there(method: str, silent: int) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = int(listening.getsockname()[1])
    with pytest.raises(FailedToConnectError) as refused, _reached(method, port).session() as one:
        one.rows("SELECT 1")
    assert NOBODY in refused.value.msg
    assert f"127.0.0.1:{port}" in refused.value.msg


def test_a_server_that_is_gone_without_a_word_is_noticed(
    silent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is asked while a statement runs; more often than 5 minutes a server bans."""
    grpc = pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
    options: dict[str, int] = {}
    channel = grpc.insecure_channel

    def insecure_channel(target: str, **more: Any) -> Any:
        options.update(more["options"])
        return channel(target, **more)

    monkeypatch.setattr(grpc, "insecure_channel", insecure_channel)
    with pytest.raises(FailedToConnectError), _reached("connect", silent).session() as one:
        one.rows("SELECT 1")
    assert 300_000 < options["grpc.keepalive_time_ms"] < 600_000
    assert options["grpc.http2.max_pings_without_data"] == 0


ENDS = """
import sys
sys.path.insert(0, {tests!r})
from reached import Reached
with Reached(method="session", master="sc://127.0.0.1:{port}", open_timeout=4).session() as one:
    one.rows("SELECT 1")
"""


def _hang_up(listening: socket.socket) -> None:
    while True:
        try:
            listening.accept()[0].close()
        except OSError:
            return


@pytest.mark.parametrize("answers", [False, True])
def test_a_process_ends_that_has_said_what_is_wrong(answers: bool) -> None:
    """Of a server that is silent, or that closes each connection: another kind of server does."""
    pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
    with closing(socket.create_server(("127.0.0.1", 0), backlog=8)) as listening:
        if answers:
            threading.Thread(target=_hang_up, args=(listening,), daemon=True).start()
        code = ENDS.format(tests=str(Path(__file__).parent), port=listening.getsockname()[1])
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, timeout=45)
    assert LATE in done.stderr or NO_SERVER in done.stderr, done.stderr[-2000:]


def test_what_comes_too_late_is_closed() -> None:
    closed, go = threading.Event(), threading.Event()

    def slow() -> str:
        go.wait(20)
        return "session"

    with pytest.raises(TimeoutError):
        within(0.05, slow, lambda _: closed.set())
    go.set()
    assert closed.wait(20)
    assert within(20, lambda: 3, lambda _: None) == 3
    with pytest.raises(KeyError):
        within(20, lambda: {}["a"], lambda _: None)


def _python_model(**config: Any) -> dict[str, Any]:
    return {"original_file_path": "models/p.py", "config": config}


def test_a_python_model_over_sql_only_is_refused_in_words() -> None:
    data = {"schema": "s", "method": "thrift", "host": "h", "port": 1}
    credentials = TapestryCredentials.from_dict(data)
    with pytest.raises(DbtRuntimeError) as refused:
        refuse_without_session(credentials, _python_model())
    assert "method: thrift takes SQL only" in refused.value.msg
    assert "models/p.py" in refused.value.msg
    refuse_without_session(credentials, _python_model(cluster_id="0123"))
    refuse_without_session(credentials, _python_model(job_cluster_config={"a": 1}))


def test_a_database_of_a_source_is_refused_in_words() -> None:
    with pytest.raises(DbtRuntimeError) as refused:
        TapestryRelation.create(database="prod", schema="shop", identifier="orders")
    assert "database: prod says nothing here" in refused.value.msg
    assert "prod.shop.orders" in refused.value.msg
    assert "  do: take database: out" in refused.value.msg
    for database in (None, "spark_catalog", "Spark_Catalog"):
        relation = TapestryRelation.create(database=database, schema="shop", identifier="orders")
        assert (str(relation), relation.database) == ("shop.orders", None)


@pytest.mark.parametrize("name", ["lake.shop.orders", "`a b`.shop.orders", "a.b.shop.orders"])
def test_another_catalog_is_refused_in_words(name: str) -> None:
    with pytest.raises(Refusal, match="another catalog, or a name of too many parts") as refused:
        relation_names(f"select id from db.t where exists (select 1 from {name} o where o.id = 1)")
    assert "shop" in refused.value.where
    assert relation_names("select id from Spark_Catalog.shop.orders") == (
        "spark_catalog.shop.orders",
    )
