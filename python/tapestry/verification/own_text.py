"""The author's own text at an instant, with relations and clocks replaced in place.

All else that is asked of the definition is written anew from the tree that was read of the text. If
the text was read wrongly, that is wrong, too. Here no word of the author's is written again: names
of relations become those of CTEs with the rows visible at s, readings of the clock become s; what
stands between goes to the engine as it is. So the engine says itself what the text means.

The tree serves to find the names only, and only where its own words place them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from tapestry.names import ARRIVAL, ENDED
from tapestry.sql.catalog import Source, View
from tapestry.sql.read.functions import user_defined
from tapestry.sql.read.generators import kind_of
from tapestry.sql.read.parse import is_cte, relation_names, table_name
from tapestry.sql.read.read_tokens import SPARK
from tapestry.sql.timing import NOW_NAMES
from tapestry.sql.write import build
from tapestry.verification.definition import Definition

_UNIX = "unix_timestamp"
_KINDS = {"current_date": "DATE", "curdate": "DATE", "localtimestamp": "TIMESTAMP_NTZ"}
"""Readings of the clock that are no TIMESTAMP."""
_BARE = frozenset({"current_timestamp", "current_date", "localtimestamp"})
"""Read the clock without parentheses, too."""
_CALL = [TokenType.L_PAREN, TokenType.R_PAREN]
_NAMED = (TokenType.DOT, TokenType.ALIAS)
"""Behind these stands a name: shop.now() is somebody's own function."""


class NotReplaced(Exception):
    """A text whose words alone do not tell its relations and clocks."""


@dataclass(frozen=True)
class _Edit:
    """A position in a text of a relation, a clock, or (without a name) a part to remove."""

    start: int
    end: int
    name: str
    alias: str = ""
    """Behind the name of a relation that the author gave no other."""
    relation: bool = False


class OwnText:
    """The text of a definition's query at an instant, over CTEs with names of a prefix."""

    def __init__(self, definition: Definition, s: datetime, prefix: str) -> None:
        self.definition, self.prefix, self.at = definition, prefix, definition.instant(s)
        self.ctes: dict[str, tuple[str, str]] = {}
        """Relation -> its CTE, each after those that it reads."""
        sources = map(definition.catalog.relations.get, definition.reads)
        columns = (column for one in sources if isinstance(one, Source) for column in one.columns)
        self.columns = {word for one in columns for word in _words(f"{one.name} {one.type}")}

    def text(self, sql: str, namespace: str = "") -> str:
        """A text over the CTEs, which are added; raises NotReplaced."""
        if self.prefix in sql.lower():
            raise NotReplaced("it uses a name that the check gives, too")
        parts, last = [], 0
        for edit in sorted(_edits(sql, namespace), key=lambda edit: edit.start):
            if edit.relation:
                new = self._relation(edit.name)
            else:
                new = self._clock(edit.name) if edit.name else ""
            parts += [sql[last : edit.start], new, edit.alias]
            last = edit.end + 1
        return "".join([*parts, sql[last:]])

    def _clock(self, name: str) -> str:
        if name in _BARE & self.columns:
            raise NotReplaced(f"{name} is the name of a column, too")
        if name == _UNIX:
            return f"{_UNIX}({self.at})"
        return f"CAST({self.at} AS {_KINDS[name]})" if name in _KINDS else self.at

    def _relation(self, name: str) -> str:
        """The name of its CTE."""
        if name not in self.ctes:
            relation = self.definition.catalog.relations.get(name)
            if isinstance(relation, View):
                body = self._opened(relation)
            elif isinstance(relation, Source) and name in self.definition.reads:
                body = self._visible(name, relation)
            else:
                raise NotReplaced(f"{name} is read in another way")
            self.ctes[name] = (f"{self.prefix}{len(self.ctes)}", body)
        return self.ctes[name][0]

    def _opened(self, view: View) -> str:
        return self.text(view.sql, view.namespace)

    def _visible(self, name: str, source: Source) -> str:
        listed = ", ".join(build.column(column.name).sql("spark") for column in source.columns)
        seen = [f"{ARRIVAL} <= {self.at}"] if name in self.definition.appended else []
        seen += [f"{self.at} < {ENDED}"] if name in self.definition.ending else []
        where = " WHERE " * bool(seen) + " AND ".join(seen)
        return f"SELECT {listed} FROM {self.definition.reads[name]}{where}"


