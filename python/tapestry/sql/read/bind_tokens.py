"""Put parentheses around literals of several tokens, which the parser binds otherwise than Spark.

To Spark ``DATE '2026-01-01'``, ``INTERVAL 2 DAYS -3 HOURS``, ``-1`` and ``7L`` are one literal
each, and bind tighter than all operators. The parser reads ``DATE '2026-01-01'::TIMESTAMP`` as the
date of a cast text, ``-1::STRING`` as minus a text, an interval of two units as a sum that ``* 2``
tears apart, and ``+ 2`` behind an interval as one more unit of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import Token, TokenType
from sqlglot.parser import Parser

from tapestry.sql.write.explicit import SUFFIXES

_TYPES = frozenset({"date", "timestamp", "timestamp_ntz", "timestamp_ltz"})
SHIFTS = ("shiftleft", "shiftright")
CALLED = "_called_"
"""Begins the name of a shift that is written as a call: the parser would make an operator of it,
and what stands beside the call, or in it, would bind to that."""
_UNITS = frozenset(
    unit + s
    for unit in ("year", "month", "week", "day", "hour", "minute", "second", "millisecond")
    for s in ("", "s")
) | {"microsecond", "microseconds", "nanosecond", "nanoseconds", "quarter", "quarters"}
_VALUES = frozenset({TokenType.STRING, TokenType.NUMBER, TokenType.RAW_STRING})
_SIGNS = frozenset({TokenType.DASH, TokenType.PLUS})
_TIGHTER = frozenset({TokenType.DCOLON, TokenType.DOT, TokenType.L_BRACKET})
_ENDS = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END, *_VALUES}) | frozenset(
    {TokenType.NULL, TokenType.TRUE, TokenType.FALSE, TokenType.STAR, TokenType.HEX_STRING}
)
"""The tokens, besides names, that can end a value: a sign behind one is an operator."""
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER, *Parser.ID_VAR_TOKENS}) - {
    *(TokenType.CASE, TokenType.IS, TokenType.IN, TokenType.ESCAPE, TokenType.DIV, TokenType.ALL),
    *(TokenType.INTERVAL, TokenType.ROWS),
}


def bind_tokens(tokens: Sequence[Token], sql: str) -> list[Token]:
    """The tokens of a text with those of its literals bound as Spark binds them.

    >>> from tapestry.sql.read.read_tokens import SPARK
    >>> def read(text: str) -> str:
    ...     bound = bind_tokens(SPARK.tokenize(text), text)
    ...     return SPARK.parser().parse(bound, text)[0].sql("spark")
    >>> read("interval 2 days -3 hours * 2")
    "(INTERVAL '2' DAYS + INTERVAL '-3' HOURS) * 2"
    >>> read("date '2026-01-01'::timestamp - interval '1' day + 2")
    "CAST((CAST('2026-01-01' AS DATE)) AS TIMESTAMP) - (INTERVAL '1' DAY) + 2"
    >>> read("-1::string || 7L")
    'CAST((-1) AS STRING) || 7L'
    """
    bound: list[Token] = []
    place = 0
    while place < len(tokens):
        literal, place = _literal(tokens, place, sql, bound[-1] if bound else None)
        bound += literal
    return bound


def _literal(
    tokens: Sequence[Token], place: int, sql: str, before: Token | None
) -> tuple[list[Token], int]:
    """The literal that begins at a place, or the token there, and the place behind it."""
    first, kind = tokens[place], tokens[place].token_type
    if kind == TokenType.INTERVAL:
        return _interval(tokens, place)
    number = _number(tokens, place, sql)
    if number:
        return _with_suffix(number), place + len(number)
    if first.text.lower() in SHIFTS and kind in (TokenType.VAR, TokenType.IDENTIFIER):
        following = tokens[place + 1].token_type if place + 1 < len(tokens) else None
        if following == TokenType.L_PAREN:
            return [_as(first, TokenType.VAR, CALLED + first.text.lower())], place + 1
    behind = tokens[place + 2] if place + 2 < len(tokens) else None
    tighter = behind is not None and behind.token_type in _TIGHTER
    if tighter and first.text.lower() in _TYPES and tokens[place + 1].token_type in _VALUES:
        return _around([first, tokens[place + 1]]), place + 2
    if kind == TokenType.DASH and not _ends_value(before):
        number = _number(tokens, place + 1, sql)
        after = place + 1 + len(number)
        if number and after < len(tokens) and tokens[after].token_type in _TIGHTER:
            return _around([first, *_with_suffix(number)]), after
    return [first], place + 1


def _number(tokens: Sequence[Token], place: int, sql: str) -> list[Token]:
    """The tokens of the number at a place: one, or three where it has a suffix."""
    found = list(tokens[place : place + 3])
    if not found or found[0].token_type != TokenType.NUMBER:
        return []
    cast = len(found) == 3 and found[1].token_type == TokenType.DCOLON
    # The tokenizer makes of 7L what 7::BIGINT has; but there is no :: in the text.
    return found if cast and sql[found[1].start : found[1].start + 2] != "::" else found[:1]


def _with_suffix(number: list[Token]) -> list[Token]:
    """``7L`` as one token."""
    if len(number) == 3 and number[2].text.upper() in SUFFIXES:
        return [_as(number[0], TokenType.NUMBER, number[0].text + number[2].text.upper())]
    return number


def _interval(tokens: Sequence[Token], place: int) -> tuple[list[Token], int]:
    """An interval; in parentheses if it has several units, or if a number is added to it."""
    parts = list(_parts(tokens, place + 1))
    if not parts:
        return [tokens[place]], place + 1
    after = parts[-1][1]
    literal = [tokens[place]]
    for part, _ in parts:
        if part[0].token_type in _SIGNS and len(literal) > 1:
            sign, value, unit = part
            text = value.text if sign.token_type == TokenType.PLUS else _negative(value.text)
            literal += [_as(value, TokenType.STRING, text), unit]
        else:
            literal += part
    next_ = [token.token_type for token in tokens[after : after + 2]]
    added = len(next_) == 2 and next_[0] == TokenType.PLUS and next_[1] in _VALUES
    return (_around(literal) if len(parts) > 1 or added else literal), after


def _parts(tokens: Sequence[Token], place: int) -> Iterator[tuple[list[Token], int]]:
    """Sign, value and unit of each part of an interval, and the place behind it."""
    while True:
        size = 3 if place < len(tokens) and tokens[place].token_type in _SIGNS else 2
        part = list(tokens[place : place + size])
        if len(part) < size or part[-2].token_type not in _VALUES:
            return
        if part[-1].text.lower() not in _UNITS or part[-1].token_type in _VALUES:
            return
        place += size
        if place < len(tokens) and tokens[place].text.lower() == "to":
            return  # INTERVAL '1 2' DAY TO HOUR has one value
        yield part, place


def _negative(text: str) -> str:
    return text.removeprefix("-") if text.startswith("-") else "-" + text.removeprefix("+")


def _ends_value(token: Token | None) -> bool:
    """Return whether a value ends with the token, so that a sign behind it is an operator."""
    if token is None:
        return False
    kind = token.token_type
    return kind in _ENDS or kind in _NAMES


def _around(tokens: list[Token]) -> list[Token]:
    first, last = tokens[0], tokens[-1]
    return [_as(first, TokenType.L_PAREN, "("), *tokens, _as(last, TokenType.R_PAREN, ")")]


def _as(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)
