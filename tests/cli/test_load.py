"""`tapestry load` on an embedded Spark: new messages once, in one commit, whatever happens."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dbt.adapters.tapestry.embedded import start
from tapestry.cli.main import commands
from tapestry.demo import generator
from tapestry.errors import ConfigurationError, MailboxUnreadable
from tapestry.mail.append import append_new, create_table
from tapestry.mail.stage import stage_mailbox

pytestmark = [pytest.mark.spark, pytest.mark.gate]


def _mail(number: int) -> bytes:
    return (
        b"From joe@parc.example Thu Jan  3 05:06:07 1991\n"
        b"Message-ID: <%d@parc.example>\nFrom: joe@parc.example\nSubject: s\n\nhello\n\n" % number
    )


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return start(root=tmp_path_factory.mktemp("spark"))


@pytest.fixture
def project(tmp_path: Path, spark: Any) -> Iterator[Path]:
    """An empty dbt project whose target schema nobody else uses."""
    schema = f"load_{uuid.uuid4().hex[:8]}"
    (tmp_path / "dbt_project.yml").write_text("name: mine\nprofile: mine\n")
    (tmp_path / "schema").write_text(schema)
    (tmp_path / "profiles.yml").write_text(
        json.dumps(
            {"mine": {"target": "local", "outputs": {
                "local": {"type": "tapestry", "method": "session", "schema": schema},
                "other": {"type": "spark", "method": "session", "schema": schema, "host": "x"},
            }}}
        )
    )  # fmt: skip
    yield tmp_path
    spark.sql(f"drop schema if exists {schema} cascade")


def _load(project: Path, *arguments: str) -> Result:
    return CliRunner().invoke(
        commands,
        ["load", "--project-dir", str(project), "--profiles-dir", str(project), *arguments],
    )


def _table(project: Path) -> str:
    return f"{(project / 'schema').read_text()}.messages"


def test_only_new_messages_are_added_in_one_commit_each(project: Path, spark: Any) -> None:
    box = project / "box"
    box.write_bytes(_mail(1) + _mail(2))
    first = _load(project, str(box), "--json")
    assert first.exit_code == 0, first.output
    result = json.loads(first.stdout.splitlines()[-1])
    assert (result["new"], result["read"], result["clocks"]["From_"]) == (2, 2, 2)
    assert "0 new" in _load(project, str(box)).output
    with box.open("ab") as file:
        file.write(_mail(3) + _mail(1))
    grown = _load(project, str(box)).output
    assert "4 messages, 1 new" in grown
    assert "1 repeated in the file" in grown
    rows = spark.sql(f"select msgid, cast(ts as string) from {_table(project)}").collect()
    assert sorted(rows) == [(f"{n}@parc.example", "1991-01-03 05:06:07") for n in (1, 2, 3)]
    history = spark.sql(f"describe history {_table(project)}").collect()
    assert [row.operation for row in history] == ["MERGE", "MERGE", "CREATE TABLE"]


WRONG = b"""From - Thu Jan  3 05:06:07 1991
Message-ID: <\x1b1@parc.example>
no header
From: =?utf-8?Q?B=C3=BCro=2C_Nord?= <nord@parc.example>
Date: 06-MAY-2022 14:55:49

hello

"""


def test_what_is_wrong_with_a_message_is_said(project: Path, spark: Any) -> None:
    """Found by users: the name for the author, no header after a wrong line, dates lost."""
    box = project / "box"
    dateless = b"From - Thu Jan  3 05:06:07 1991\nMessage-ID: <%d@x>\nDate: ?\n\nx\n\n"
    box.write_bytes(WRONG + b"".join(dateless % number for number in range(12)))
    told = _load(project, str(box)).output
    for line in (
        "  1 with a wrong line in their headers: the other lines are read",
        "  12 with a time that cannot be read: date is NULL, or ts is of another clock",
        "  1 with a time that is read under an assumption",
        "    \\x1b1@parc.example (archive_seq 0): line 2 is no header: it has no colon",
        "    \\x1b1@parc.example (archive_seq 0): its Date has no zone, and counts as UTC",
        "    9@x (archive_seq 10): its Date is no date that can be read",
        "    and 2 more",
    ):
        assert line in told.splitlines()
    assert "doubtful author" not in told
    row = f"select author, cast(date as string) from {_table(project)} where author is not null"
    assert spark.sql(row).collect() == [("nord@parc.example", "2022-05-06 14:55:49")]
    doubts = json.loads(_load(project, str(box), "--json").stdout.splitlines()[-1])["doubts"]
    assert doubts["counts"] == {"lines": 1, "dates": 12, "assumed": 1, "authors": 0, "ids": 0}
    assert len(doubts["named"]) == 12


def test_two_loads_at_once_add_each_message_once(project: Path, spark: Any) -> None:
    box, staged = project / "box", project / "staged.parquet"
    box.write_bytes(b"".join(_mail(number) for number in range(50)))
    stage_mailbox(box, staged)

    class Session:
        def __init__(self) -> None:
            self.spark = spark.newSession()

        def run(self, sql: str) -> None:
            self.spark.sql(sql)

        def rows(self, sql: str) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in self.spark.sql(sql).collect()]

    create_table(Session(), _table(project))

    with ThreadPoolExecutor(3) as pool:
        new = list(pool.map(lambda _: append_new(Session(), _table(project), staged), range(3)))
    assert sum(new) == 50
    assert spark.sql(f"select count(*) from {_table(project)}").collect()[0][0] == 50


def test_a_parquet_file_with_fewer_columns(project: Path, spark: Any) -> None:
    import pyarrow.parquet as pq

    file = project / "messages.parquet"
    table = generator.messages(200, seed=1).drop_columns(["archive_seq", "date"])
    pq.write_table(table, file)
    assert f"{len(table)} new rows" in _load(project, str(file)).output
    assert "0 new rows" in _load(project, str(file)).output
    seen = spark.sql(f"select count(*), count(ts), count(date) from {_table(project)}").collect()
    assert seen == [(len(table), len(table) - table["ts"].null_count, 0)]


def test_a_table_that_a_model_is_about_to_build(project: Path, spark: Any) -> None:
    """As in a new project, whose example has a model of the name."""
    (project / "lists.mbox").write_bytes(_mail(1))
    (project / "models").mkdir()
    model = project / "models" / "messages.sql"
    model.write_text("select 1 as id")
    refused = _load(project, str(project / "lists.mbox"))
    assert isinstance(refused.exception, ConfigurationError)
    assert "itself, from models/messages.sql" in str(refused.exception)
    assert "make messages a source" in str(refused.exception)
    assert _load(project, str(project / "lists.mbox"), "--into", "mail").exit_code == 0
    model.rename(project / "models" / "read.sql")
    assert _load(project, str(project / "lists.mbox")).exit_code == 0
    model.write_text("select 1 as id")
    assert _load(project, str(project / "lists.mbox")).exit_code == 0  # it is there already


def test_a_table_of_another_kind_is_left_alone(project: Path, spark: Any) -> None:
    """Found by hand: a model of one's own was called messages; one saw an error of Spark."""
    schema = (project / "schema").read_text()
    spark.sql(f"create schema if not exists {schema}")
    spark.sql(f"create table {schema}.mine (id int, ts timestamp) using delta")
    box = project / "box"
    box.write_bytes(_mail(1))
    refused = _load(project, str(box), "--into", "mine")
    assert isinstance(refused.exception, ConfigurationError)
    assert "mine is there, but not a table of this kind: it has no msgid" in str(refused.exception)
    assert spark.sql(f"select * from {schema}.mine").collect() == []


