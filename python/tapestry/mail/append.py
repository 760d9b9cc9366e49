"""Appends staged rows to the Delta table of messages: in one commit, and only new ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import pyarrow.parquet as pq

from tapestry.errors import ConfigurationError
from tapestry.quoting import identifier, relation_name


class SqlSession(Protocol):
    """The interface of a session that runs Spark SQL."""

    def run(self, sql: str) -> None:
        """Execute a statement."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""


_ATTEMPTS = 5

TYPES = {
    "msgid": "STRING",
    "inreplyto": "STRING",
    "author": "STRING",
    "subject": "STRING",
    "date": "TIMESTAMP",
    "ts": "TIMESTAMP",
    "newsgroup": "STRING",
    "n_refs": "INT",
    "body_bytes": "INT",
    "archive_seq": "BIGINT",
}


def create_table(session: SqlSession, table: str, types: Mapping[str, str] = TYPES) -> None:
    """Make an append-only table, of messages unless said, if it is not there.

    Raises ConfigurationError for a table that is there and lacks one of the columns.
    """
    schema = table.rpartition(".")[0]
    if schema:
        session.run(f"CREATE SCHEMA IF NOT EXISTS {relation_name(schema)}")
    quoted = relation_name(table)
    columns = ", ".join(f"{name} {kind}" for name, kind in types.items())
    session.run(
        f"CREATE TABLE IF NOT EXISTS {quoted} ({columns}) USING delta "
        "TBLPROPERTIES ('delta.appendOnly' = 'true', 'delta.enableRowTracking' = 'true')"
    )
    there = {str(row[0]).lower() for row in session.rows(f"DESCRIBE TABLE {quoted}")}
    lacking = [name for name in types if name not in there]
    if lacking:
        raise ConfigurationError(
            f"{table} is there, but not a table of this kind: it has no {', '.join(lacking)}",
            hint="give the rows a table of their own: --into <another name>",
        )


def append_new(session: SqlSession, table: str, staged: Path) -> int:
    """Append the staged rows whose (message id, list) the table does not hold; their number.

    A MERGE that only inserts is one commit, and of two at the same time Delta lets only one land,
    as both read the table; the other looks again. So a load that is killed, or run again, or run
    twice at once, leaves each message once.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return _merge(session, table, staged)
        except Exception as error:
            if "DELTA_CONCURRENT" not in str(error):
                raise
    return _merge(session, table, staged)


def _merge(session: SqlSession, table: str, staged: Path) -> int:
    columns, quoted = ", ".join(TYPES), relation_name(table)
    source = f"SELECT {_typed(staged)} FROM {file_as_relation(staged)}"
    new = session.rows(
        f"SELECT count(*) FROM ({source}) s "
        f"LEFT ANTI JOIN {quoted} t ON t.msgid = s.msgid AND t.newsgroup = s.newsgroup"
    )[0][0]
    if not new:
        return 0
    merged = session.rows(
        f"MERGE INTO {quoted} t USING (SELECT {columns} FROM ({source}) ORDER BY ts) s "
        "ON t.msgid = s.msgid AND t.newsgroup = s.newsgroup "
        f"WHEN NOT MATCHED THEN INSERT ({columns}) "
        f"VALUES ({', '.join('s.' + name for name in TYPES)})"
    )
    return int(merged[0][-1])


def append_all(session: SqlSession, table: str, staged: Path, types: Mapping[str, str]) -> None:
    """Append all rows of a parquet file as they are, duplicates too, in one commit."""
    columns = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in types.items())
    session.run(
        f"INSERT INTO {relation_name(table)} SELECT {columns} FROM {file_as_relation(staged)}"
    )


_UNSAFE = re.compile(r"[`$*?{}\[\]\\]")


def file_as_relation(path: Path) -> str:
    """A parquet file as a relation.

    Only a path of our own stands here, never a name that somebody gave. Spark would still read
    ``${…}`` as a variable and ``*?[]{}`` as a pattern, quoted or not.
    """
    text = str(path)
    if _UNSAFE.search(text) or not text.isprintable():
        raise ConfigurationError(
            "the path of this folder has characters that Spark reads as a pattern or a variable",
            str(path.parent),
            "set TMPDIR to a folder whose path has only letters, digits and any of /._-",
        )
    return f"parquet.{identifier(text)}"


def _typed(staged: Path) -> str:
    """The columns of the table as the file has them; what the file does not have is NULL."""
    there = {name.lower() for name in pq.read_schema(staged).names}
    return ", ".join(
        f"CAST({name if name in there else 'NULL'} AS {kind}) AS {name}"
        for name, kind in TYPES.items()
    )
