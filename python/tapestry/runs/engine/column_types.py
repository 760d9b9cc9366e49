"""Columns and their types as Spark names them, in full, and as text that can stand in SQL again.

DESCRIBE names the first 25 of a struct's fields (``spark.sql.debug.maxToStringFields``), and none
in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tapestry.quoting import Sql, identifier, relation_name, rendered_name, type_text
from tapestry.runs.engine.session import Session
from tapestry.sql.facts.identifiers import needs_quotes

Columns = tuple[tuple[str, str], ...]
"""Names, as they are written, and types."""
_CUT = re.compile(r"\.\.\. \d+ more fields")


@dataclass(frozen=True)
class ColumnType:
    """A type; the parts of an array, a map or a struct are named as in ALTER COLUMN."""

    name: str
    parts: tuple[tuple[str, ColumnType], ...] = ()

    def __str__(self) -> str:
        """Return the type as SQL; names of fields in quotes where they need them."""
        if self.name == "struct":
            return f"struct<{','.join(f'{quoted(name)}:{kind}' for name, kind in self.parts)}>"
        return (
            f"{self.name}<{','.join(str(k) for _, k in self.parts)}>" if self.parts else self.name
        )


def read_kind(text: str) -> ColumnType:
    """Return a type from text in the form of Spark, or of this module.

    A comma, a colon or an angle bracket in the name of a field is taken for one of the type.

    >>> str(read_kind("map<string,struct<user-id:decimal(10,2),ts:array<timestamp>>>"))
    'map<string,struct<`user-id`:decimal(10,2),ts:array<timestamp>>>'
    """
    outer, bracket, inner = text.partition("<")
    if not bracket or not inner.endswith(">"):
        return ColumnType(text)
    listed = list(_split(inner[:-1]))
    if outer == "struct":
        fields = [field.partition(":") for field in listed]
        return ColumnType(outer, tuple((_bare(name), read_kind(kind)) for name, _, kind in fields))
    names = {"array": ("element",), "map": ("key", "value")}.get(outer, ())
    if len(names) != len(listed):
        return ColumnType(text)
    return ColumnType(outer, tuple((n, read_kind(t)) for n, t in zip(names, listed, strict=True)))


def sql_type(text: str) -> Sql:
    """Return a type that Spark named, as it stands in SQL.

    Raises Refusal where the name of a field makes something else of it.

    >>> sql_type("struct<`user-id`:int,v:decimal(10,2)>")
    'struct<`user-id`:int,v:decimal(10,2)>'
    """
    return _sql_of(read_kind(text))


def _sql_of(kind: ColumnType) -> Sql:
    if kind.name == "struct":
        fields = (f"{_sql_name(name)}:{_sql_of(part)}" for name, part in kind.parts)
        return Sql(f"struct<{','.join(fields)}>")
    if kind.parts:
        return Sql(f"{type_text(kind.name)}<{','.join(_sql_of(part) for _, part in kind.parts)}>")
    return type_text(kind.name)


def _sql_name(name: str) -> Sql:
    return identifier(name) if needs_quotes(name) else rendered_name(name)


def columns_of_table(session: Session, relation: str) -> Columns:
    """Return the columns of a table or view."""
    name = relation_name(relation)
    return in_full(session, name, columns_in(session.rows(f"DESCRIBE TABLE {name}")))


def columns_of_query(session: Session, sql: str) -> Columns:
    """Return the columns of a query; reads no data. Raises Spark's own error for a bad query."""
    return in_full(session, f"({sql}\n)", columns_in(session.rows(f"DESCRIBE QUERY {sql}")))


def columns_in(described: Sequence[tuple[object, ...]]) -> Columns:
    """Return the columns from DESCRIBE's rows; partitioning and comments come after them."""
    columns: list[tuple[str, str]] = []
    for name, kind, *_ in described:
        if not name or str(name).startswith("# "):
            break
        columns.append((str(name), str(kind)))
    return tuple(columns)


def in_full(session: Session, relation: str, columns: Columns) -> Columns:
    """Return the columns; types that DESCRIBE cut are asked for by a query that reads nothing.

    ``relation`` stands in FROM.
    """
    cut = [name for name, kind in columns if _CUT.search(kind)]
    whole: dict[str, str] = {}
    if cut:
        one = [f"typeof((SELECT {identifier(name)} FROM {relation} LIMIT 1))" for name in cut]
        ((*texts,),) = session.rows(f"SELECT {', '.join(one)}")
        whole = dict(zip(cut, map(str, texts), strict=True))
    return tuple((name, str(read_kind(whole.get(name, kind)))) for name, kind in columns)


def quoted(name: str) -> str:
    """Return a name, in backticks where it needs them."""
    return identifier(name) if needs_quotes(name) else name


def _bare(name: str) -> str:
    quotes = len(name) > 2 and name[0] == name[-1] == "`"
    return name[1:-1].replace("``", "`") if quotes else name


def _split(text: str) -> Iterator[str]:
    """Yield the parts between the commas outside all brackets."""
    depth, start = 0, 0
    for at, character in enumerate(text):
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character == "," and not depth:
            yield text[start:at]
            start = at + 1
    if text:
        yield text[start:]
