"""Formats and units of dates stay as their author wrote them.

The parser puts them into signs of its own and back again: ``y`` becomes ``yyyy``, which writes the
year 987 otherwise, and ``Q``, which TRUNC does not know, ``QUARTER``, which it does. A function
with such a format is kept under a name of ours, so that nothing is read into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlglot import Token, TokenType, exp
from sqlglot.time import format_time

from tapestry.sql.read.read_tokens import SPARK

AS_WRITTEN = "_tap_as_written_"
_TYPES = {
    **dict.fromkeys(("date_format", "from_unixtime"), "text"),
    **dict.fromkeys(("to_date", "try_to_date", "trunc"), "date"),
    **dict.fromkeys(("to_timestamp", "try_to_timestamp", "to_timestamp_ltz"), "timestamptz"),
    **dict.fromkeys(("unix_timestamp", "to_unix_timestamp"), "bigint"),
    "date_trunc": "timestamptz",
    "to_timestamp_ntz": "timestampntz",
}
"""The functions, and what they give."""
_DATES = ("to_date", "try_to_date")
_UNITS = frozenset(
    {"year", "yyyy", "yy", "quarter", "month", "mm", "mon", "week", "day", "dd", "hour", "minute"}
    | {"second", "millisecond", "microsecond"}
)
_CUT = ("trunc", "date_trunc")
_BEHIND = (TokenType.R_PAREN, TokenType.COMMA)


def keep_formats(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with other names for the functions whose format the parser would change.

    >>> text = "date_format(d, 'y-MM') || date_format(d, 'yyyy')"
    >>> [token.text for token in keep_formats(SPARK.tokenize(text)) if len(token.text) > 5]
    ['_tap_as_written_date_format', 'date_format']
    """
    kept = list(tokens)
    for place in range(len(tokens) - 1):
        token = tokens[place]
        name = token.text.lower()
        called = name in _TYPES and tokens[place + 1].token_type == TokenType.L_PAREN
        dotted = place > 0 and tokens[place - 1].token_type == TokenType.DOT
        if (
            called
            and not dotted
            and any(_changes(name, one) for one in _texts(tokens, place + 2, name))
        ):
            text, where = AS_WRITTEN + name, (token.line, token.col, token.start, token.end)
            kept[place] = Token(TokenType.VAR, text, *where)
    return kept


def name_kept(tree: exp.Expr) -> None:
    """Give such functions their names and types again, in place."""
    for call in list(tree.find_all(exp.Anonymous)):
        name = call.name.lower()
        if name.startswith(AS_WRITTEN):
            name = name.removeprefix(AS_WRITTEN)
            call.set("this", name.upper())
            around = call.parent
            if not (isinstance(around, exp.Cast) and around.is_type(_TYPES[name])):
                call.replace(exp.cast(call.copy(), _TYPES[name]))


def _texts(tokens: Sequence[Token], place: int, function: str) -> list[str]:
    """Return the formats among the arguments, which begin at a place: strings after the first.

    DATE_TRUNC has its unit first.
    """
    before = TokenType.L_PAREN if function == "date_trunc" else TokenType.COMMA
    texts, depth = [], 0
    for number, token in enumerate(tokens[place:-1], start=place):
        if token.token_type == TokenType.L_PAREN:
            depth += 1
        elif token.token_type == TokenType.R_PAREN:
            depth -= 1
            if depth < 0:
                break
        elif not depth and token.token_type in (TokenType.STRING, TokenType.RAW_STRING):
            around = tokens[number - 1].token_type, tokens[number + 1].token_type
            if around[0] == before and around[1] in _BEHIND:  # no DATE '2026-01-01'
                texts.append(token.text)
    return texts


@lru_cache(maxsize=10_000)
def _changes(function: str, text: str) -> bool:
    """Return whether the parser would change a format."""
    if function in _CUT:
        return text.lower() not in _UNITS
    if function in _DATES and text == "yyyy-MM-dd":
        return True  # it would be left out, and TO_DATE alone reads more
    read = format_time(text, SPARK.TIME_MAPPING, SPARK.TIME_TRIE)
    again = format_time(read or "", SPARK.INVERSE_TIME_MAPPING, SPARK.INVERSE_TIME_TRIE)
    return text != again
