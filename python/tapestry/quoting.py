"""Names and values as text of Spark SQL: the one way from a value into a statement.

A statement is put together from three things only: texts that stand in this package, texts of
the author (a model's query), and what a function here makes of a value. ``Sql`` marks such a text,
and tests/test_splices.py finds what gets into a statement past it.

Whatever the value, the text made of it is one token, or one expression in parentheses, in every
session. No session's settings are asked or changed, so two of them need care:

- ``spark.sql.parser.escapedStringLiterals`` decides whether a backslash in a literal means
  something: ``string`` writes none.
- ``spark.sql.variable.substitute`` puts environment variables, properties of the JVM and settings
  where a statement has ``${…}``, before it is parsed, in literals and names too: ``string`` never
  writes a brace behind a dollar. A name cannot be written in another way, hence such a name is
  refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import NewType

from tapestry.errors import Refusal

Sql = NewType("Sql", str)
"""A text that is SQL already: from a function of this module, or made of such texts only."""

_ODD = re.compile(r"[\\'\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff]+")
"""Characters that no literal contains here: they end it, or some session reads them otherwise."""
_SPLIT = re.compile(rf"({_ODD.pattern})|(?<=\$)(?=\{{)")
MOST_PIECES = 16
SPARK = ("spark", "databricks")
_REFERENCE = re.compile(r"\$\{\S+?\}")
"""A variable, as Spark's ``ConfigReader`` finds it."""
_MEANT = {"\\U0000005C": "\\", "\\U00000000": "\x00", "\\U00000024": "$"}
_ESCAPED = re.compile(r"\\U000000(?:5C|00|24)|\\'|''")
_PARTS = re.compile(r"(?:`(?:[^`]|``)*`|[^`.]+)(?:\.(?:`(?:[^`]|``)*`|[^`.]+))*")
_PART = re.compile(r"`((?:[^`]|``)*)`|([^`.]+)")
_PLAIN_PARTS = re.compile(r"(?:`(?:[^`]|``)*`|\w+)(?:\.(?:`(?:[^`]|``)*`|\w+))*", re.ASCII)
_TYPE = re.compile(r"[A-Za-z_][\w ]*(?:\([\w ,:]*\))?", re.ASCII)


def authored(text: str) -> Sql:
    """Mark SQL that an author of the project wrote: a query, a condition, a clause.

    It stays as it is. Nothing from a table, a file of data, a server or a message is authored.
    """
    return Sql(text)


def identifier(name: str) -> Sql:
    """One part of a name, in backticks.

    Raises Refusal for a name in which Spark replaces a variable, in backticks too.

    >>> identifier("a`b.c")
    '`a``b.c`'
    """
    if _REFERENCE.search(name):
        raise Refusal(
            "a name holds ${…}: Spark puts the value of a variable there, in backticks too",
            where=name,
            hint="rename it, or read a copy of the table with another name (a view is opened, and"
            " what it names is read)",
            code="variable-in-name",
        )
    return Sql("`" + name.replace("`", "``") + "`")


def identifiers(names: Iterable[str]) -> Sql:
    """A comma-separated list of names."""
    return Sql(", ".join(identifier(name) for name in names))


def relation_name(name: str) -> Sql:
    """A dotted name with every part in backticks; a part that has them keeps its dots.

    >>> relation_name("db.`a.b`"), relation_name("db.a`b")
    ('`db`.`a.b`', '`db`.`ab`')
    """
    if not _PARTS.fullmatch(name):
        name = name.replace("`", "")
    parts = [bare or quoted.replace("``", "`") for quoted, bare in _PART.findall(name)]
    return Sql(".".join(identifier(part) for part in parts))


def rendered_name(part: str) -> Sql:
    """A schema or an alias as dbt was given it: as it stands where it is a name, else in backticks.

    A schema of several parts (``catalog.schema``), and one that has its backticks, stay.

    >>> rendered_name("lake.raw"), rendered_name("my-table"), rendered_name("`a.b`")
    ('lake.raw', '`my-table`', '`a.b`')
    """
    if _PLAIN_PARTS.fullmatch(part) and not _REFERENCE.search(part):
        return Sql(part)
    return identifier(part)


def path(folder: str, file_format: str) -> Sql:
    """A folder or file that stands in FROM.

    >>> path("/data/it`s", "delta")
    'delta.`/data/it``s`'
    """
    if file_format not in ("delta", "parquet", "text", "json"):
        raise ValueError(f"no format of files: {file_format}")
    return Sql(f"{file_format}.{identifier(folder)}")


