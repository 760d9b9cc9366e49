"""The query of a unit test: dbt's CTEs of given rows, and the model's own text after them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlglot import Token, TokenType
from sqlglot.errors import SqlglotError

from tapestry.errors import TapestryError
from tapestry.quoting import Sql, authored
from tapestry.sql import set_clock
from tapestry.sql.read.parse import parse
from tapestry.sql.read.read_tokens import read_tokens

GIVEN = "__dbt__cte__"
"""The prefix of the names that dbt gives to CTEs of given rows."""


@dataclass(frozen=True)
class UnitTest:
    """A model's query as its author wrote it, and the given rows that it is evaluated over.

    ``given`` are the queries of the rows by their names, which stand in ``query``.
    """

    query: Sql
    given: Mapping[str, Sql]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models and sources whose rows are given."""
        return tuple(map(_bare, self.given))

    def rows_of(self, name: str) -> Sql:
        """Return the query of the rows that are given for a model or source."""
        return next(self.given[cte] for cte in self.given if _bare(cte) == name)

    @classmethod
    def read(cls, sql: str) -> UnitTest:
        """Take the CTEs of given rows off; the text of the query stays as it is.

        Raises Refusal for a text past all bounds.

        >>> test = UnitTest.read("with __dbt__cte__m as (select 1 as a), c as (select 2) select 3")
        >>> test.query, test.given
        ('with  c as (select 2) select 3', {'__dbt__cte__m': 'select 1 as a'})
        """
        try:
            tokens = read_tokens(sql)
        except SqlglotError:
            return cls(authored(sql), {})
        given: dict[str, Sql] = {}
        at, begin = 0, tokens[0].end + 1 if tokens else 0
        while tokens and tokens[0].token_type == TokenType.WITH and at + 1 < len(tokens):
            if not _name(tokens[at + 1]).startswith(GIVEN):
                break
            closing = _closing(tokens, at + 3)
            if closing is None:
                break
            body = sql[tokens[at + 3].end + 1 : tokens[closing].start]
            given[_name(tokens[at + 1])] = authored(body)
            begin, at = tokens[closing].end + 1, closing + 1
            if at >= len(tokens) or tokens[at].token_type != TokenType.COMMA:
                return cls(authored(sql[begin:]), given)
            begin = tokens[at].end + 1
        return cls(authored(f"with {sql[begin:]}" if given else sql), given)

    def over(self, relations: Mapping[str, str]) -> Sql:
        """Return the query with the given rows replaced by tables, by model's or source's name."""
        text, end = "", 0
        for token in self._uses():
            name = _name(token)
            text += self.query[end : token.start] + relations[name.removeprefix(GIVEN)]
            end = token.end + 1
        return authored(text + self.query[end:])

    def at(self, s: datetime) -> Sql:
        """Return the query with the clock at s, in the given rows too where they can be parsed.

        Raises Refusal for a query of the model that cannot be parsed.
        """
        clocked = set_clock(parse(self.query), s).sql("spark")
        rows = ", ".join(f"{name} as ({_clocked(body, s)}\n)" for name, body in self.given.items())
        if not rows:
            return authored(clocked)
        # sqlglot writes WITH first, where there is one
        rest = f", {clocked[5:]}" if clocked.upper().startswith("WITH ") else f" {clocked}"
        return authored(f"with {rows}{rest}")

    def _uses(self) -> Iterator[Token]:
        for token in read_tokens(self.query):
            if _name(token) in self.given:
                yield token


def _bare(cte: str) -> str:
    return cte.removeprefix(GIVEN).lower()


def _name(token: Token) -> str:
    return token.text.lower()


def _clocked(body: str, s: datetime) -> str:
    try:
        return set_clock(parse(body), s).sql("spark")
    except TapestryError:
        return body


def _closing(tokens: list[Token], opening: int) -> int | None:
    """Return the place where the parenthesis at ``opening`` ends; None where there is none."""
    depth = 0
    for number in range(opening, len(tokens)):
        kind = tokens[number].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth == 0:
            return number if number > opening else None
    return None