def _edits(sql: str, namespace: str) -> Iterator[_Edit]:
    """List what is replaced; names in a view's text without a schema are its namespace's."""
    try:
        tokens = SPARK.tokenize(sql)
        trees = [tree for tree in SPARK.parser().parse(tokens, sql) if tree is not None]
    except (SqlglotError, KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise NotReplaced("the text is read after changes only") from error
    tree, *more = trees
    if not isinstance(tree, exp.Query) or not all(isinstance(one, exp.Semicolon) for one in more):
        raise NotReplaced("it is not one query")
    if tree.find(exp.Qualify) is not None:
        raise NotReplaced("it has QUALIFY, which Spark has not")
    if namespace and any(user_defined(call) for call in tree.find_all(exp.Anonymous)):
        raise NotReplaced("a view calls a function of its own schema")
    for hint in tree.find_all(exp.Hint):  # its words have their places in the hint
        hint.pop()
    tables = [one for one in tree.find_all(exp.Table) if not is_cte(one) and not kind_of(one.this)]
    if {table_name(one) for one in tables} != set(relation_names(sql)):
        raise NotReplaced("its relations are found after changes only")
    _refuse_schemas(tree, tables)
    yield from (_table(one, namespace) for one in tables)
    yield from _clocks(sql, tokens)
    ends = [token.start for token in tokens if token.token_type == TokenType.SEMICOLON]
    if ends:  # only comments stand behind it
        yield _Edit(ends[0], len(sql), "")


def _refuse_schemas(tree: exp.Expr, tables: Sequence[exp.Table]) -> None:
    """Raise NotReplaced for a column that is named with its relation's schema."""
    named = {f".{table.db}.{table.name}.".lower() for table in tables if table.db}
    for column in tree.find_all(exp.Column) if named else ():
        dotted = f".{'.'.join(part.name for part in column.parts)}.".lower()
        if any(name in dotted for name in named):
            raise NotReplaced("a column is named with its schema")


def _table(table: exp.Table, namespace: str) -> _Edit:
    ends = [part.meta_get(end) for part in table.parts for end in ("start", "end")]
    if not all(isinstance(end, int) for end in ends):
        raise NotReplaced("a relation without a place in the text")
    name = table_name(table)
    if namespace and not table.db:
        name = f"{namespace.lower()}.{name}"
    alias = exp.to_identifier(table.name, quoted=True).sql("spark")
    alias = "" if table.alias else f" AS {alias}"
    return _Edit(min(ends), max(ends), name, alias, relation=True)


def _clocks(sql: str, tokens: Sequence[Token]) -> Iterator[_Edit]:
    """The readings of the clock: words that no quotes stand around."""
    kinds = [token.token_type for token in tokens]
    words = [sql[token.start : token.end + 1].lower() for token in tokens]
    in_quotes = {
        word
        for token, itself in zip(tokens, words, strict=True)
        if token.text.lower() != itself
        for word in _words(token.text)
    }
    for place, token in enumerate(tokens):
        name, called = token.text.lower(), kinds[place + 1 : place + 3] == _CALL
        if name not in NOW_NAMES | {_UNIX} or not (called or words[place] in _BARE):
            continue  # a column, a text, or unix_timestamp(x)
        before, behind = kinds[place - 1] if place else None, kinds[place + 1 : place + 2]
        quoted = words[place] != name or (not called and name in in_quotes)
        if quoted or before in _NAMED or behind == [TokenType.DOT]:
            raise NotReplaced(f"{name} is a name, too")
        yield _Edit(token.start, tokens[place + 2].end if called else token.end, name)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