def string(text: str, dialect: str = "spark") -> Sql:
    r"""A text as an expression: the same text in every session.

    A literal where that suffices; else literals with the odd characters, as their bytes, between
    them; of many, the whole text as bytes (Spark's parser recurs into each ``||``). Spark makes one
    literal of it before it plans, so nothing is computed for each row.

    >>> string("plain"), string("it's"), string("${env:HOME}")
    ("'plain'", "('it' || CAST(X'27' AS STRING) || 's')", "('$' || '{env:HOME}')")

    The other engines (``duckdb``, ``postgres``) read literals as the standard says.
    """
    if dialect not in SPARK:
        return standard_string(text)
    pieces = [
        f"CAST(X'{piece.encode().hex().upper()}' AS STRING)" if _ODD.match(piece) else f"'{piece}'"
        for piece in _SPLIT.split(_encodable(text))
        if piece
    ]
    if len(pieces) > MOST_PIECES:
        return Sql(f"CAST(X'{_encodable(text).encode().hex().upper()}' AS STRING)")
    if len(pieces) > 1:
        return Sql(f"({' || '.join(pieces)})")
    return Sql(pieces[0] if pieces else "''")


def standard_string(text: str) -> Sql:
    """A literal of standard SQL, as DuckDB and PostgreSQL read it; neither takes a NUL.

    >>> standard_string("it's")
    "'it''s'"
    """
    return Sql("'" + _encodable(text).replace("\x00", "\ufffd").replace("'", "''") + "'")


def standard_identifier(name: str) -> Sql:
    """A name as DuckDB and PostgreSQL read it.

    >>> standard_identifier('a"b')
    '"a""b"'
    """
    return Sql('"' + name.replace('"', '""') + '"')


def strings(texts: Iterable[str]) -> Sql:
    """A comma-separated list of texts."""
    return Sql(", ".join(string(text) for text in texts))


def token(text: str) -> Sql:
    r"""A text as one literal, where the grammar takes no expression: a comment, a property, a path.

    Backslashes are the only way to write some texts so. In a session with ``escapedStringLiterals``
    they stand in the comment; they end no literal there either, and no variable is replaced.

    >>> print(token("it's ${env:HOME}"))
    'it\'s $\{env:HOME}'
    """
    return Sql(f"'{inside(text)}'")


def properties(named: Mapping[str, object]) -> Sql:
    """The names and values of TBLPROPERTIES or OPTIONS; true and false as YAML writes them.

    >>> properties({"delta.appendOnly": True})
    "'delta.appendOnly' = 'true'"
    """
    texts = {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in named.items()
    }
    return Sql(", ".join(f"{token(key)} = {token(text)}" for key, text in texts.items()))


def inside(text: str) -> Sql:
    """Return the text between the quotes of ``token``."""
    escaped = _encodable(text).replace("\\", "\\\\").replace("'", "\\'")
    return Sql(escaped.replace("\x00", "\\u0000").replace("${", "$\\{"))


def escaped(text: str) -> Sql:
    r"""Return a text as dbt's ``escape_single_quotes`` gives it; ``unescaped`` reads it back.

    Between quotes it is the text, too. A backslash is written in a way that nobody writes by hand,
    so that ``unescaped`` leaves the backslashes of a text alone that was never escaped.

    >>> print(escaped(r"it's \d"))
    it\'s \U0000005Cd
    """
    replaced = _encodable(text).replace("\\", "\\U0000005C").replace("'", "\\'")
    return Sql(replaced.replace("\x00", "\\U00000000").replace("${", "\\U00000024{"))


def unescaped(text: str) -> str:
    r"""The text that stands between quotes which its author has escaped, and nothing else.

    >>> print(unescaped(escaped(r"it's \d")), unescaped("it''s"), unescaped(r"\d+"))
    it's \d it's \d+
    """
    return _ESCAPED.sub(lambda found: _MEANT.get(found[0], "'"), text)


def _encodable(text: str) -> str:
    """A text that can be sent: half a character (a lone surrogate) becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def remark(text: str) -> Sql:
    """Return a text that may stand after ``--``: one line, without variables.

    >>> remark("a\\nb ${env:HOME}")
    'a b $ {env:HOME}'
    """
    return Sql(" ".join(text.split()).replace("${", "$ {"))


def timestamp(instant: datetime) -> Sql:
    """A TIMESTAMP literal that names its zone, so that the session's zone does not matter."""
    text = instant.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")
    return Sql(f"TIMESTAMP '{text.rjust(26, '0')}+00:00'")


def type_text(text: str) -> Sql:
    """A simple type as it stands: words, and perhaps numbers in parentheses.

    Raises Refusal for anything else: a field's name can make any text of a type (Spark tells
    nested types without quotes).

    >>> type_text("decimal(38, 2)"), type_text("interval day to second")
    ('decimal(38, 2)', 'interval day to second')
    """
    if not _TYPE.fullmatch(text):
        raise Refusal(
            "a type could not be read: the name of a field in it has characters of a type's own",
            where=text,
            hint="rename the field in the table, or read a copy of it upstream without the column",
            code="odd-type",
        )
    return Sql(text)
