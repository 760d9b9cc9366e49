"""The configuration of sinks, formats of files, retries, templates: each by itself."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from tests.delivery.world import World

from tapestry.delivery import declare, retry, send_table, send_webhook
from tapestry.delivery.batch import Delivery
from tapestry.delivery.csv_text import as_csv
from tapestry.delivery.cursors import Batch
from tapestry.delivery.declare import parse_sinks
from tapestry.delivery.parquet import arrow_type, as_parquet
from tapestry.delivery.retry import Refused, Unavailable, retrying
from tapestry.delivery.rows import AnswersToSend
from tapestry.errors import ConfigurationError
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import ModelConfig

FILE = {"name": "a", "to": "file", "path": "out"}
HOOK = {"name": "a", "to": "webhook", "url": "https://example.org/x"}
MAIL = {"name": "a", "to": "mail", "host": "h", "sender": "s@x", "recipients": "r@x"}
WRONG: list[tuple[Any, str, str]] = [
    ("out", "'out' is not a sink", "file, mail, webhook, table"),
    ({"name": "a", "to": "fiel", "path": "x"}, "fiel is not a value", "did you mean file?"),
    ({**FILE, "fromat": "csv"}, "fromat is not a key", "did you mean format?"),
    ({**FILE, "format": "cvs"}, "cvs is not a value", "did you mean csv?"),
    ({"name": "a", "to": "file"}, "has no path", "it needs name, path"),
    ({**FILE, "name": "../a"}, "is not a name", "letters"),
    ({**FILE, "patience": "soon"}, "not a length of time", "30 seconds"),
    ({**HOOK, "attempts": "3"}, "attempts: '3' does not fit", "int"),
    ({**HOOK, "attempts": 0}, "attempts: 0 does not fit", "int"),
    ({**HOOK, "headers": {"a": 1}}, "does not fit", ""),
    ({**HOOK, "url_env": "X"}, "either url or url_env", ""),
    ({**HOOK, "url": "example.org"}, "not an address", "https://"),
    ({**HOOK, "url": "https://me:pw@example.org"}, "password may not stand", "url_env"),
    ({**HOOK, "secret": "x"}, "secret may not stand in", "secret_env"),
    ({**MAIL, "password": "x"}, "password may not stand in", "password_env"),
    ({**MAIL, "password_env": "X", "user_env": "Y", "tls": "none"}, "clear text", "starttls"),
    ({**MAIL, "password_env": "X"}, "belong together", ""),
    ({**MAIL, "subject": "[[ x"}, "template cannot be read", "[["),
    ({**MAIL, "digest": "yes"}, "digest: 'yes' does not fit", "bool"),
]


@pytest.mark.parametrize(("declared", "reason", "hint"), WRONG)
def test_what_is_no_sink(declared: Any, reason: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_sinks([declared], "models/x.sql")
    assert reason in raised.value.reason
    assert hint in raised.value.hint
    assert raised.value.where == "models/x.sql"
    assert "pw@" not in str(raised.value)
    assert len(str(raised.value).splitlines()) <= 5


def test_sinks() -> None:
    declared = [FILE, {**MAIL, "name": "b", "digest": False}, {**HOOK, "name": "c"}]
    file, mail, hook = parse_sinks(declared)
    assert (file.part_rows, mail.part_rows, hook.part_rows) == (None, 1, 100)
    assert file.patience == timedelta(seconds=60)
    with pytest.raises(ConfigurationError, match="two sinks are called a"):
        parse_sinks([FILE, HOOK])
    assert {kind.kind for kind in declare.KINDS.values()} == set(declare.REQUIRED)


def test_deliver_is_a_key_of_a_model() -> None:
    assert ModelConfig.parse({"deliver": FILE}).deliver == (FILE,)
    assert ModelConfig.parse({"meta": {"deliver": [FILE]}}).deliver == (FILE,)
    with pytest.raises(ConfigurationError, match="delivers is not a configuration key"):
        ModelConfig.parse({"delivers": [FILE]})


def test_waits_double_and_end_in_time() -> None:
    now, waits = [0.0], []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    def fail() -> None:
        raise Unavailable("no")

    with pytest.raises(Unavailable):
        retrying(fail, 6, 1e9, sleep, lambda: now[0])
    assert len(waits) == 5
    assert all(retry.FIRST * 2**i / 2 <= wait <= retry.FIRST * 2**i for i, wait in enumerate(waits))
    waits.clear()
    with pytest.raises(Unavailable):
        retrying(fail, 99, now[0] + 5, sleep, lambda: now[0])
    assert sum(waits) <= 5

    def refuse() -> None:
        raise Refused("never")

    waits.clear()
    with pytest.raises(Refused):
        retrying(refuse, 9, 1e9, sleep, lambda: now[0])
    assert waits == []


def test_formats_of_files(world: World) -> None:
    world.create(
        {"name": "c", "to": "file", "path": "out", "format": "csv"},
        {"name": "p", "to": "file", "path": "out"},
    ).deliver()
    world.run(20, (2, 12.5))
    world.deliver()
    (made,) = (world.root / "out").glob("model-c-*.csv")
    ((header, row)) = list(csv.reader(io.StringIO(made.read_text(), newline="")))
    assert header == ["id", "who", "_matched_at"]
    assert row[:2] == ["2", "w2"]
    assert len(list((world.root / "out").iterdir())) == 2  # and nothing half-written


def test_csv_keeps_numbers_as_they_are() -> None:
    rows = ['{"a": 12345678901234567890.10, "b": "x,\\"y\\"\\nz", "c": [1, null], "d": true}']
    (row,) = list(csv.DictReader(io.StringIO(as_csv(rows, list("abcd")), newline="")))
    assert row == {"a": "12345678901234567890.10", "b": 'x,"y"\nz', "c": '["1", null]', "d": "true"}


def test_parquet_has_the_types_of_the_table() -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    columns = (
        ("i", "int"),
        ("s", "string"),
        ("d", "decimal(20,2)"),
        ("at", "timestamp"),
        ("day", "date"),
        ("list", "array<struct<a:bigint,`b c`:array<string>>>"),
    )
    rows = [
        '{"i": 1, "s": "x", "d": 123456789012345678.25, "at": "2026-01-01T00:00:00.000001Z",'
        ' "day": "2026-01-02", "list": [{"a": 5, "b c": ["y", null]}]}',
        '{"i": null, "s": null, "d": null, "at": null, "day": null, "list": null}',
    ]
    table = parquet.read_table(io.BytesIO(as_parquet(rows, columns)))
    assert table.schema.field("at").type == pa.timestamp("us", tz="UTC")
    assert table.schema.field("d").type == pa.decimal128(20, 2)
    first, second = table.to_pylist()
    assert str(first["d"]) == "123456789012345678.25"
    assert (first["at"].isoformat(), str(first["day"])) == (
        "2026-01-01T00:00:00.000001+00:00",
        "2026-01-02",
    )
    assert first["list"] == [{"a": 5, "b c": ["y", None]}]
    assert set(second.values()) == {None}
    assert parquet.read_table(io.BytesIO(as_parquet([], columns))).num_rows == 0
    with pytest.raises(Refused, match="map<string,int>"):
        arrow_type("map<string,int>")


def test_the_signature_of_the_standard() -> None:
    """The example of the specification is in the docstring; others differ by key and content."""
    body = json.dumps({"a": 1}).encode()
    one = send_webhook.signature("plain", "id", 1, body)
    assert one != send_webhook.signature("plain", "id", 2, body)
    assert one != send_webhook.signature("other", "id", 1, body)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        (None, None),
        ("", None),
        ("7", 7.0),
        ("-7", 0.0),
        ("nan", None),
        ("inf", float("inf")),
        ("9" * 5000, float("inf")),
        ("soon", None),
        (",", None),
        ("Mon, 01 Jan 1990 00:00:00 GMT", 0.0),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 0001 00:00:00 +9999", None),
        ("Mon, 99 Jan 2026 99:99:99 GMT", None),
    ],
)
def test_how_long_a_server_asks_to_wait(said: str | None, seconds: float | None) -> None:
    assert send_webhook._seconds(said) == seconds


def test_a_folder_that_is_none(world: World, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    world.create(FILE).deliver()
    world.run(20, (2, 12))
    assert "was not written" in world.one().error
    (tmp_path / "out").unlink()
    assert world.one().rows == 1


class Described(Session):
    """A session with one table, which takes whatever is inserted."""

    def __init__(self, **columns: str) -> None:
        self.columns, self.inserted = columns, list[str]()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        assert sql == "DESCRIBE TABLE `s`.`copy`"
        return [(name, kind, None) for name, kind in self.columns.items()]

    def run(self, sql: str) -> None:
        self.inserted.append(sql)


@pytest.mark.parametrize(
    ("kind", "taken"), [("double", True), ("decimal(9,2)", True), ("int", False)]
)
def test_a_table_of_a_narrower_type_is_not_rounded_into(kind: str, taken: bool) -> None:
    after, until = (
        datetime(2026, 1, 1, tzinfo=timezone.utc),
        datetime(2026, 1, 2, tzinfo=timezone.utc),
    )
    now = "double" if kind == "double" else "decimal(5,2)"
    answers = AnswersToSend("s.model", (("Price", now),), after, until)
    batch = Batch("s.model", "copied", 1, "g", after, until, "life")
    delivery = Delivery(batch, answers, [], Path(), "model")
    (sink,) = parse_sinks([{"name": "copied", "to": "table", "table": "copy"}], "model")
    session = Described(price=kind)
    if taken:
        send_table.send_table(session, sink, delivery)  # type: ignore[arg-type]
        assert len(session.inserted) == 1
        return
    with pytest.raises(Refused, match=r"its Price is int, the model's is decimal\(5,2\)"):
        send_table.send_table(session, sink, delivery)  # type: ignore[arg-type]
    assert not session.inserted