def test_a_parquet_file_of_any_name(project: Path, spark: Any) -> None:
    """Spark would read the name as a variable, a pattern, or the end of a name in backticks."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = ["`.`${env:HOME}`.parquet", "-\n\"'*?[a]{b,c}\\ \u00fc.parquet"]
    for name in names:
        pq.write_table(pa.table({"msgid": [name], "newsgroup": ["x"]}), project / name)
    loaded = _load(project, *(str(project / name) for name in names))
    assert loaded.exit_code == 0, loaded.output
    assert loaded.output.count("1 new row") == 2
    assert f"{project}/-\\n\"'*?[a]{{b,c}}\\ \u00fc.parquet: 1 new row" in loaded.output
    found = spark.sql(f"select msgid from {_table(project)}").collect()
    assert sorted(found) == sorted((name,) for name in names)


def test_a_file_that_cannot_be_loaded_does_not_end_the_others(project: Path, spark: Any) -> None:
    os.mkfifo(project / "pipe.mbox")
    box = project / "Maildir"
    for name in ("cur", "new", "tmp"):
        (box / name).mkdir(parents=True)
    (box / "cur" / "1:2,").write_bytes(_mail(1).split(b"\n", 1)[1])
    (box / "cur" / "link").symlink_to("/dev/zero")
    os.mkfifo(box / "new" / "pipe")
    told = _load(project, str(project / "pipe.mbox"), str(box))
    assert isinstance(told.exception, MailboxUnreadable)
    assert "1 of 2 files not loaded" in str(told.exception)
    assert "a pipe, a socket or a device\n  in: " in told.output
    assert "1 message, 1 new in" in told.output
    assert "  1 skipped, being links: none is followed" in told.output
    assert "  1 skipped, being pipes, sockets, devices or folders" in told.output
    alone = _load(project, str(box), "--max-messages", "1", "--json")
    assert "more than 1 files" in str(alone.exception)
    assert str(box) in str(alone.exception)
    again = json.loads(_load(project, str(box), "--json").stdout.splitlines()[-1])
    assert (again["new"], again["skipped"]["links"], again["skipped"]["special"]) == (0, 1, 1)


@pytest.mark.parametrize(
    "name",
    ["`m`", "${env:HOME}", "a b", "m;drop", "a.b.c.d", "", ".", "m.", "m\n", "\udcff", "m" * 256],
)
def test_what_is_no_name_of_a_table(name: str, tmp_path: Path) -> None:
    (tmp_path / "box").write_bytes(_mail(1))
    refused = _load(tmp_path, str(tmp_path / "box"), "--into", name)
    assert isinstance(refused.exception, ConfigurationError)
    assert "is no name of a table" in str(refused.exception)
    assert str(refused.exception).isascii()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["/no/such/file"], "does not exist"),
        ([], "Missing argument"),
        ([__file__, "--max-total", "much"], "'much' is no size: write it like 256MiB"),
        ([__file__, "--max-message", "0"], "'0' is no size"),
        ([__file__, "--max-messages", "0"], "0 is not in the range x>=1"),
    ],
)
def test_wrong_usage(project: Path, arguments: list[str], message: str) -> None:
    result = _load(project, *arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_help_has_an_example() -> None:
    result = CliRunner().invoke(commands, ["load", "--help"])
    assert result.exit_code == 0
    assert "tapestry load ~/mail/lists.mbox" in result.output
