"""Splits a text into tokens, and refuses too many of them or too deep a nesting.

The parser calls itself for each level of nesting, as machine code without a bound: 20,000 levels
of one type in another end the process. And where it cannot tell a type from a function, or which
JOIN an ON belongs to, it tries both readings: each level doubles the time. So levels are counted,
and tried readings reckoned, from the tokens, before it sees any.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.parser import Parser

from tapestry.errors import Refusal
from tapestry.sql.work import bounded_by_text, spend, spend_tree, too_deep

SPARK = Dialect.get_or_raise("spark")
CHARACTERS = 500_000
"""Characters of one text."""
LEVELS = 100
"""Parentheses, brackets, CASEs and signs inside of each other."""
TYPE_LEVELS = 16
"""Types inside of each other."""
DIGITS = 1_000
"""Characters of one number; Spark takes 38 digits, or a DOUBLE."""
INTERVAL = 200
"""Characters of the text behind INTERVAL: the parser's patterns for it take their square."""
_ENDLESS = 2**40
_READING = 2
"""Units for a token that is read once."""
_OPEN = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSE = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_SIGNS = frozenset(
    {
        *(TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE),
        *(TokenType.ANY, TokenType.SOME),
    }
)
_LAMBDAS = frozenset({TokenType.ARROW, TokenType.FARROW, TokenType.VAR})
_TYPES = frozenset(Parser.TYPE_TOKENS)
_MATCHED = frozenset({TokenType.ON, TokenType.USING})
_BEHIND_FROM = frozenset(
    {
        TokenType.WHERE,
        TokenType.GROUP_BY,
        TokenType.HAVING,
        TokenType.ORDER_BY,
        TokenType.UNION,
        TokenType.EXCEPT,
        TokenType.INTERSECT,
        TokenType.SEMICOLON,
    }
)
"""Tokens that end a FROM: the tokens behind it are read once, whatever stands before."""
_COMPLETE = frozenset({TokenType.CROSS, TokenType.NATURAL})


def read_tokens(sql: str) -> list[Token]:
    """The tokens of a text; raises Refusal for one that is too long, or nested too deeply.

    A text that cannot be read raises SqlglotError.
    """
    if len(sql) > CHARACTERS:
        raise Refusal(
            f"the text has {len(sql):,} characters, more than {CHARACTERS:,}",
            sql[:200],
            "put long lists of values into a seed and join it, or split the model",
            code="text-too-long",
        )
    return _counted(sql, 0)


def _counted(text: str, around: int) -> list[Token]:
    """The tokens of a text, or of a hint that stands so many levels deep in one.

    A hint is one token, whose text the parser reads as it comes upon it.
    """
    spend(len(text) // 50, "characters")
    tokens = SPARK.tokenize(text)
    levels = _Levels()
    for before, token in zip([None, *tokens], tokens, strict=False):
        levels.add(token.token_type)
        depth = around + len(levels.open) + levels.signs + levels.lambdas
        if depth > LEVELS or levels.types > TYPE_LEVELS:
            raise too_deep(text[max(0, token.start - 100) : token.start + 100])
        if token.token_type == TokenType.NUMBER and len(token.text) > DIGITS:
            raise Refusal(
                f"a number has {len(token.text):,} characters, more than {DIGITS:,}",
                token.text[:50] + "…",
                "Spark takes 38 digits; write a longer one as a text, or with an exponent",
                code="text-too-long",
            )
        if before is not None and before.token_type == TokenType.INTERVAL:
            _refuse_long_interval(token)
        if token.token_type == TokenType.HINT:
            for hint in token.comments:
                _counted(hint, depth + 1)
        spend(_READING, "words and signs")
        spend(min(levels.readings, _ENDLESS) - 1, "readings of types as functions")
        spend(2 ** min(levels.joins, 40) // 8, "readings of JOINs without ON")
    return tokens


def _refuse_long_interval(token: Token) -> None:
    if token.token_type == TokenType.STRING and len(token.text) > INTERVAL:
        raise Refusal(
            f"an interval is written in {len(token.text):,} characters, more than {INTERVAL}",
            f"interval '{token.text[:50]}…'",
            "write it as a number of days, hours or seconds",
            code="text-too-long",
        )


@bounded_by_text
def read_one(sql: str) -> exp.Expr:
    """The tree of one statement or condition, with the same bounds.

    Raises Refusal for a text past them, SqlglotError for one that cannot be read.
    """
    trees = SPARK.parser().parse(read_tokens(sql), sql)
    if len(trees) != 1 or trees[0] is None:
        raise ParseError("it is not one statement")
    spend_tree(trees[0], "the text")
    return trees[0]


@dataclass(frozen=True)
class _Open:
    """An open bracket or CASE: its token, its possible readings, and the JOINs before it."""

    kind: TokenType
    readings: int
    joins: int


class _Levels:
    """The nesting around the current token of a text."""

    def __init__(self) -> None:
        self.open: list[_Open] = []
        self.readings = 1
        self.joins = self.signs = self.lambdas = self.types = 0
        self.last: TokenType | None = None
        self.type_ended = False

    def add(self, kind: TokenType) -> None:
        """Advance by one token."""
        is_type = self.last in _TYPES or self.type_ended
        self.type_ended = kind == TokenType.GT and self.types > 0
        self.signs = self.signs + 1 if kind in _SIGNS else 0
        self.lambdas = self.lambdas + (kind == TokenType.ARROW) if kind in _LAMBDAS else 0
        if kind in _OPEN:
            self.begin(kind, 2 if is_type and kind == TokenType.L_PAREN else 1)
        elif kind == TokenType.END:
            if self.open and self.open[-1].kind == TokenType.CASE:
                self.end()
        elif kind in _CLOSE:
            while self.open and self.open[-1].kind == TokenType.CASE:
                self.end()
            if self.open:
                self.end()
        elif kind == TokenType.LT and self.last in _TYPES:
            self.types += 1
        elif kind == TokenType.GT:
            self.types = max(0, self.types - 1)
        elif kind == TokenType.JOIN and self.last not in _COMPLETE:
            self.joins += 1
        elif kind in _MATCHED:
            self.joins = max(self.around, self.joins - 1)
        elif kind in _BEHIND_FROM:
            self.joins = self.around
        self.last = kind

    @property
    def around(self) -> int:
        """Return the number of open JOINs around the parentheses of the current token."""
        return self.open[-1].joins if self.open else 0

    def begin(self, kind: TokenType, readings: int) -> None:
        """Open a level."""
        self.open.append(_Open(kind, readings, self.joins))
        self.readings *= readings

    def end(self) -> None:
        """Close the innermost level."""
        closed = self.open.pop()
        self.readings //= closed.readings
        self.joins = closed.joins
