"""Tells the table that a statement of an action writes, by its first words.

    [WITH …] INSERT INTO | MERGE INTO | UPDATE | DELETE FROM   name

Other statements do not land once under a transaction of Delta: they are refused. The words are read
and not the whole statement, so that one with syntax of Spark's own is understood, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import Token, TokenType
from sqlglot.errors import SqlglotError

from tapestry.errors import ConfigurationError

_VERBS = (TokenType.INSERT, TokenType.MERGE, TokenType.UPDATE, TokenType.DELETE)
_BEFORE_NAME = ("with", "schema", "evolution", "into", "overwrite", "table", "from")
_NO_TABLE = ("identifier", "directory", "local")
"""Behind these words stands no name of a table that a text tells."""


def refuse_other_statements(texts: Sequence[str], told: bool, where: str = "") -> None:
    """Refuse statements that do not land once, or whose target cannot be told.

    ``told``: the author declares which tables they write. Raises ConfigurationError.
    """
    for text in texts:
        tokens = _from_verb(text)
        if not tokens:
            first = (text.split() or [""])[0].upper()
            raise ConfigurationError(
                f"a statement of the action begins with {first[:40]}: an action writes rows",
                where=where,
                hint="INSERT, MERGE, UPDATE and DELETE are executed exactly once; make tables by"
                " models, and set what has to be set in the profile",
            )
        if not told and target_of(text) is None:
            raise ConfigurationError(
                f"it is not clear which table this statement writes: {text[:60]}",
                where=where,
                hint="name it: writes='…'",
            )


def target_of(text: str) -> str | None:
    """Return the name of the table that a statement writes, in lower case; None: it is unclear.

    >>> target_of("merge with schema evolution into `Db`.t as x using matches on true")
    'db.t'
    """
    tokens = _from_verb(text)[1:]
    place = 0
    while place < len(tokens) and tokens[place].text.lower() in _BEFORE_NAME:
        if tokens[place].token_type == TokenType.IDENTIFIER:
            break
        place += 1
    parts: list[str] = []
    for token in tokens[place:]:
        if len(parts) % 2 == (token.token_type == TokenType.DOT):
            parts.append(token.text)
        else:
            break
    named = "".join(parts).lower()
    if not named or (tokens[place].token_type != TokenType.IDENTIFIER and named in _NO_TABLE):
        return None
    return named


def _from_verb(text: str) -> list[Token]:
    """Return a statement's words from INSERT, MERGE, UPDATE or DELETE on; none: it has none."""
    try:
        tokens = sqlglot.tokenize(text, read="spark")
    except SqlglotError:
        return []
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0 and token.token_type in _VERBS and not _is_name(tokens, place):
            return tokens[place:]
        if place == 0 and token.token_type != TokenType.WITH:
            return []
    return []


def _is_name(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a word is the name of a CTE."""
    after = tokens[place + 1 :]
    return bool(after) and after[0].token_type == TokenType.ALIAS
