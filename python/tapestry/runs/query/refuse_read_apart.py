"""Checks that Spark understands a query as it was parsed here, once for each new text.

The rewriting and the checks of a run read SQL with one parser, sqlglot's; where it misreads SQL,
both would be wrong, and no check of types would show it. So the parsed text is rendered again and
put beside the author's own in one statement, in which the clock is one. Where Spark plans both
alike they are one query. Else both are executed, over tables up to 256 MiB: no row may be in the
one and not in the other.
"""

from __future__ import annotations

import logging
import re

from sqlglot import TokenType

from tapestry.errors import Refusal
from tapestry.runs.engine.session import Session
from tapestry.runs.model.model import Model
from tapestry.runs.query.read_text import ReadText
from tapestry.sql.read.read_tokens import SPARK

logger = logging.getLogger(__name__)

MOST_BYTES = 256 * 2**20
ATTEMPTS = 3
"""A commit between the readings of one statement may part them; three are no accident."""
_ALIAS = re.compile(r" AS (?:\w+|`[^`]*`)#\d+L?")
_NAME = re.compile(r"(?:\w+|`[^`]*`)#(\d+)L?")
_UNIT = re.compile(r"\b(timestampdiff|timestampadd|date_trunc|trunc)\((\w+),")
_MORE = re.compile(r"\.\.\. \d+ more fields")


def refuse_read_apart(session: Session, model: Model, query: ReadText) -> None:
    """Raise Refusal where the author's text gives Spark other rows than the parsed one.

    Where Spark cannot tell (a column of type MAP, larger tables that are planned otherwise) nothing
    is known, and nothing is reported.
    """
    theirs, ours = _bare(query.sql), query.rewriting.canonical.rpartition("\n--")[0]
    try:
        if planned_alike(session, theirs, ours):
            return
        if sum(query.sizes) > MOST_BYTES:
            logger.debug("%s is planned otherwise than it was read; not compared", model.name)
            return
        apart = _apart(session, theirs, ours)
        for _ in range(ATTEMPTS - 1):
            apart = apart and _apart(session, theirs, ours)
    except Exception as error:
        logger.debug("%s could not be compared with what was read of it: %s", model.name, error)
        return
    if apart:
        raise Refusal(
            f"Spark gives {apart} rows to the query as it was written that it does not give to the"
            " query as it was read here, or the other way round",
            where=model.file,
            hint="see `tapestry explain` for how it was read, write it in simpler SQL, and please"
            " report it",
            code="read-otherwise",
        )


def planned_as_read(session: Session, query: ReadText) -> bool | None:
    """Return whether Spark plans the query as it was parsed here; None where it cannot."""
    theirs, ours = _bare(query.sql), query.rewriting.canonical.rpartition("\n--")[0]
    try:
        return planned_alike(session, theirs, ours)
    except Exception as error:
        logger.debug("what was read could not be planned: %s", error)
        return None


def planned_alike(session: Session, theirs: str, ours: str) -> bool:
    """Return whether Spark makes one plan of both texts, but for names; reads no data."""
    union = f"SELECT * FROM (\n{theirs}\n) UNION ALL SELECT * FROM (\n{ours}\n)"
    ((text,),) = session.rows(f"EXPLAIN EXTENDED {union}")
    plan = text.partition("== Optimized Logical Plan ==\n")[2].partition("\n== Physical Plan")[0]
    first, *lines = plan.strip().splitlines()
    if not first.startswith("Union"):
        return False
    sides: list[list[str]] = []
    for line in lines:
        if line[:3] in (":- ", "+- "):
            sides.append([])
        sides[-1].append(line[3:])
    if any(_MORE.search(line) and "Relation " not in line for line in lines):
        return False  # of a long list Spark shows the beginning
    known = [_normal("\n".join(side)) for side in sides]
    half = len(known) // 2  # a union on each side is one with this one
    return len(known) % 2 == 0 and known[:half] == known[half:]


def _normal(plan: str) -> str:
    """Return a plan with its columns numbered in the order in which they appear.

    >>> _normal("Project [a#7 AS b#9]\\n+- Relation t[a#7,c#8L]")
    'Project [#0]\\n+- Relation t[#0,#1]'
    """
    numbers: dict[str, int] = {}

    def numbered(found: re.Match[str]) -> str:
        return f"#{numbers.setdefault(found.group(1), len(numbers))}"

    def spelt(found: re.Match[str]) -> str:
        return f"{found.group(1)}({found.group(2).upper()},"

    plan = _UNIT.sub(spelt, _ALIAS.sub("", plan).replace("Join Cross", "Join Inner"))
    return _NAME.sub(numbered, plan)


def _apart(session: Session, theirs: str, ours: str) -> int:
    """Return how many rows one of the texts gives and the other does not."""
    sides = [f"SELECT * FROM (\n{text}\n)" for text in (theirs, ours)]
    both = [f"({one} EXCEPT ALL {other})" for one, other in (sides, sides[::-1])]
    ((rows,),) = session.rows(f"SELECT count(*) FROM ({' UNION ALL '.join(both)})")
    return int(rows)


def _bare(sql: str) -> str:
    """Return the text without semicolons and comments at its end."""
    tokens = SPARK.tokenize(sql)
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        sql = sql[: tokens.pop().start]
    return sql
