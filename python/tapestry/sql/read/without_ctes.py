"""A statement with the text of each CTE in the places where its name stands.

Spark knows what it keeps in memory by its plan, where CTEs are numbered in the order in which a
statement has them: kept under one number, a relation is not found by a statement where it has
another.  Without CTEs there is nothing to number.  (Spark does the same itself, but only under a
setting that also changes what names of CTEs inside of others mean.)

Sound because a CTE is by definition its text: nothing that differs from one use to the next gets
this far.  The text stays as it is otherwise, to the letter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from tapestry.sql.read.inline_inner_ctes import cte_of

MOST = 2**19
"""Characters; each use of a CTE is written out, and one can use another twice."""


class _TooMuchError(Exception):
    """A statement that cannot be written out, or not in so many characters."""


@dataclass(frozen=True)
class _With:
    """A WITH: its place in the text, and the place of the body of each CTE, by name."""

    start: int
    end: int
    bodies: Mapping[int, tuple[int, int]]


@dataclass(frozen=True)
class _Use:
    """A use of a CTE's name in FROM, and the place of the body that it means."""

    start: int
    end: int
    body: tuple[int, int]
    alias: str


def without_ctes(text: str) -> str:
    """The statement without WITH; as it is where that cannot be done, which costs time only.

    >>> without_ctes("WITH a AS (SELECT 1 AS x) SELECT a.x FROM a JOIN a AS b ON a.x = b.x")
    'SELECT a.x FROM (SELECT 1 AS x) AS a JOIN (SELECT 1 AS x) AS b ON a.x = b.x'
    """
    try:
        tokens = sqlglot.tokenize(text, read="spark")
        if all(token.token_type != TokenType.WITH for token in tokens):
            return text
        withs = list(_withs(tokens))
        tree = sqlglot.parse_one(text, read="spark")
        bodies = {name: span for one in withs for name, span in one.bodies.items()}
        uses = list(_uses(tree, text, bodies))
        return _Writer(text, withs, uses).written(0, len(text)).strip()
    except (SqlglotError, _TooMuchError, RecursionError):
        return text


def _withs(tokens: Sequence[Token]) -> Iterator[_With]:
    """Every WITH of a statement."""
    for place, token in enumerate(tokens):
        if token.token_type == TokenType.WITH:
            yield _with(tokens, place)


def _with(tokens: Sequence[Token], place: int) -> _With:
    bodies: dict[int, tuple[int, int]] = {}
    at = place + 1
    while True:
        kinds = [token.token_type for token in tokens[at + 1 : at + 3]]
        if kinds != [TokenType.ALIAS, TokenType.L_PAREN]:
            raise _TooMuchError  # recursive, or with names for its columns
        closed = _closing(tokens, at + 2)
        bodies[tokens[at].start] = tokens[at + 2].end + 1, tokens[closed].start
        if closed + 1 >= len(tokens):
            raise _TooMuchError
        if tokens[closed + 1].token_type != TokenType.COMMA:
            return _With(tokens[place].start, tokens[closed + 1].start, bodies)
        at = closed + 2


def _closing(tokens: Sequence[Token], opened: int) -> int:
    """The place of the parenthesis that closes the one at ``opened``."""
    depth = 0
    for place in range(opened, len(tokens)):
        depth += tokens[place].token_type == TokenType.L_PAREN
        depth -= tokens[place].token_type == TokenType.R_PAREN
        if not depth:
            return place
    raise _TooMuchError


def _uses(tree: exp.Expr, text: str, bodies: Mapping[int, tuple[int, int]]) -> Iterator[_Use]:
    for table in tree.find_all(exp.Table):
        cte = cte_of(table) if table.find_ancestor(exp.Hint) is None else None
        if cte is None:
            continue
        name, defined = table.this.meta, cte.args["alias"].this.meta
        if "start" not in name or defined.get("start") not in bodies:
            raise _TooMuchError
        start, end = name["start"], name["end"] + 1
        alias = "" if table.alias else f" AS {text[start:end]}"
        yield _Use(start, end, bodies[defined["start"]], alias)


class _Writer:
    """Writes parts of a text, the uses in them replaced."""

    def __init__(self, text: str, withs: Sequence[_With], uses: Sequence[_Use]) -> None:
        self.text = text
        self.left = MOST
        leaves = [(one.start, one.end, None) for one in withs]
        self.changes: list[tuple[int, int, _Use | None]] = sorted(
            [*leaves, *((use.start, use.end, use) for use in uses)], key=lambda one: one[:2]
        )
        self.inside = cache(self._inside)

    def written(self, start: int, end: int) -> str:
        """The part of the text between two places."""
        parts, done = [], start
        for low, high, use in self.inside(start, end):
            parts.append(self._kept(done, low))
            if use is not None:
                parts += ["(", self.written(*use.body), ")", use.alias]
            done = high
        return "".join([*parts, self._kept(done, end)])

    def _inside(self, start: int, end: int) -> tuple[tuple[int, int, _Use | None], ...]:
        """Return the changes between two places, without those inside of another change."""
        found, done = [], start
        for low, high, use in self.changes:
            if low >= done and high <= end:
                found.append((low, high, use))
                done = high
        return tuple(found)

    def _kept(self, start: int, end: int) -> str:
        self.left -= end - start + 1
        if self.left < 0:
            raise _TooMuchError
        return self.text[start:end]
